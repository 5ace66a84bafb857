"""Rules on what stands beside the changes of a plan: drift, checks, deferred changes, actions, outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from findings import Severity
from plan_review import display, drift, values
from plan_review.judgement import Alike, Breach, Category, plan_rule
from plan_review.losses import loss
from plan_review.model import QUIET, Action, Change, Plan
from plan_review.values import Path

#: Arguments of one drifted resource that a line names.
_MOST = 3


@plan_rule("changed-outside", Severity.WARNING, Category.DISTURB)
def changed_outside(plans: Sequence[Plan]) -> Iterator[Breach]:
    """Something was changed, or deleted, outside Terraform since the last apply.

    By value: what the state holds, what is there now, and whether this plan puts it back. Only arguments that are
    configured count; what providers merely write differently does not.

    Source: Terraform documentation, "JSON output format", `resource_drift`, and `terraform plan -refresh-only`.

    Mend: find out who changed it and why; then let the plan put it back, or write it into the configuration.
    """
    for plan in plans:
        planned = {each.address: each for each in plan.changes}
        for change in plan.drift:
            yield _drifted(plan, change, planned.get(change.address))


def _drifted(plan: Plan, change: Change, planned: Change | None) -> Breach:
    if not change.after and change.before:
        noun = loss(change).noun
        anew = planned is not None and planned.action is Action.CREATE
        consequence = "this plan makes it anew, empty" if anew else "this plan does not make it anew"
        message, rest = f"{noun} was deleted outside Terraform", "were deleted outside Terraform"
    else:
        noun = change.address
        found = list(drift.differing(change.type, change.before, change.after, change.written))
        shown = [
            f"{each.path} {each.old} -> {each.new}"
            for path, old, new in found[:_MOST]
            for each in display.presented(change, path, old, new)
        ]
        more = f" (and {len(found) - _MOST} more)" if len(found) > _MOST else ""
        rest = f"changed outside Terraform: {'; '.join(shown)}{more}" if shown else "changed outside Terraform"
        message, rest = f"{noun} was {rest}", f"were {rest}"
        consequence = _fate(planned, found)
    hint = "find out who changed it and why; then let the plan put it back, or write it into the configuration"
    alike = Alike((change.type, rest, consequence), noun, change.type, f" {rest}")
    return Breach(plan.stack, change.address, message, hint, consequence, alike=alike)


def _fate(planned: Change | None, found: Sequence[tuple[Path, Any, Any]]) -> str:
    """What the plan makes of what was changed: (path, in the state, as it is)."""
    if planned is None or planned.action in QUIET:
        return "this plan leaves it as it is now"
    if planned.action is Action.UPDATE:
        becomes = [values.at(planned.after, path) for path, _, _ in found]
        if becomes == [old for _, old, _ in found]:
            return "this plan puts it back"
        if becomes == [new for _, _, new in found]:
            return "this plan leaves that as it is now"
        return "this plan changes it once more"
    return {
        Action.DESTROY: "this plan destroys it",
        Action.REPLACE: "this plan replaces it",
        Action.FORGET: "this plan lets go of it",
    }.get(planned.action, "")


@plan_rule("check-failed", Severity.WARNING, Category.POLICY)
def check_failed(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A check, condition or validation of the configuration fails at plan.

    Source: Terraform documentation, "JSON output format", `checks`, and "Validate your configuration", `check` blocks.

    Mend: what the check's own message says.
    """
    for plan in plans:
        for name, message in plan.failed_checks:
            hint = "do what the check says, or mend the check"
            yield Breach(plan.stack, name, f"{name} fails: {' '.join(message.split())}", hint)


@plan_rule("change-deferred", Severity.WARNING, Category.INCOMPLETE)
def change_deferred(plans: Sequence[Plan]) -> Iterator[Breach]:
    """Terraform puts a change off: it will come with a later plan, and is not in this one.

    Source: Terraform documentation, "JSON output format", `deferred_changes`.

    Mend: apply, plan again, and review that plan too.
    """
    for plan in plans:
        for address, reason in plan.deferred:
            kind = address.rpartition(".")[0].rpartition(".")[2]
            yield Breach(
                plan.stack,
                address,
                f"{address} is deferred: {reason}",
                "plan again after the apply, and review that plan too",
                "what happens to it is not in this plan",
                alike=Alike((kind, reason), address, kind, f" are deferred: {reason}"),
            )


@plan_rule("action-invoked", Severity.WARNING, Category.UNJUDGED)
def action_invoked(plans: Sequence[Plan]) -> Iterator[Breach]:
    """The apply runs an action of a provider, which changes no resource of the plan and may do anything.

    Source: Terraform documentation, "JSON output format", `action_invocations` (Terraform 1.14).

    Mend: read what the action does; then accept it by address, with the reason.
    """
    for plan in plans:
        for address, trigger in plan.invocations:
            yield Breach(
                plan.stack,
                address,
                f"no rule knows: the apply runs {address} ({trigger})",
                "read what the action does, then accept it by address with the reason",
                "it changes no resource of the plan, and may do anything",
            )


@plan_rule("output-revealed", Severity.WARNING, Category.SECRET)
def output_revealed(plans: Sequence[Plan]) -> Iterator[Breach]:
    """An output that was sensitive is shown from now on.

    Source: Terraform documentation, "JSON output format", `output_changes`, `before_sensitive` and `after_sensitive`.

    Mend: leave `sensitive = true` on the output.
    """
    for plan in plans:
        for name in plan.revealed:
            message = f"output {name} was sensitive, and is shown from now on"
            consequence = "whoever reads the log, the plan or the outputs has it"
            yield Breach(plan.stack, f"output.{name}", message, "leave sensitive = true on it", consequence)
