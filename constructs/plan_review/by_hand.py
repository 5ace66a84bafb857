"""What was changed outside Terraform, as plans: what somebody did by hand, and what the next apply makes of it.

Made from plans of `terraform plan -refresh-only`, whose `resource_drift` goes from what the state holds to what is
there. What somebody did becomes a plan from the one to the other, so that every rule judges it as if it were planned;
what the next apply does becomes the plan back, with the facts of the provider on what that replaces.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plan_review import values
from plan_review.configurations import KnownTypes, identifying, replaces
from plan_review.drift import differing
from plan_review.model import QUIET, Action, Change, Plan
from plan_review.values import Path


@dataclass(frozen=True, slots=True)
class Drifted:
    """One resource that somebody changed or deleted.

    `done` goes from the state to what is there, in the arguments that are configured; `back` is what the next apply
    does (None: nothing, for the configuration says the same, or has the resource no more).
    """

    done: Change
    back: Change | None


def drifted(plans: Sequence[Plan], known: KnownTypes = identifying) -> list[Drifted]:
    """What was done by hand, in the order of the plans and of addresses."""
    found = []
    for plan in plans:
        for change in sorted(plan.drift, key=lambda each: each.address):
            done = _done(change)
            if done:
                found.append(Drifted(done, _back(done, known)))
    return found


def _done(change: Change) -> Change | None:
    if not change.before:
        return None  # taken into the state by an earlier apply; nothing was done to it
    if not change.after:
        return replace(change, action=Action.DESTROY, after={}, replace_paths=())
    after = copy.deepcopy(change.before)
    for path, _, new in differing(change.type, change.before, change.after, change.written):
        _put(after, path, new)
    return replace(change, action=Action.UPDATE, after=after, unknown=None, replace_paths=())


def _put(target: Any, path: Path, value: Any) -> None:
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = copy.deepcopy(value)


def _back(done: Change, known: KnownTypes) -> Change | None:
    """The change that the next apply makes, as long as the configuration is that of the last one."""
    if done.action is Action.DESTROY:
        if done.written is None:
            return None
        return replace(done, action=Action.CREATE, before={}, after=done.before)
    paths = [path for path, _, new in _differences(done) if not _says(done.written, path, new)]
    if not paths:
        return None
    after = copy.deepcopy(done.after)
    for path in paths:
        _put(after, path, values.at(done.before, path))
    forced = tuple(path for path in paths if replaces(known(done.type), path, done.after, after))
    action = Action.REPLACE if forced else Action.UPDATE
    return replace(done, action=action, before=done.after, after=after, replace_paths=forced)


def _differences(done: Change) -> Iterator[tuple[Path, Any, Any]]:
    yield from differing(done.type, done.before, done.after, done.written)


def _says(expressions: Any, path: Path, value: Any) -> bool:
    """Whether the configuration gives this very value, as a constant, at a path."""
    here = expressions
    for step in path:
        if isinstance(here, dict) and "constant_value" in here:
            break
        if isinstance(here, list) and not isinstance(step, int):
            here = here[0] if here else None
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):
            return False
    return isinstance(here, dict) and "constant_value" in here and here["constant_value"] == value


def as_plans(plans: Sequence[Plan], changes: Sequence[Change]) -> list[Plan]:
    """The plans with these changes in place of their own, and all else that stands as unchanged."""
    made = []
    for plan in plans:
        own = [each for each in changes if each.stack == plan.stack]
        moved = {each.address for each in own}
        rest = [
            replace(each, action=Action.NONE, after=each.before or each.after, unknown=None, replace_paths=())
            for each in plan.changes
            if each.address not in moved and (each.before or each.action in QUIET)
        ]
        made.append(
            Plan(
                plan.stack,
                tuple(sorted([*own, *rest], key=lambda each: each.address)),
                plan.file,
                plan.digest,
                plan.content,
                plan.planned_at,
                plan.terraform,
                plan.providers,
                hidden=plan.hidden,
                simulated=plan.simulated,
            )
        )
    return made
