"""Why a resource is replaced or destroyed, in one clause."""

from __future__ import annotations

from collections.abc import Sequence

from plan_review import display
from plan_review.differences import UNKNOWN
from plan_review.drift import without_indices
from plan_review.model import Action, Change

#: Terraform's word -> ours.
_REASONS = {
    "replace_by_triggers": "what its replace_triggered_by names changes",
    "replace_because_tainted": "an earlier apply left it half-made (tainted)",
    "replace_by_request": "its replacement was asked for (-replace)",
    "delete_because_no_resource_config": "it is no longer in the configuration",
    "delete_because_no_module": "its module is no longer in the configuration",
    "delete_because_wrong_repetition": "count or for_each came or went",
    "delete_because_count_index": "count is smaller",
    "delete_because_each_key": "its key is no longer in for_each",
    "delete_because_no_move_target": "its `moved` block leads nowhere",
}

#: Reasons that stand on their own, whatever else is replaced.
_ASKED = frozenset({"replace_because_tainted", "replace_by_request"})


def cause(change: Change, among: Sequence[Change]) -> str:
    """What forces it: arguments with both values, or what it follows. `among` are the changes of its plan."""
    if change.action is Action.DESTROY and "(deposed " in change.address:
        return "an earlier apply made the new one and left this old object behind (deposed)"
    if change.action is Action.DESTROY:
        return _REASONS.get(change.reason, "the plan destroys it")
    forcing = [each for each in display.differences(change) if each.forces]
    known = [each for each in forcing if each.new != UNKNOWN]
    if known:
        more = f" (and {len(known) - 2} more)" if len(known) > 2 else ""
        return "; ".join(display.shortened(each) for each in known[:2]) + more
    roots = [] if change.reason in _ASKED else replaced_with(change, among)
    if roots:
        return _following(roots, among)
    if forcing:
        return display.shortened(forcing[0])
    if change.replace_paths:
        return "; ".join(dict.fromkeys(".".join(s for s in p if isinstance(s, str)) for p in change.replace_paths))
    return _REASONS.get(change.reason, "the provider cannot change it in place")


def _following(roots: list[Change], among: Sequence[Change]) -> str:
    """``it follows google_compute_network.rdma and 8 more, replaced for network_profile: ...``."""
    first = roots[0]
    why = cause(first, among) if first.replace_paths else ""
    more = f" and {len(roots) - 1} more" if len(roots) > 1 else ""
    return f"it follows {first.address}{more}" + (f", replaced for {why}" if why else "")


def replaced_with(change: Change, among: Sequence[Change]) -> list[Change]:
    """Replaced resources that a resource refers to, those that have a cause of their own first.

    A plan does not say what `replace_triggered_by` names: without a reference it is taken to be whatever else is
    replaced for a cause of its own.
    """
    others = [each for each in among if each.action is Action.REPLACE and each.address != change.address]
    found = [each for each in others if _base(each) in change.refers]
    if not found and change.reason == "replace_by_triggers":
        found = [each for each in others if each.reason != "replace_by_triggers"]
    return sorted(found, key=lambda each: (not _own_cause(each), each.type == "terraform_data", each.address))


def _own_cause(change: Change) -> bool:
    return any(each.forces and each.new != UNKNOWN for each in display.differences(change))


def _base(change: Change) -> str:
    return without_indices(change.address)
