"""The one walk over two nested values. How lists are compared is what its callers differ in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from plan_review.values import Path

#: What stands in place of a value that only the apply tells; compared by identity.
UNKNOWN = "(known after apply)"

#: The step to an element that came or went.
UNPLACED = -1

#: (step, old, new) of each pair of elements of two lists; None when the lists are compared as a whole.
Pairs = Iterable[tuple[str | int, Any, Any]]
Pairing = Callable[[list[Any], list[Any]], Pairs | None]


def walk(
    old: Any,
    new: Any,
    pairs: Pairing,
    *,
    unknown: Any = None,
    keys: Callable[[dict[Any, Any], dict[Any, Any]], Iterable[Any]] | None = None,
    align: Callable[[Any, Any], tuple[Any, Any]] | None = None,
    path: Path = (),
) -> Iterator[tuple[Path, Any, Any]]:
    """(path, old, new) of whatever differs, down to values and to what `pairs` does not take apart.

    `unknown` are Terraform's marks of the new value, whose places come as UNKNOWN; `keys` orders the keys of two
    objects (sorted, when not given); `align` may bring both values into one notation first.
    """
    if unknown is True:
        yield path, old, UNKNOWN
        return
    if align:
        old, new = align(old, new)
    steps: Pairs | None = None
    if isinstance(old, dict) and isinstance(new, dict):
        marks = unknown if isinstance(unknown, dict) else {}
        hidden = [key for key, mark in marks.items() if mark is True and key not in old and key not in new]
        order = [*keys(old, new), *hidden] if keys else sorted({*old, *new, *hidden})
        steps = ((key, old.get(key), new.get(key)) for key in order)
    elif isinstance(old, list) and isinstance(new, list):
        marks = dict(enumerate(unknown)) if isinstance(unknown, list) else {}
        steps = pairs(old, new)
    if steps is not None:
        for step, was, becomes in steps:
            if was != becomes or marks.get(step):
                yield from walk(
                    was, becomes, pairs, unknown=marks.get(step), keys=keys, align=align, path=(*path, step)
                )
    elif old != new:
        yield path, old, new


def by_position(old: list[Any], new: list[Any]) -> Pairs:
    """Lists of one length by position; others by what came and went, since most lists are sets."""
    if len(old) == len(new):
        return [(position, was, becomes) for position, (was, becomes) in enumerate(zip(old, new, strict=True))]
    came, gone = list(new), []
    for each in old:
        if each in came:
            came.remove(each)
        else:
            gone.append(each)
    return [*((UNPLACED, each, None) for each in gone), *((UNPLACED, None, each) for each in came)]
