"""Values and differences as a reader may see them: short, one line, never a secret.

A value that Terraform marks as sensitive is never shown, in no format; any other text passes through
:func:`findings.redaction.mask_secrets` first. What is cut is cut after masking, so that no half of a token survives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from findings.redaction import is_secret_name, mask_secrets, names_secret
from plan_review import helm_values, values
from plan_review.differences import UNKNOWN, UNPLACED, by_position, walk
from plan_review.model import Action, Change
from plan_review.sensitivity import any_mark
from plan_review.values import Path

HIDDEN = "(sensitive)"
NOTHING = "(none)"

#: Characters of a value that a report shows.
WIDTH = 100


@dataclass(frozen=True, slots=True)
class Difference:
    """One changed argument: its dotted path, both values as shown, and whether it forces the replacement."""

    path: str
    old: str
    new: str
    forces: bool = False

    def __str__(self) -> str:
        if self.old == NOTHING:
            return f"{self.path}: {self.new} added"
        if self.new == NOTHING:
            return f"{self.path}: {self.old} removed"
        return f"{self.path}: {self.old} -> {self.new}"


def show(value: Any, name: str = "", width: int = WIDTH) -> str:
    """A value in one line: masked, without control characters, cut."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        if value and is_secret_name(name) and name != "secret":
            return HIDDEN
        text = json.dumps(mask_secrets(without_host(value)), ensure_ascii=False)
    elif isinstance(value, dict | list):
        text = mask_secrets(json.dumps(_without_secret_names(value), ensure_ascii=False, sort_keys=True, default=str))
    else:
        text = json.dumps(value, default=str)
    return cut(printable(text), width)


def without_host(text: str) -> str:
    """A link of Google's APIs as the path that configurations hold: ``projects/P/...``."""
    return _API_HOST.sub("", text)


_API_HOST = re.compile(r"^https://[a-z]+\.googleapis\.com/(?:[a-z]+/)?v[0-9][a-z0-9]*/(?=projects/)")


def _without_secret_names(value: Any) -> Any:
    if isinstance(value, dict):
        named = is_secret_name(str(value.get("name", "")))  # a variable: its name here, what it is given beside it
        return {
            key: HIDDEN
            if isinstance(each, str) and each and (is_secret_name(str(key)) or (named and key == "value"))
            else _without_secret_names(each)
            for key, each in value.items()
            if each is not None
        }
    return [_without_secret_names(each) for each in value] if isinstance(value, list) else value


