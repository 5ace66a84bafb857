"""What was changed outside Terraform: of a plan's `resource_drift`, what touches an argument that is configured.

Terraform lists every difference between the stored state and what the provider reads: also attributes that only a
newer provider knows, nothing written as an empty list, a name read back as a link, and copies of other resources.
Nobody changed those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from plan_review import values
from plan_review.values import Path

#: Type -> arguments that show other resources of the stack, and change with them. Products register theirs.
MIRRORS: dict[str, frozenset[str]] = {}


def changed_outside(entries: Any, configuration: Any) -> tuple[str, ...]:
    """The addresses of `resource_drift` that somebody changed; `configuration` is that of the plan."""
    if not isinstance(entries, list):
        return ()
    written = written_expressions(configuration)
    found = {str(each.get("address")) for each in entries if isinstance(each, dict) and _changed(each, written)}
    return tuple(sorted(found))


def written_expressions(configuration: Any) -> dict[str, Any]:
    """Address without indices -> the expressions of its configuration in a plan."""
    return dict(_expressions(values.get(configuration, "root_module", {}), ""))


def without_indices(address: str) -> str:
    """``module.a["x"].google_b.c[0]`` -> ``module.a.google_b.c``: where its configuration stands."""
    return _INDEX.sub("", address)


_INDEX = re.compile(r"\[(?:\"(?:[^\"\\]|\\.)*\"|[^\]]*)\]")


def _expressions(module: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(module, dict):
        return
    for each in module.get("resources") or []:
        if isinstance(each, dict):
            yield f"{prefix}{each.get('address')}", each.get("expressions") or {}
    calls = module.get("module_calls")
    for name, call in calls.items() if isinstance(calls, dict) else ():
        if isinstance(call, dict):
            yield from _expressions(call.get("module"), f"{prefix}module.{name}.")


def _changed(entry: dict[str, Any], written: dict[str, Any]) -> bool:
    body = entry.get("change")
    old, new = (body.get("before"), body.get("after")) if isinstance(body, dict) else (None, None)
    if not isinstance(old, dict) or not isinstance(new, dict):
        return True  # made or deleted outside, or told in a form that we cannot read
    expressions = written.get(without_indices(str(entry.get("address"))))
    return any(True for _ in differing(str(entry.get("type")), old, new, expressions))


def differing(kind: str, old: dict[str, Any], new: dict[str, Any], expressions: Any) -> Iterator[tuple[Path, Any, Any]]:
    """(path, in the state, as it is) of what differs where `expressions` sets it; without expressions, anywhere."""
    mirrored = MIRRORS.get(kind, frozenset())
    own = [key for key in {**old, **new} if key not in mirrored]
    yield from _differ({key: old.get(key) for key in own}, {key: new.get(key) for key in own}, expressions, ())


def _differ(old: Any, new: Any, expressions: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    if old == new or (_empty(old) and _empty(new)):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        given = expressions if isinstance(expressions, dict) and not _leaf(expressions) else None
        names = {**old, **new} if given is None else given
        for name in names:
            yield from _differ(old.get(name), new.get(name), (given or {}).get(name), (*path, name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        each = expressions if isinstance(expressions, list) else [expressions] * len(old)
        padded = [*each, *([None] * len(old))]
        for position, (one, other, given) in enumerate(zip(old, new, padded, strict=False)):
            yield from _differ(one, other, given, (*path, position))
    elif not _same_link(old, new):
        yield path, old, new


def _leaf(expressions: dict[str, Any]) -> bool:
    return "constant_value" in expressions or "references" in expressions


def _empty(value: Any) -> bool:
    """Nothing, in any of the forms in which providers write it."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return value in (None, "", 0, False) if inner is None else all(_empty(each) for each in inner)


def _same_link(old: Any, new: Any) -> bool:
    """Whether one is the other with more of its path: a name, a path, a link."""
    if not isinstance(old, str) or not isinstance(new, str) or not old or not new:
        return False
    short, long = sorted((old, new), key=len)
    return "/" in long and long.endswith(f"/{short}")
