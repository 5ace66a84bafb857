"""Updates that are safe, and why: a table. What no entry and no rule knows is a decision.

An entry names types (a pattern), an argument with all below it, and a reason that a reviewer can check. Products add
entries for the types that they know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from plan_review import values
from plan_review.changed import Argument
from plan_review.differences import walk
from plan_review.helm_values import same_content
from plan_review.model import Change

#: Whether this very change of the argument is the safe one.
When = Callable[[Change, Argument], bool]


def always(_: Change, __: Argument) -> bool:
    """Whatever the values are."""
    return True


def turned_on(_: Change, argument: Argument) -> bool:
    """From off, or not set, to on."""
    return argument.new in (True, "true") and argument.old in (None, False, "false", "")


def turned_off(_: Change, argument: Argument) -> bool:
    """From on to off."""
    return argument.old in (True, "true") and argument.new in (None, False, "false", "")


def grows(_: Change, argument: Argument) -> bool:
    """To a greater number."""
    old, new = values.number(argument.old), values.number(argument.new)
    return new is not None and new > (old or 0) and (old is not None or argument.old in (None, ""))


def added(_: Change, argument: Argument) -> bool:
    """Something where there was nothing."""
    return argument.old in (None, "", [], {}) and not argument.unknown


def becomes(*words: str) -> When:
    """To one of these values."""
    return lambda _, argument: argument.new in words


def same_values(_: Change, argument: Argument) -> bool:
    """Values of a Helm release with the same content, written differently."""
    old, new = argument.old, argument.new
    return isinstance(old, str) and isinstance(new, str) and same_content(old, new)


def plain_tags(_: Change, argument: Argument) -> bool:
    """Tags that steer nothing: the controllers of clusters read those with a colon or slash."""
    names: list[Any] = [argument.path[1]] if len(argument.path) > 1 else []
    for side in (argument.old, argument.new):
        names += list(side) if isinstance(side, dict) else []
    return not argument.unknown and bool(names) and not any(":" in str(n) or "/" in str(n) for n in names)


@dataclass(frozen=True, slots=True)
class Safe:
    """One entry: of `types`, `path` and all below it, `when` so. `why` reads after "argument of N resources: "."""

    types: str
    path: str
    why: str
    when: When = always

    def holds(self, change: Change, argument: Argument) -> bool:
        """Whether this entry says that the change of the argument is safe."""
        below = argument.name == self.path or argument.name.startswith(f"{self.path}.")
        return below and fnmatchcase(change.type, self.types) and self.when(change, argument)


METADATA = "names and marks alone; nothing restarts"
GUARD = "a guard more"
_HELM = "how Helm installs; no object changes"
_MARKER = "a marker in the state; nothing in the cloud"

#: In order: the first entry that holds gives the reason.
SAFE: list[Safe] = [
    Safe("terraform_data", "input", _MARKER),
    Safe("terraform_data", "output", _MARKER),
    *(
        Safe("google_*", path, METADATA)
        for path in ("labels", "user_labels", "resource_labels", "effective_labels", "terraform_labels", "annotations",
                     "effective_annotations")
    ),
    *(Safe(f"{cloud}_*", path, METADATA, plain_tags) for cloud in ("aws", "azurerm") for path in ("tags", "tags_all")),
    *(Safe("*", path, METADATA) for path in ("description", "display_name")),
    *(
        Safe("*", path, GUARD, turned_on)
        for path in ("deletion_protection", "deletion_protection_enabled", "enable_deletion_protection",
                     "disable_api_termination", "termination_protection")
    ),
    Safe("google_*", "deletion_policy", GUARD, becomes("PREVENT")),
    *(Safe("helm_release", path, _HELM) for path in ("timeout", "max_history", "lint", "render_subchart_notes")),
    *(
        Safe("helm_release", path, _HELM, turned_on)
        for path in ("wait", "wait_for_jobs", "atomic", "cleanup_on_fail")
    ),
    Safe("helm_release", "values", "the same content, written differently", same_values),
]  # fmt: skip


def reason(change: Change, argument: Argument) -> str:
    """Why the change of the argument is safe; empty when no entry knows it. A block is as safe as all that is in it."""
    if argument.unknown:
        return ""
    found = next((each.why for each in SAFE if each.holds(change, argument)), "")
    parts = [] if found else _parts(argument)
    reasons = [reason(change, each) for each in parts]
    return "; ".join(dict.fromkeys(reasons)) if reasons and all(reasons) else found


def _parts(argument: Argument) -> list[Argument]:
    """What is in a block that comes or goes as a whole."""
    old, new = (side[0] if isinstance(side, list) and len(side) == 1 else side for side in (argument.old, argument.new))
    if not all(isinstance(side, dict) or side in (None, [], {}) for side in (old, new)):
        return []
    found = walk(old or {}, new or {}, lambda *_: None)
    return [Argument((*argument.path, *path), *pair) for path, *pair in found if path and not _nothing(pair)]


def _nothing(pair: list[Any]) -> bool:
    return all(each in (None, "", [], {}, False, 0) for each in pair)
