"""What GKE takes on a node pool, and what it refuses. The one place that decides it.

Rules of profiles and of plans both ask here, so that `check`, `diff` and `review` say the same of one pool.
"""

from __future__ import annotations

from collections.abc import Collection

from findings import Severity


def has_two_counts(fixed: int | None, autoscaled: bool) -> bool:
    """Whether a fixed number of nodes, 0 too, stands beside autoscaling; None is no number."""
    return fixed is not None and autoscaled


def is_no_range(least: int, most: int) -> bool:
    """Whether an autoscaler's fewest nodes are more than its most; equal ones are a range of one."""
    return least > most


def lacks_reservation(specific: bool, names: Collection[str]) -> bool:
    """Whether machines are to come from a specific reservation, and none is named (GKE API, ReservationAffinity)."""
    return specific and not any(names)


def no_placement_because(*, specific: bool, queued: bool) -> str:
    """Why a pool takes no compact placement policy; empty when it takes one.

    `specific`: its machines come from a specific reservation. Source: cluster-toolkit, gke-node-pool preconditions.
    """
    if specific:
        return "the reservation has a policy of its own"
    return "queued provisioning takes none" if queued else ""


def auto_upgrade_trouble(auto_upgrade: bool | None, channel: str, *, queued: bool) -> Severity | None:
    """How grave it is that auto-upgrade is off: a release channel demands it, and GKE answers 400.

    A warning for a queued pool: cluster-toolkit makes such ones. None where it is on, left out, or there is no channel.
    """
    if auto_upgrade is not False or channel in ("", "UNSPECIFIED"):
        return None
    return Severity.WARNING if queued else Severity.ERROR
