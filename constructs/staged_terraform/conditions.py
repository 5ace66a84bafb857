"""Changes that replace a resource only in one direction: the provider's own ``ForceNewIfChange``, by name."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any


def _outgrown(old: Any, new: Any) -> bool:
    """A range that is moved or shrunk; one that holds the old range is widened in place."""
    try:
        before, after = (ipaddress.ip_network(str(each), strict=False) for each in (old, new))
    except ValueError:
        return False  # not written out: Terraform's plan will tell
    if isinstance(before, ipaddress.IPv4Network) and isinstance(after, ipaddress.IPv4Network):
        return not before.subnet_of(after)
    if isinstance(before, ipaddress.IPv6Network) and isinstance(after, ipaddress.IPv6Network):
        return not before.subnet_of(after)
    return True


def _switched_off(old: Any, new: Any) -> bool:
    return old is True and new is not True


def _taken_away(old: Any, new: Any) -> bool:
    """A list that loses an element; one that gains is changed in place."""
    before, after = (each if isinstance(each, list | tuple | set | frozenset) else [] for each in (old, new))
    return any(each not in after for each in before)


_CONDITIONS: dict[str, Callable[[Any, Any], bool]] = {
    "outgrown": _outgrown,
    "switched-off": _switched_off,
    "taken-away": _taken_away,
}


def condition(name: str) -> Callable[[Any, Any], bool]:
    """Whether a change from an old to a new value replaces. Raises ValueError for a name that there is not."""
    if name not in _CONDITIONS:
        raise ValueError(f"no condition {name!r}; there are {', '.join(sorted(_CONDITIONS))}")
    return _CONDITIONS[name]
