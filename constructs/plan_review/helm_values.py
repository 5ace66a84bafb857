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
                if isinstance(value.get("kind"), str) and isinstance(value.get("apiVersion"), str):
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
        yield from _walk(before, after, "values")
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


def _walk(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _walk(old.get(key), new.get(key), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list):
        yield from _walk_list(old, new, path)
    elif isinstance(old, str) and isinstance(new, str) and "\n" in old + new:
        yield from _lines(old, new, path)
    else:
        yield path, old, new


def _walk_list(old: list[Any], new: list[Any], path: str) -> Iterator[tuple[str, Any, Any]]:
    """By name where the elements have names (containers, variables), else by position, else what came and went."""
    by_name = [{str(e.get("name")): e for e in side if isinstance(e, dict) and e.get("name")} for side in (old, new)]
    if len(by_name[0]) == len(old) and len(by_name[1]) == len(new) and old and new:
        for name in [*by_name[0], *(name for name in by_name[1] if name not in by_name[0])]:
            yield from _walk(by_name[0].get(name), by_name[1].get(name), f"{path}[{name}]")
    elif len(old) == len(new):
        for position, (was, becomes) in enumerate(zip(old, new, strict=True)):
            yield from _walk(was, becomes, f"{path}[{position}]")
    else:
        for each in old:
            if each not in new:
                yield path, each, None
        for each in new:
            if each not in old:
                yield path, None, each


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
