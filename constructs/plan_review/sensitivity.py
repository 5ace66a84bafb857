"""Terraform's marks of what is sensitive: the texts that no report may show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from plan_review import values
from plan_review.model import Change

#: Characters of a sensitive text below which it is not looked for in what is printed.
_SHORTEST = 4


def hidden(change: Change) -> Iterator[str]:
    """Texts that Terraform marks as sensitive; shorter ones say nothing, and would hide half of a report."""
    for value, marks in ((change.before, change.secret_before), (change.after, change.secret_after)):
        if marks:
            yield from (text for text in _marked(value, marks) if len(text) >= _SHORTEST)


def _marked(value: Any, marks: Any) -> Iterator[str]:
    if marks is True:
        yield from (leaf for _, leaf in values.leaves(value) if isinstance(leaf, str))
    elif isinstance(marks, dict) and isinstance(value, dict):
        for key, mark in marks.items():
            yield from _marked(value.get(key), mark)
    elif isinstance(marks, list) and isinstance(value, list):
        for each, mark in zip(value, marks, strict=False):
            yield from _marked(each, mark)


def without_hidden_values(change: Change) -> Change:
    """A release without its values when they are marked: names of jobs in them would be shown otherwise."""
    if change.type != "helm_release":
        return change
    marked = [isinstance(m, dict) and any_mark(m.get("values")) for m in (change.secret_before, change.secret_after)]
    if not any(marked):
        return change
    changed = change.before.get("values") != change.after.get("values")
    old = {**change.before, "values": ["(sensitive)"]} if change.before else {}
    new = {**change.after, "values": ["(sensitive, changed)" if changed else "(sensitive)"]} if change.after else {}
    return replace(change, before=old, after=new)


def any_mark(marks: Any) -> bool:
    """Whether anything in Terraform's marks is true."""
    if isinstance(marks, dict):
        return any(any_mark(each) for each in marks.values())
    return any(any_mark(each) for each in marks) if isinstance(marks, list) else marks is True
