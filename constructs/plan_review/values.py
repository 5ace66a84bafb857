"""Reaching into resource values, whoever wrote them.

A block is a list of objects in Terraform's plan JSON and may be a plain object in a configuration's; a value may be
known, null, not known yet, or an expression. Everything below takes any of these and never raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

#: A step is an argument's name or a position in a list.
Path = tuple[str | int, ...]

_EXPRESSION = re.compile(r"(?<!\$)\$\{")


def blocks(value: Any, path: str) -> list[dict[str, Any]]:
    """All objects at a dotted path, through every element of every block on the way."""
    found = [value] if isinstance(value, dict) else []
    for step in path.split("."):
        found = [inner for each in found for inner in _objects(each.get(step))]
    return found


def _objects(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value]
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def get(value: Any, path: str, default: Any = None) -> Any:
    """The value at a dotted path, through the first element of each block; `default` when absent or null."""
    *outer, last = path.split(".")
    holders = blocks(value, ".".join(outer)) if outer else _objects(value)
    found = holders[0].get(last) if holders else None
    return default if found is None else found


def text(value: Any, path: str) -> str:
    """The value at a path as text; empty when absent."""
    found = get(value, path)
    return "" if found is None or isinstance(found, dict | list) else str(found)


def texts(value: Any, path: str) -> list[str]:
    """A list of texts at a path; a single text counts as a list of one."""
    found = get(value, path)
    if isinstance(found, str):
        return [found]
    return [str(each) for each in found if each is not None] if isinstance(found, list) else []


def number(value: Any) -> int | None:
    """`value` as a whole number; None when it is none (providers write some numbers as text)."""
    if isinstance(value, bool):
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def flag(value: Any, path: str) -> bool | None:
    """A boolean at a path, also when it is written as text; None when it is not there or not known."""
    found = get(value, path)
    if isinstance(found, bool):
        return found
    return {"true": True, "false": False}.get(found) if isinstance(found, str) else None


def is_expression(value: Any) -> bool:
    """Whether a configuration's text is known only when Terraform runs."""
    return isinstance(value, str) and bool(_EXPRESSION.search(value))


def unknown_at(marks: Any, path: str) -> bool:
    """Whether Terraform's `after_unknown` says that the value at a dotted path, or a block on the way, is unknown."""
    here = marks
    for step in path.split("."):
        if isinstance(here, list):
            here = here[0] if here else None
        if here is True:
            return True
        here = here.get(step) if isinstance(here, dict) else None
    return here is True or (isinstance(here, list) and True in here)


def last_part(value: Any) -> str:
    """``projects/p/global/networks/n`` -> ``n``: what a name, link or identifier names."""
    return str(value or "").rstrip("/").rpartition("/")[2]


def is_link(text: str) -> bool:
    """Whether a text is a path of Google's or a link, of which the last part is the name. Names hold slashes too."""
    return text.startswith(("https://", "http://", "//", "projects/", "organizations/", "folders/"))


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value that is no list and no object, with its path."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, (*path, key))
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from leaves(each, (*path, position))
    else:
        yield path, value


def at(value: Any, path: Path) -> Any:
    """The value at a path with positions; None when there is none."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def dotted(path: Path) -> str:
    """``("node_config", 0, "machine_type")`` -> ``node_config.machine_type``: most positions say nothing."""
    return ".".join(str(step) for step in path if not isinstance(step, int)) or str(path[0] if path else "")
