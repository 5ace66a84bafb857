"""What a Helm release brings: its values as data, the Kubernetes objects in them, and what changes between two of them.

Releases may hold whole manifests as values, so that a changed object is visible here line by line.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator
from typing import Any

import yaml

from plan_review import values
from plan_review.differences import UNPLACED, Pairs, by_position, walk

#: The fast loader of libyaml where PyYAML has it; both read plain data alone.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

#: The content hash that ends the names of a job and of what belongs to it.
_HASH = re.compile(r"-[0-9a-f]{8}$")


@functools.lru_cache(maxsize=256)
def parse(text: str) -> Any:
    """Values as data; None when they are no YAML."""
    try:
        return yaml.load(text, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def is_object(value: dict[str, Any]) -> bool:
    """Whether a mapping is a Kubernetes object rather than settings of a chart."""
    return isinstance(value.get("kind"), str) and isinstance(value.get("apiVersion"), str)


def objects(release: dict[str, Any]) -> list[dict[str, Any]]:
    """The Kubernetes objects in a release's values: everything with a kind."""
    found: list[dict[str, Any]] = []
    for text in values.texts(release, "values"):
        if "kind:" not in text and '"kind"' not in text:
            continue
        pending = [parse(text)]
        while pending:
            value = pending.pop()
            if isinstance(value, dict):
                if is_object(value):
                    found.append(value)
                else:
                    pending += reversed(value.values())
            elif isinstance(value, list):
                pending += reversed(value)
    return found


def same_content(old: str, new: str) -> bool:
    """Whether two values texts differ in notation alone (quotes, order of keys): then no object changes."""
    return parse(old) is not None and parse(old) == parse(new)


def differences(old: str, new: str) -> Iterator[tuple[str, Any, Any]]:
    """What changes between two values texts: dotted path, old, new; texts of many lines line by line.

    A job carries a hash of its content in its name and in many other places. The new name takes the place of the old
    one before the comparison, so that one changed setting is one difference.
    """
    for was, becomes in _renamed(parse(old), parse(new)):
        yield "values.name", was, becomes
        old = old.replace(was, becomes)
    before, after = parse(old), parse(new)
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _changed(before, after)
    else:
        yield from _lines(old, new, "values")


def _renamed(old: Any, new: Any) -> list[tuple[str, str]]:
    """Names that are the same but for their hash."""
    names_old, names_new = _names(old), _names(new)
    found = []
    for stem, name in names_old.items():
        other = names_new.get(stem)
        if other and other != name:
            found.append((name, other))
    return found


def _names(value: Any) -> dict[str, str]:
    names = {str(each.get("name")) for each in values.blocks(value, "manifests") for each in _metadata(each)}
    return {_HASH.sub("", name): name for name in sorted(names) if _HASH.search(name)}


def _metadata(manifests: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for each in manifests.values():
        if isinstance(each, dict) and isinstance(each.get("metadata"), dict):
            yield each["metadata"]


def _changed(old: dict[str, Any], new: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Dotted path, old, new of what differs, in the order of the text; texts of many lines line by line."""
    for steps, was, becomes in walk(old, new, _by_name, keys=lambda a, b: [*a, *(key for key in b if key not in a)]):
        path = "values" + "".join(_step(each) for each in steps)
        if isinstance(was, str) and isinstance(becomes, str) and "\n" in was + becomes:
            yield from _lines(was, becomes, path)
        else:
            yield path, was, becomes


def _step(step: object) -> str:
    """``[name]`` or ``[3]`` of a list's element, ``.key`` of an object's (YAML has keys that are no text)."""
    if step == UNPLACED:
        return ""
    if isinstance(step, int) and not isinstance(step, bool):
        return f"[{step}]"
    return str(step) if str(step).startswith("[") else f".{step}"


def _by_name(old: list[Any], new: list[Any]) -> Pairs:
    """By name where the elements have names (containers, variables), else by position, else what came and went."""
    before, after = (
        {str(each.get("name")): each for each in side if isinstance(each, dict) and each.get("name")}
        for side in (old, new)
    )
    if old and new and len(before) == len(old) and len(after) == len(new):
        return [(f"[{name}]", before.get(name), after.get(name)) for name in {**before, **after}]
    return by_position(old, new)


def _lines(old: str, new: str, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Changed lines, each with the one that took its place."""
    was, becomes = old.splitlines(), new.splitlines()
    for tag, a, b, c, d in difflib.SequenceMatcher(None, was, becomes, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        left, right = [_line(each) for each in was[a:b]], [_line(each) for each in becomes[c:d]]
        for position in range(max(len(left), len(right))):
            one = left[position] if position < len(left) else None
            other = right[position] if position < len(right) else None
            if one != other:
                yield path, one, other


def _line(text: str) -> str:
    return text.strip().removesuffix("\\").rstrip()
