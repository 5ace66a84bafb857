"""Rules of a job whose nodes come when it asks: queued, flex-start and autoscaled pools, with and without Kueue."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, Severity, rule
from groundplan.gpu.values import DYNAMIC
from groundplan.site.resolve import Site
from groundplan.workload.rayjob import knows

#: Hours after which GKE takes flex-start and queued nodes back when the pool names no number.
_LONGEST_HOURS = 168


@rule("queued-needs-kueue", Severity.WARNING)
def queued_needs_kueue(site: Site) -> Iterator[Problem]:
    """The job's pool is queued, and there is no Kueue to ask for its nodes.

    GKE makes the nodes of a queued pool for a ProvisioningRequest alone, never for a pending pod. Kueue writes one for
    the job; without it the pods wait for ever. A warning, because a site may have a Kueue, or requests, of its own.

    Source: GKE documentation, "Run GPUs with queued provisioning"; Kueue documentation, "Provisioning Admission Check".

    Mend: `platform.kueue.enabled: true`, or another `capacity`, such as flex_start.
    """
    pool = site.job.pool if site.job else None
    if pool is not None and pool.capacity == "queued" and not site.profile.platform.kueue.enabled:
        message = f"GPU pool {pool.name} has `capacity: queued`, and nothing asks for its nodes without Kueue"
        hint = "set `platform.kueue.enabled: true`, or `capacity: flex_start`"
        yield Problem(("gpu", "pools", pool.index, "capacity"), message, hint)


@rule("topology-empty-pool", Severity.WARNING)
def topology_empty_pool(site: Site) -> Iterator[Problem]:
    """Kueue is to place the job by topology, on a pool that may have no nodes yet.

    Topology-aware scheduling counts the nodes that exist. On a pool that autoscales from none, or whose nodes come and
    go (queued, flex_start, spot), it may find no place and never admit the job, so that no node is ever asked for.

    Source: Kueue documentation, "Topology Aware Scheduling", limitations.

    Mend: `platform.kueue.topology: none`.
    """
    pool, kueue = site.job.pool if site.job else None, site.profile.platform.kueue
    if pool is None or not kueue.enabled or kueue.topology == "none":
        return
    if pool.capacity in (*DYNAMIC, "spot"):
        why = f"`capacity: {pool.capacity}`"
    elif pool.spec.autoscaling is not None and pool.min_nodes == 0:
        why = "`autoscaling.min: 0`"
    else:
        return
    message = (
        f"`platform.kueue.topology` {kueue.topology}: topology-aware scheduling counts existing nodes only, "
        f"and GPU pool {pool.name} has {why}"
    )
    yield Problem(("platform", "kueue", "topology"), message, "set `platform.kueue.topology: none`")


@rule("dynamic-deadlines", Severity.WARNING)
def dynamic_deadlines(site: Site) -> Iterator[Problem]:
    """The job's deadlines do not suit nodes that GKE gives when it can, and for a time.

    Flex-start and queued nodes may come hours after they are asked for: with the default `startup_minutes` of 60
    KubeRay gives the cluster up before. And they are taken back after `max_run_hours` (at most seven days): a
    `deadline_hours` beyond it is never reached, for the nodes go first.

    Source: GKE documentation, "Flex-start", provisioning time and run duration.

    Mend: `workload.startup_minutes: 1440`; `deadline_hours` of at most the nodes' time, or a greater `max_run_hours`.
    """
    job = site.job
    pool = job.pool if job else None
    if job is None or pool is None or pool.capacity not in DYNAMIC or job.spec.mode != "job":
        return
    if "startup_minutes" not in job.spec.model_fields_set and knows(job.kuberay, "pre_running_deadline"):
        message = (
            f"workload.startup_minutes {job.spec.startup_minutes} is the default, and nodes of GPU pool {pool.name} "
            f"(`capacity: {pool.capacity}`) may take hours to come"
        )
        yield Problem(("workload", "startup_minutes"), message, "set `workload.startup_minutes: 1440`")
    hours = pool.spec.max_run_hours or _LONGEST_HOURS
    if hours < job.spec.deadline_hours:
        message = (
            f"workload.deadline_hours {job.spec.deadline_hours} is more than the {hours} hours after which nodes of "
            f"GPU pool {pool.name} are taken back"
        )
        hint = f"set `workload.deadline_hours: {hours}`, with checkpoints to go on from"
        if hours < _LONGEST_HOURS:
            hint += f"; or `max_run_hours: {min(job.spec.deadline_hours, _LONGEST_HOURS)}` on the pool"
        at: ProfilePath = ("gpu", "pools", pool.index)
        yield Problem((*at, "max_run_hours") if pool.spec.max_run_hours else at, message, hint)
