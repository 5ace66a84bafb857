"""What a changed configuration means for what stands, without state and without Terraform.

Facts of the providers, which the caller brings, say which arguments replace a resource. What is replaced takes along
what refers to it: by `replace_triggered_by`, and by arguments that hold a value which only the cloud knows (an id, a
link).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from plan_review import values
from plan_review.differences import Pairs, by_position, walk
from plan_review.model import Action, Change
from plan_review.values import Path

#: Arguments of Terraform itself: a change of them changes nothing that exists.
_META = frozenset({"//", "depends_on", "provider", "provisioner", "connection", "count", "for_each"})

#: What identifies nearly everything: for types without facts.
_IDENTIFYING = "name location region zone project metadata.name metadata.namespace account_id bucket"

#: Types of Terraform itself, and of small providers: what replaces them.
BUILT_IN = {"terraform_data": "triggers_replace", "null_resource": "triggers", "random_id": "byte_length keepers"}

_REFERENCE = re.compile(r"(?<![\w.])([a-z][a-z0-9]*_[a-z0-9_]+)\.([\w-]+)(?:\[[^\]]*\])?(?:\.(\w+))?")

_WHOLE = re.compile(r"\$\{([a-z][a-z0-9]*_[a-z0-9_]+)\.([\w-]+)\.(\w+)\}")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a type: paths that force replacement, and what an argument is when it is not set.

    `conditions` are paths whose change replaces only from some old value to some new one; `kept` those that stay as
    they are when they are no longer set (optional and computed).
    """

    force_new: frozenset[str]
    defaults: dict[str, Any]
    conditions: Mapping[str, Callable[[Any, Any], bool]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()


#: Type -> what is known of it.
KnownTypes = Callable[[str], Known]


def identifying(kind: str) -> Known:
    """What holds for a type without facts: a change of what identifies it replaces it."""
    return Known(frozenset(BUILT_IN.get(kind, _IDENTIFYING).split()), {})


def body(configuration: Any, known: Known) -> dict[str, Any]:
    """A resource's arguments: cdktf's comments and Terraform's own left out, defaults filled in."""
    if isinstance(configuration, list):
        configuration = configuration[0] if configuration else {}
    if not isinstance(configuration, dict):
        return {}
    found = {key: value for key, value in configuration.items() if key not in _META}
    for path, default in known.defaults.items():
        *outer, last = path.split(".")
        if not outer:
            found.setdefault(last, default)
    return found


def compare(stack: str, old: dict[str, Any], new: dict[str, Any], known: KnownTypes = identifying) -> list[Change]:
    """The changes from one configuration of a stack to another; ``resource`` sections of Terraform JSON."""
    before, after = _bodies(old, known), _bodies(new, known)
    changes = {}
    for address in sorted({*before, *after}):
        written = after.get(address, before.get(address))
        refers = frozenset(f"{kind}.{name}" for kind, name, _ in _references(written))
        was, becomes = (_resolved(side.get(address), side) for side in (before, after))
        changes[address] = _change(stack, address, (was, becomes), refers, known)
    _follow(changes, known)
    return list(changes.values())


def _bodies(section: dict[str, Any], known: KnownTypes) -> dict[str, dict[str, Any]]:
    return {
        f"{kind}.{name}": body(configuration, known(kind))
        for kind, named in section.items()
        if isinstance(named, dict)
        for name, configuration in named.items()
        if name != "//"
    }


def _resolved(value: Any, bodies: dict[str, dict[str, Any]]) -> Any:
    """A value with each reference to an argument that is written out in its place."""
    if isinstance(value, dict):
        return {key: _resolved(each, bodies) for key, each in value.items()}
    if isinstance(value, list):
        return [_resolved(each, bodies) for each in value]
    whole = _WHOLE.fullmatch(value) if isinstance(value, str) else None
    if whole:
        target = bodies.get(f"{whole[1]}.{whole[2]}", {}).get(whole[3])
        if isinstance(target, str | int | float) and not values.is_expression(target):
            return target
    return value


def _change(
    stack: str,
    address: str,
    sides: tuple[dict[str, Any] | None, dict[str, Any] | None],
    refers: frozenset[str],
    known: KnownTypes,
) -> Change:
    kind, _, name = address.partition(".")
    old, new = sides
    if old is None:
        return Change(stack, address, kind, name, Action.CREATE, {}, new or {}, refers=refers)
    if new is None:
        return Change(stack, address, kind, name, Action.DESTROY, old, {}, refers=refers)
    facts = known(kind)
    new = _without_ignored(old, new)
    # What the provider makes of it; the change itself shows what is written.
    planned = _keeping(old, new, facts.kept)
    paths = tuple(path for path in _changed(old, planned) if replaces(facts, path, old, planned))
    if paths:
        action, reason = Action.REPLACE, "replace_because_cannot_update"
    else:
        action, reason = (Action.UPDATE if _arguments(old) != _arguments(planned) else Action.NONE), ""
    return Change(stack, address, kind, name, action, old, new, replace_paths=paths, reason=reason, refers=refers)


def _arguments(of: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in of.items() if key not in ("lifecycle", "timeouts")}


def _without_ignored(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """`new` with the arguments that `ignore_changes` names as they were."""
    ignored = values.get(new, "lifecycle.ignore_changes", [])
    if ignored == "all":
        return {**old, "lifecycle": new["lifecycle"]}
    if not isinstance(ignored, list):
        return new
    names = {str(each).partition(".")[0].partition("[")[0] for each in ignored}
    kept = {key: value for key, value in new.items() if key not in names}
    return {**kept, **{key: value for key, value in old.items() if key in names}}


def _keeping(old: dict[str, Any], new: dict[str, Any], kept: frozenset[str], front: str = "") -> dict[str, Any]:
    """`new` with what is no longer set in it, and which the provider therefore leaves as it was."""
    found = {**new, **{name: old[name] for name in old if front + name in kept and name not in new}}
    for name in new:
        was, becomes = _single(old.get(name), new[name])
        pair = [each[0] if isinstance(each, list) and len(each) == 1 else each for each in (was, becomes)]
        if all(isinstance(each, dict) for each in pair):
            inner = _keeping(pair[0], pair[1], kept, f"{front}{name}.")
            if inner != pair[1]:
                found[name] = [inner] if isinstance(new[name], list) else inner
    return found


def _changed(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Path]:
    """Paths that differ: into objects and blocks, down to values and to lists of values; and lists of other length."""
    for path, _, _ in walk(_arguments(old), _arguments(new), _blocks, align=_single):
        yield path


def _blocks(old: list[Any], new: list[Any]) -> Pairs | None:
    """Blocks by position; lists of values, and lists of other length, as a whole."""
    if len(old) != len(new) or not all(any(isinstance(each, dict) for each in side) for side in (old, new)):
        return None
    return by_position(old, new)


def _single(old: Any, new: Any) -> tuple[Any, Any]:
    """A block of one may be written as an object or as a list of one."""
    if isinstance(old, dict) and isinstance(new, list) and len(new) == 1:
        return old, new[0]
    if isinstance(new, dict) and isinstance(old, list) and len(old) == 1:
        return old[0], new
    return old, new


def forces(known: Known, path: Path, new: Any = None) -> bool:
    """Whether a change at `path` replaces a resource of a type of which that is known.

    A block forces by the number of its elements alone; a map of plain values by anything in it.
    """
    steps = [str(step) for step in path if not isinstance(step, int)]
    force_new = known.force_new
    if ".".join(steps) in force_new:
        return True
    for length in range(1, len(steps)):
        outer = ".".join(steps[:length])
        if outer in force_new and not any(each.startswith(outer + ".") for each in force_new):
            found = values.get(new, outer)
            if isinstance(found, dict) and not any(isinstance(each, dict | list) for each in found.values()):
                return True
    return False


def replaces(known: Known, path: Path, old: Any, new: Any) -> bool:
    """Whether a change at `path` of a resource, from `old` to `new` as wholes, replaces it; also on a condition."""
    if forces(known, path, new):
        return True
    name = ".".join(str(step) for step in path if not isinstance(step, int))
    condition = known.conditions.get(name)
    return condition is not None and condition(values.get(old, name), values.get(new, name))


def _references(value: Any) -> Iterator[tuple[str, str, str]]:
    """(type, name, attribute) of every resource that an expression names."""
    for _, leaf in values.leaves(value):
        if values.is_expression(leaf):
            yield from (found.groups(default="") for found in _REFERENCE.finditer(leaf))  # type: ignore[misc]


def _follow(changes: dict[str, Change], known: KnownTypes) -> None:
    """Replace what hangs on something that is replaced, until nothing more follows."""
    moving = True
    while moving:
        moving = False
        for address, change in changes.items():
            if change.action not in (Action.UPDATE, Action.NONE):
                continue
            triggers = _triggers(change, changes)
            paths = () if triggers else tuple(_dragged(change, changes, known))
            if triggers or paths:
                reason = "replace_by_triggers" if triggers else "replace_because_cannot_update"
                changes[address] = replace(
                    change,
                    action=Action.REPLACE,
                    reason=reason,
                    replace_paths=paths,
                    refers=change.refers | frozenset(triggers),
                )
                moving = True
            elif change.action is Action.NONE and any(_new_values(change, changes)):
                changes[address] = replace(change, action=Action.UPDATE)
                moving = True


def _triggers(change: Change, changes: dict[str, Change]) -> list[str]:
    """Resources in `replace_triggered_by` whose change triggers."""
    found = []
    for text in values.texts(values.blocks(change.after, "lifecycle"), "") or values.texts(
        change.after, "lifecycle.replace_triggered_by"
    ):
        match = _REFERENCE.search(text)
        if not match:
            continue
        kind, name, attribute = match.groups(default="")
        target = changes.get(f"{kind}.{name}")
        if target and _moves(target, attribute):
            found.append(target.address)
    return found


def _moves(target: Change, attribute: str) -> bool:
    """Whether a reference to `attribute` of it (or to all of it) gets another value."""
    if not attribute:
        return target.action in (Action.REPLACE, Action.UPDATE)
    if attribute in target.after:
        return target.before.get(attribute) != target.after.get(attribute)
    return target.action is Action.REPLACE


def _dragged(change: Change, changes: dict[str, Change], known: KnownTypes) -> Iterator[Path]:
    """Arguments that force replacement and hold a value that is new because its owner is."""
    return (path for path in _new_values(change, changes) if forces(known(change.type), path, change.after))


def _new_values(change: Change, changes: dict[str, Change]) -> Iterator[Path]:
    """Arguments that hold a value which is known only after the apply, because its owner is replaced."""
    for path, leaf in values.leaves(_arguments(change.after)):
        if not values.is_expression(leaf):
            continue
        for kind, name, attribute in _references(leaf):
            target = changes.get(f"{kind}.{name}")
            if target and target.action is Action.REPLACE and _moves(target, attribute):
                yield path
                break
