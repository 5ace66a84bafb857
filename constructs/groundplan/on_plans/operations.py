"""Rules on changes that run in place and yet disturb, surprise or cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from findings import Severity
from groundplan.on_plans import capacity, ray
from groundplan.on_plans.consequences import gpus_of
from plan_review import display, helm_values, values
from plan_review.display import count
from plan_review.judgement import Breach, Category, plan_rule
from plan_review.model import Action, Change, Plan, Resource, updates

#: What says how many nodes a pool has.
SIZE = ("node_count", "initial_node_count", "autoscaling")


@plan_rule("lustre-shrinks", Severity.ERROR, Category.REFUSED)
def lustre_shrinks(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A Lustre instance is to become smaller, which Managed Lustre refuses: it only grows.

    Source: Managed Lustre documentation, "Increase the capacity of a Managed Lustre instance": capacity cannot be
    decreased.

    Mend: put the capacity back, or move the data to a new, smaller instance.
    """
    for change in updates(plans, "google_lustre_instance"):
        was, becomes = (values.number(values.get(side, "capacity_gib")) for side in (change.before, change.after))
        if was and becomes and becomes < was:
            yield Breach(
                change.stack,
                change.address,
                f"Lustre instance {change.label} is to shrink: capacity_gib {was:,} -> {becomes:,}",
                "put the capacity back, or copy the data to a new, smaller instance",
                "Google refuses it, so the apply fails; nothing is lost, nothing is saved",
                arguments=("capacity_gib",),
            )


