"""Rules on what is replaced or destroyed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from findings import Severity
from plan_review import display
from plan_review.causes import cause
from plan_review.judgement import Alike, Breach, Category, plan_rule
from plan_review.losses import loss
from plan_review.model import Action, Plan

_VERBS = {Action.REPLACE: "replaced", Action.DESTROY: "destroyed"}


@plan_rule("resource-replaced", Severity.ERROR, Category.REPLACE)
def resource_replaced(plans: Sequence[Plan]) -> Iterator[Breach]:
    """Something that exists is destroyed and made anew.

    An error when nodes with GPUs, a cluster, or data go; else a warning. The cause is what forces it: the arguments
    that the provider cannot change in place, or what it follows by `replace_triggered_by`.

    Source: Terraform documentation, "JSON output format", `action_reason` and `replace_paths`, and the `lifecycle`
    block, `replace_triggered_by`.

    Mend: undo the change that forces it, or plan the time: end the running job, save what is needed.
    """
    yield from _gone(plans, Action.REPLACE)


@plan_rule("resource-destroyed", Severity.ERROR, Category.DESTROY)
def resource_destroyed(plans: Sequence[Plan]) -> Iterator[Breach]:
    """Something that exists is destroyed and not made anew.

    An error when nodes with GPUs, a cluster, or data go; else a warning.

    Source: Terraform documentation, "JSON output format", `action_reason` (delete_because_...), and "Destroy a
    resource".

    Mend: put it back into the configuration, or plan the time.
    """
    yield from _gone(plans, Action.DESTROY)


def _gone(plans: Sequence[Plan], action: Action) -> Iterator[Breach]:
    for plan in plans:
        for change in plan.changes:
            if change.action is not action or change.type in ("terraform_data", "null_resource"):
                continue
            lost, why = loss(change), cause(change, plan.changes)
            hint = "undo what forces it, or choose the time: end the running job first and save what is needed"
            after = f"{_VERBS[action]}: {why}"
            yield Breach(
                change.stack,
                change.address,
                f"{lost.noun} is {after}",
                hint if change.action is Action.REPLACE else "keep it in the configuration, or choose the time",
                lost.text,
                Severity.ERROR if lost.grave else Severity.WARNING,
                Category.DATA if lost.data else None,
                alike=Alike(
                    (change.type, re.sub(r"\d+", "#", why)),
                    lost.noun,
                    change.type,
                    f" are {after}",
                    lost.totals,
                ),
            )


@plan_rule("resource-forgotten", Severity.WARNING, Category.DISTURB)
def resource_forgotten(plans: Sequence[Plan]) -> Iterator[Breach]:
    """Terraform lets go of something that stays in the cloud: it is paid on, and managed by nobody.

    Source: Terraform documentation, "Remove a resource from state" (a `removed` block with `destroy = false`).

    Mend: import it elsewhere, or destroy it.
    """
    for plan in plans:
        left = [each for each in plan.changes if each.reason == "stack_removed"]
        if left:
            nouns = sorted({(not loss(each).grave, loss(each).noun) for each in left})
            yield Breach(
                plan.stack,
                left[0].address,
                f"stack {plan.stack} is not in the new output; Terraform destroys nothing of it: "
                f"{display.listed([noun for _, noun in nouns])}",
                "destroy it from the old output, or keep the old name",
                f"what it made ({display.count(len(left), 'resource')}) stays in the cloud and is paid for",
            )
        for change in plan.changes:
            if change.action is Action.FORGET and change.reason != "stack_removed":
                message = f"{change.type} {change.label} is forgotten, not destroyed"
                consequence = "it stays in the cloud, is paid on, and no state knows it"
                if change.after:
                    message = f"{change.type} {change.label} is made anew, and the old one is forgotten, not destroyed"
                    consequence = "both stand: the old one stays in the cloud, is paid on, and no state knows it"
                yield Breach(change.stack, change.address, message, "say who owns it now", consequence)
