"""Rules on the queues of Kueue, which outlive a change only when their jobs are gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from findings import Severity
from plan_review import display, values
from plan_review.helm_values import objects
from plan_review.judgement import Breach, Category, plan_rule
from plan_review.model import Action, Change, Plan

_QUEUES = ("ClusterQueue", "LocalQueue")


@plan_rule("queue-removed", Severity.WARNING, Category.DISTURB)
def queue_removed(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A queue of Kueue goes, or Kueue itself: the apply hangs while a job is in it.

    Kueue takes its finalizer off a ClusterQueue only when no admitted job is left in it, so that the release waits for
    the job, and fails. Once Kueue is gone too, nobody takes the finalizer off.

    Source: kueue, pkg/controller/core/clusterqueue_controller.go (finalizer `kueue.x-k8s.io/resource-in-use`).

    Mend: destroy the workload stack first, or wait until its job has ended and is gone; apply this plan; then apply the
    workload stack, whose job no longer asks for the queue.
    """
    for plan in plans:
        for change in plan.changes:
            gone = _gone(change) if change.type == "helm_release" else []
            if gone:
                yield Breach(
                    change.stack,
                    change.address,
                    f"{display.listed(gone)} {'goes' if len(gone) == 1 else 'go'}",
                    "destroy the workload stack first, apply this plan, then apply the workload stack",
                    "a queue stays until no job is in it: while one is, the apply hangs, fails, and leaves half",
                    arguments=("values",),
                )


def _gone(change: Change) -> list[str]:
    """The queues that a release no longer brings, and Kueue itself."""
    if change.action not in (Action.DESTROY, Action.REPLACE, Action.UPDATE):
        return []
    before, after = (_queues(side) for side in (change.before, change.after))
    found = [name for name in before if change.action is Action.REPLACE or name not in after]
    if change.action is Action.DESTROY and values.last_part(values.text(change.before, "chart")) == "kueue":
        found.append("Kueue")
    return found


def _queues(release: dict[str, object]) -> list[str]:
    return [
        f"{each['kind']} {values.text(each, 'metadata.name')}" for each in objects(release) if each["kind"] in _QUEUES
    ]
