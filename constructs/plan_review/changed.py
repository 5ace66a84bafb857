"""Which arguments an update changes: the ones somebody wrote, less what providers only write differently."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from plan_review import values
from plan_review.differences import UNKNOWN, by_position, walk
from plan_review.drift import MIRRORS
from plan_review.model import Change
from plan_review.values import Path

#: What providers of the older SDK write for "not set", beside null and emptiness.
_ZEROS = (False, 0)

_FILLED_IN = """
    arn create_time creation_timestamp description effective_annotations effective_labels effective_taints etag
    fingerprint generation id instance_group_urls label_fingerprint last_modified last_updated latest_revision manifest
    managed_instance_group_urls metadata metadata_fingerprint modified_time observed_generation output resources
    self_link self_link_unique state status tags_all terraform_labels unique_id update_time updated
    upcoming_maintenance_schedule version_id
"""

#: Filled in by providers at every apply, also where the plan holds no configuration to tell.
COMPUTED = frozenset(_FILLED_IN.split())


@dataclass(frozen=True, slots=True)
class Argument:
    """One changed argument: its path, and both values; `new` may be UNKNOWN."""

    path: Path
    old: Any
    new: Any

    @property
    def name(self) -> str:
        """The dotted path, without positions."""
        return values.dotted(self.path)

    @property
    def unknown(self) -> bool:
        """Whether the new value is known only after the apply."""
        return self.new is UNKNOWN


def arguments(change: Change) -> list[Argument]:
    """What an update changes. Where nothing else differs, what providers write for "not set" does count."""
    found = [each for each in _differing(change) if not _same_nothing(each)]
    weighty = [each for each in found if not (change.type.startswith("google_") and _same_zero(each))]
    return weighty or found


def _differing(change: Change) -> Iterator[Argument]:
    mirrored = MIRRORS.get(change.type, frozenset())
    for path, old, new in walk(change.before, change.after, by_position, unknown=change.unknown):
        first = str(path[0]) if path else ""
        if first in ("lifecycle", "timeouts"):  # Terraform's own; guards in them are judged apart
            continue
        if first in mirrored and not written(change, path):
            continue
        if new is UNKNOWN and not _was_written(change, path, old):
            continue
        yield Argument(path, old, new)


def _was_written(change: Change, path: Path, old: Any) -> bool:
    """Whether a value that is unknown now is one that somebody wrote, rather than one that the provider fills in."""
    if change.written is None:
        return bool(path) and path[0] not in COMPUTED
    if written(change, path):
        return True
    # A `dynamic` block stands in no configuration: what held blocks before may be one.
    return path[0] not in COMPUTED and isinstance(old, list) and any(isinstance(each, dict) for each in old)


def written(change: Change, path: Path) -> bool:
    """Whether the configuration of the plan sets the argument at `path`."""
    here = change.written
    for step in path:
        if isinstance(here, list):
            here = here[step] if isinstance(step, int) and -1 < step < len(here) else here[0] if here else None
            if isinstance(step, int):
                continue
        if isinstance(step, int):
            continue
        if not isinstance(here, dict):
            return False
        if "references" in here or "constant_value" in here:
            return True
        if step not in here:
            return False
        here = here[step]
    return here is not None


def _same_nothing(argument: Argument) -> bool:
    return not argument.unknown and _is_nothing(argument.old) and _is_nothing(argument.new)


def _same_zero(argument: Argument) -> bool:
    both = (argument.old, argument.new)
    return not argument.unknown and all(_is_nothing(each) or each in _ZEROS for each in both)


def _is_nothing(value: Any) -> bool:
    return value is None or value == "" or value == [] or value == {}