def printable(text: str) -> str:
    """`text` without line breaks, bidirectional marks and whatever else a terminal or page would act on."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def plain(text: str) -> str:
    """A name or message from the input, safe to print: masked and printable."""
    return printable(mask_secrets(text))


def without(text: str, hidden: Sequence[str]) -> str:
    """`text` with each of the sensitive texts in it replaced."""
    for each in hidden:
        if each in text:
            text = text.replace(each, HIDDEN)
    return text


def cut(text: str, width: int = WIDTH) -> str:
    """`text` in at most `width` characters."""
    return text if len(text) <= width else text[: width - 1] + "…"


def differences(change: Change) -> list[Difference]:
    """What changes in a resource, argument by argument; those that force a replacement first.

    Values that only the cloud knows are left out of replacements, where all of them change.
    """
    if change.action not in (Action.UPDATE, Action.REPLACE):
        return []
    forced = {_key(path) for path in change.replace_paths}
    found: dict[str, Difference] = {}
    for path, old, new in walk(change.before, change.after, by_position, unknown=change.unknown):
        if path[-1:] != (UNPLACED,) and _same_nothing(old, new):
            continue
        if change.action is Action.REPLACE and not _forces(path, forced) and _as_unset(old, new):
            continue
        filled_in = change.action is Action.REPLACE or (bool(path) and path[0] in _COMPUTED)
        if new is UNKNOWN and filled_in and not _forces(path, forced):
            continue
        for each in presented(change, path, old, new):
            forces = _forces(path, forced)
            found.setdefault(each.path + each.old, Difference(each.path, each.old, each.new, forces))
    return sorted(found.values(), key=lambda each: not each.forces)


def shortened(difference: Difference) -> str:
    """A difference for a sentence: of two links that differ in their last part, that part alone."""
    old, new = difference.old, difference.new
    head, slash, _ = old.rpartition("/")
    alike = slash and new.startswith(head + "/") and old.startswith('"') and new.count("/") == old.count("/")
    if alike and values.is_link(head[1:]):
        old, new = f'"{old[len(head) + 1 :]}', f'"{new[len(head) + 1 :]}'
    return str(Difference(difference.path, old, new))


#: Filled in by the provider at every apply; their being unknown says nothing.
_COMPUTED = frozenset(
    {"description", "etag", "id", "label_fingerprint", "manifest", "metadata", "resources", "status", "update_time"}
)


def presented(change: Change, path: Path, old: Any, new: Any) -> Iterator[Difference]:
    """One changed argument as it may be shown; of a release's values each setting that differs."""
    hidden = _marked(change.secret_before, path) or _marked(change.secret_after, path)
    name = str(path[-1]) if path and isinstance(path[-1], str) else ""
    if hidden:
        yield Difference(values.dotted(path), HIDDEN, HIDDEN)
    elif change.type == "helm_release" and path[:1] == ("values",) and isinstance(old, str) and isinstance(new, str):
        if helm_values.same_content(old, new):
            yield Difference("values", "as before", "the same content, written differently")
        for where, was, becomes in helm_values.differences(old, new):
            last = named_by(where)
            yield Difference(plain(where), _line(was, last), _line(becomes, last))
    else:
        yield Difference(plain(values.dotted(path)), show(old, name), UNKNOWN if new is UNKNOWN else show(new, name))


def named_by(path: str) -> str:
    """The name that decides whether a value is secret: of ``...env[HF_TOKEN].value`` that of the variable."""
    found = _VARIABLE.search(path)
    return found[1] if found else path.rpartition(".")[2]


_VARIABLE = re.compile(r"\[([^\[\]]+)\]\.value$")


def _line(value: Any, name: str) -> str:
    """A value, or a line of a longer one; a line that gives something to a secret's name is not shown."""
    return HIDDEN if isinstance(value, str) and names_secret(value) else show(value, name)


def _as_unset(old: Any, new: Any) -> bool:
    """Whether a replacement only leaves out what the provider had stored for "not set", or writes a link as a path."""
    if new is None:
        return old in ("", False, 0)
    return isinstance(old, str) and isinstance(new, str) and without_host(old) == without_host(new)


def _same_nothing(old: Any, new: Any) -> bool:
    return (old is None and new in ([], {})) or (new is None and old in ([], {}))


def _key(path: Path) -> tuple[str, ...]:
    return tuple(str(step) for step in path if not isinstance(step, int))


def _forces(path: Path, forced: set[tuple[str, ...]]) -> bool:
    key = _key(path)
    return any(key[: len(each)] == each or each[: len(key)] == key for each in forced)


def _marked(marks: Any, path: Path) -> bool:
    """Whether Terraform's marks hide the value at `path`, something in it, or a block around it."""
    for step in path:
        if marks is True:
            return True
        if isinstance(marks, dict):
            marks = marks.get(step)
        elif isinstance(marks, list):
            if not isinstance(step, int) or not -1 < step < len(marks):
                return any(any_mark(each) for each in marks)
            marks = marks[step]
        else:
            return False
    return any_mark(marks)


def count(amount: int, one: str, many: str = "") -> str:
    """``3 nodes``: an amount with its noun, thousands apart."""
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def listed(names: list[str], most: int = 3) -> str:
    """``a, b and 4 more``."""
    if len(names) <= most:
        return " and ".join(filter(None, (", ".join(names[:-1]), names[-1] if names else "")))
    return f"{', '.join(names[:most])} and {len(names) - most} more"
