"""What a rehearsal is told of the outside: facts of provider types, and the order of stacks.

A program that knows more than the schemas plugs it in once: ``use(Knowledge(facts=..., kind_of=..., rank=...))``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def _no_facts() -> dict[str, Any]:
    return {"types": {}, "assumed": "", "always_enabled": "", "custom_kinds": [], "namespaces": "default kube-system"}


def _no_kind(stack: str) -> str | None:
    return None


def _by_name(stack: str) -> tuple[int, str]:
    return 0, stack


@dataclass(frozen=True, slots=True)
class Knowledge:
    """`facts` are data as `staged_terraform.facts` describes; `kind_of` says what a stack is, `rank` sorts them."""

    facts: Callable[[], dict[str, Any]] = _no_facts
    kind_of: Callable[[str], str | None] = _no_kind
    rank: Callable[[str], tuple[int, str]] = _by_name


_used = Knowledge()


def use(knowledge: Knowledge) -> None:
    """Rehearse with this knowledge from now on."""
    global _used
    _used = knowledge


def used() -> Knowledge:
    """What is known."""
    return _used