@plan_rule("lustre-grows", Severity.WARNING, Category.CAPACITY)
def lustre_grows(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A Lustre instance grows, in place and for good: it never shrinks again, and is paid for at its new size.

    Source: Managed Lustre documentation, "Increase the capacity of a Managed Lustre instance", and its pricing, by
    capacity.

    Mend: none, when the space is needed.
    """
    for change in updates(plans, "google_lustre_instance"):
        was, becomes = (values.number(values.get(side, "capacity_gib")) for side in (change.before, change.after))
        if was and becomes and becomes > was:
            yield Breach(
                change.stack,
                change.address,
                f"Lustre instance {change.label} grows: capacity_gib {was:,} -> {becomes:,}",
                "make sure that the space is needed",
                f"no data is lost; it can never shrink again; {capacity.tebibytes(becomes - was)} more are paid for",
                arguments=("capacity_gib",),
            )


@plan_rule("machine-type-in-place", Severity.ERROR, Category.CAPACITY)
def machine_type_in_place(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A node pool's machine type changes in place: the apply may succeed and leave the nodes as they are.

    Source: terraform-provider-google#23502.

    Mend: a new pool under a new name; groundplan derives pool names from the machine type.
    """
    for change in updates(plans, "google_container_node_pool"):
        was, becomes = (values.text(side, "node_config.machine_type") for side in (change.before, change.after))
        if was and becomes and was != becomes:
            yield Breach(
                change.stack,
                change.address,
                f"pool {change.label} changes node_config.machine_type {was} -> {becomes} in place",
                "make a new pool under a new name, then remove this one",
                "the apply may succeed and change no node (terraform-provider-google#23502)",
                arguments=("node_config.machine_type",),
            )


@plan_rule("gpu-capacity-grows", Severity.WARNING, Category.CAPACITY)
def gpu_capacity_grows(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A GPU pool gets more nodes, or a site one GPU pool more: its source must have the machines, and they cost.

    A first creation is not judged here: it is the whole profile.

    Source: Compute Engine API, reservations, `specificReservation.count` and `inUseCount`; that no plan shows whether
    the machines are there is why groundplan asks.

    Mend: none, when the reservation holds so many machines.
    """
    yield from _made(plans)
    for change, was, becomes in _resized(plans):
        if becomes.most > was.most and becomes.gpu:
            hours = (becomes.gpus - was.gpus) * capacity.HOURS_PER_MONTH
            source = becomes.reservation
            yield Breach(
                change.stack,
                change.address,
                f"GPU pool {change.label} grows from {_size(was, becomes)}: {was.gpus:,} -> {gpus_of(becomes)}",
                f"make sure that {source} holds {count(becomes.most, 'machine')}",
                f"{hours:+,} GPU-hours a month; no running node is touched; the apply waits for machines of {source}",
                arguments=SIZE,
            )


def _made(plans: Sequence[Plan]) -> Iterator[Breach]:
    """GPU pools that a stack which stands gets beside what it has; not those that take another's place."""
    for plan in plans:
        stands = bool(plan.standing) or any(each.before for each in plan.changes)
        gone = sum(_gpus_of(each.before, each) for each in plan.changes if each.action is Action.DESTROY)
        made = [each for each in plan.changes if each.action is Action.CREATE and _gpus_of(each.after, each)]
        if not stands or sum(_gpus_of(each.after, each) for each in made) <= gone:
            continue
        for change in made:
            pool = capacity.pool(Resource(change.stack, change.address, change.type, change.after))
            yield Breach(
                change.stack,
                change.address,
                f"GPU pool {change.label} is made, of {pool.nodes} nodes with {gpus_of(pool)}",
                f"make sure that {pool.reservation} holds {count(pool.most, 'machine')} more",
                f"{pool.gpus * capacity.HOURS_PER_MONTH:+,} GPU-hours a month; the apply waits for machines of "
                f"{pool.reservation}",
            )


def _gpus_of(side: dict[str, Any], change: Change) -> int:
    if change.type != "google_container_node_pool":
        return 0
    pool = capacity.pool(Resource(change.stack, change.address, change.type, side))
    return pool.gpus if pool.gpu else 0


@plan_rule("capacity-shrinks", Severity.WARNING, Category.CAPACITY)
def capacity_shrinks(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A pool gets fewer nodes: GKE chooses which, and pods on them are lost.

    Source: gcloud reference, `container clusters resize`: the instances to remove are picked at random, pods or not.

    Mend: end the job first, or wait until it has ended.
    """
    for change, was, becomes in _resized(plans):
        if becomes.most < was.most:
            lost = gpus_of(_difference(was, becomes)) if was.gpu else "the pods on them"
            yield Breach(
                change.stack,
                change.address,
                f"pool {change.label} shrinks from {_size(was, becomes)}",
                "end the running job first",
                f"{count(was.most - becomes.most, 'node')} drained, {lost} gone; a RayJob running there is lost",
                arguments=SIZE,
            )


def _size(was: capacity.Pool, becomes: capacity.Pool) -> str:
    """``2 to 16 nodes``; of autoscaled pools ``0-2 to 0-6 nodes``."""
    ends = [f"{each.least:,}-{each.most:,}" if each.least != each.most else f"{each.most:,}" for each in (was, becomes)]
    return f"{ends[0]} to {ends[1]} {'node' if ends[1] == '1' else 'nodes'}"


def _resized(plans: Sequence[Plan]) -> Iterator[tuple[Change, capacity.Pool, capacity.Pool]]:
    for change in updates(plans, "google_container_node_pool"):
        was, becomes = (
            capacity.pool(Resource(change.stack, change.address, change.type, side))
            for side in (change.before, change.after)
        )
        if not values.unknown_at(change.unknown, "node_count"):
            yield change, was, becomes


def _difference(was: capacity.Pool, becomes: capacity.Pool) -> capacity.Pool:
    lost = was.most - becomes.most
    return capacity.Pool(was.resource, was.machine_type, lost, lost, was.gpu, was.gpus_per_node, was.reservation)


@plan_rule("nodes-recreated", Severity.WARNING, Category.DISTURB)
def nodes_recreated(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A change runs in place for Terraform, but GKE recreates the nodes of the pool for it.

    Source: GKE documentation, "Node upgrades": image, disk, kubelet, sysctl and version changes.

    Mend: end the running job first, or choose the time.
    """
    arguments = (
        "node_config.image_type", "node_config.disk_size_gb", "node_config.disk_type", "node_config.kubelet_config",
        "node_config.linux_node_config", "node_config.boot_disk", "node_config.gvnic", "node_config.logging_variant",
        "node_config.workload_metadata_config", "version",
    )  # fmt: skip
    for change in updates(plans, "google_container_node_pool"):
        changed = [
            path
            for path in arguments
            if not values.unknown_at(change.unknown, path)
            and values.get(change.after, path) is not None
            and values.get(change.before, path) != values.get(change.after, path)
        ]
        if changed:
            pool = capacity.pool(Resource(change.stack, change.address, change.type, change.before))
            what = gpus_of(pool) if pool.gpu else "the pods on them"
            yield Breach(
                change.stack,
                change.address,
                f"pool {change.label} changes {display.listed(_with_values(change, changed))}",
                "end the running job first, or choose the time",
                f"GKE recreates its {pool.nodes} nodes one by one; {what} gone meanwhile, a running RayJob is lost",
                arguments=tuple(changed),
            )


def _with_values(change: Change, paths: list[str]) -> list[str]:
    return [
        f"{path} {display.show(values.get(change.before, path), width=40)} -> "
        f"{display.show(values.get(change.after, path), width=40)}"
        for path in paths
    ]


@plan_rule("crd-upgrade", Severity.WARNING, Category.DISTURB)
def crd_upgrade(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A chart that keeps CRDs changes its version, and Helm never upgrades CRDs.

    The new operator then meets the old definitions, which drop the fields they do not know without a word.

    Source: Helm documentation, chart best practices, "Custom Resource Definitions"; terraform-provider-helm#944.

    Mend: apply the CRDs of exactly the new version, server-side, before the plan.
    """
    for change in updates(plans, "helm_release"):
        chart = values.last_part(values.text(change.after, "chart"))
        was, becomes = values.text(change.before, "version"), values.text(change.after, "version")
        if was == becomes or not was or not becomes or not ("kuberay" in chart or chart == "kueue"):
            continue
        if _older(becomes, was):
            yield Breach(
                change.stack,
                change.address,
                f"{chart} goes back from {was} to {becomes}, and its CRDs stay at {was}: Helm never changes them",
                f"make sure that no object uses what only {was} knows, and that {becomes} reads the CRDs of {was}",
                f"the operator restarts; what only {was} knows is not done any more",
                arguments=("version", *(["values"] if _tags_alone(change, becomes) else [])),
            )
            continue
        repository = values.text(change.after, "repository") or "REPOSITORY"
        pull = f"helm pull {chart} --repo {repository} --version {becomes} --untar"
        yield Breach(
            change.stack,
            change.address,
            f"{chart} goes from {was} to {becomes}, and its CRDs stay at {was}: Helm never upgrades them",
            f"before the apply: {pull}; kubectl apply --server-side --force-conflicts -f {chart}/crds",
            f"the operator restarts; fields that only {becomes} knows are dropped until its CRDs are applied",
            arguments=("version", *(["values"] if _tags_alone(change, becomes) else [])),
        )


def _older(one: str, other: str) -> bool:
    """Whether a version is below another, by its numbers."""
    numbers = [[int(each) for each in re.findall(r"\d+", text.partition("-")[0])] for text in (one, other)]
    return numbers[0] < numbers[1]


def _tags_alone(change: Change, version: str) -> bool:
    """Whether of the chart's values only the image's tag changes, to that of the version."""
    settings = [each for each in display.differences(change) if each.path.startswith("values")]
    return all(each.path.endswith("image.tag") and each.new.strip('"v') == version for each in settings)


@plan_rule("job-restarts", Severity.WARNING, Category.DISTURB)
def job_restarts(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A RayJob changes: the one that runs is deleted with its Ray cluster, and a new one starts.

    Source: groundplan's own naming: a job's name ends in a hash of what it runs, so that another job is another RayJob;
    ray-project/kuberay, rayjob_controller.go (changes of `rayClusterSpec` are disregarded).

    Mend: wait until it has ended, when it must not be lost.
    """
    for change in updates(plans, "helm_release"):
        texts = [values.texts(side, "values") for side in (change.before, change.after)]
        if [helm_values.parse(text) for text in texts[0]] == [helm_values.parse(text) for text in texts[1]]:
            continue  # no object changes
        was, becomes = ray.ray_work(change.before), ray.ray_work(change.after)
        if not was and not becomes:
            continue
        settings = [d for d in display.differences(change) if d.path.startswith("values") and d.path != "values.name"]
        what = "; ".join(_short(each) for each in settings[:2]) + (
            f" (and {len(settings) - 2} more)" if len(settings) > 2 else ""
        )
        yield Breach(
            change.stack,
            change.address,
            f"the job changes: {what or 'its name'}",
            "wait until the running job has ended, or make sure that it saved a checkpoint",
            _job_consequence(was, becomes),
            arguments=("values",),
        )


def _short(difference: display.Difference) -> str:
    """The last part of the path is enough: ``train.sh: a=1 -> a=2``."""
    path = difference.path.rpartition(".data.")[2].removeprefix("values.manifests.")
    return str(display.Difference(display.cut(path, 60), difference.old, difference.new))


def _job_consequence(was: tuple[ray.RayWork, ...], becomes: tuple[ray.RayWork, ...]) -> str:
    old, new = {each.name: each for each in was}, {each.name: each for each in becomes}
    parts = []
    gone = [f"{each.kind} {name}" for name, each in old.items() if name not in new]
    if gone:
        parts.append(f"{', '.join(gone)} is deleted; if it still runs, it is lost")
    kept = [f"{each.kind} {name}" for name, each in new.items() if name in old and each != old[name]]
    if kept:
        parts.append(f"{', '.join(kept)} changes under the same name; KubeRay does not run a started job again")
    for name, each in new.items():
        if name not in old:
            parts.append(f"{each.kind} {name} starts on {count(each.workers, 'worker')} with {count(each.gpus, 'GPU')}")
    return "; ".join(parts) or "what belongs to the job changes; the RayJob itself stays"
