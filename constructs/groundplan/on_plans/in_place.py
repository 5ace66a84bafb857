"""Rules on what Terraform changes in place and Google makes more of: upgrades, channels, MTU, ranges in use, zones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from findings import Severity
from groundplan.on_plans import capacity
from groundplan.on_plans.consequences import gpus_of
from plan_review import display, values
from plan_review.display import count
from plan_review.judgement import Breach, Category, plan_rule
from plan_review.model import Change, Plan, Resource, updates

_CLUSTER, _POOL = "google_container_cluster", "google_container_node_pool"


def _minor(version: str) -> tuple[int, ...]:
    """``1.35.2-gke.100`` -> (1, 35); empty for a word such as `latest`."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return tuple(int(each) for each in found.groups()) if found else ()


@plan_rule("control-plane-upgrade", Severity.WARNING, Category.DISTURB)
def control_plane_upgrade(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A cluster's least version rises above what its control plane runs: it is upgraded, and never comes back.

    Source: GKE documentation, "Upgrading clusters": control planes cannot be downgraded to a lower minor version;
    Terraform provider documentation, google_container_cluster, `min_master_version`.

    Mend: none, when the time is right; else the version that runs.
    """
    for change in updates(plans, _CLUSTER):
        least, was = (values.text(side, "min_master_version") for side in (change.after, change.before))
        runs = values.text(change.before, "master_version") or was
        if not least or least == was or runs == least or runs.startswith((f"{least}.", f"{least}-")):
            continue
        known = _minor(least) and _minor(runs)
        if known and _minor(least) < _minor(runs):
            what, then = "is asked to go back", "Google refuses to go back by a minor version"
        else:
            what = "is upgraded"
            then = "it starts with the apply and cannot be undone; nodes follow in their own time"
        yield Breach(
            change.stack,
            change.address,
            f"the control plane of cluster {change.label} {what}: {runs or 'its version'} -> {least}",
            "make sure that charts and jobs are ready for the version",
            then,
            arguments=("min_master_version",),
        )


@plan_rule("release-channel", Severity.WARNING, Category.DISTURB)
def release_channel(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A cluster changes its release channel: the next upgrades go to that channel's versions.

    Source: GKE documentation, "Release channels": clusters are upgraded to the versions of their channel by themselves;
    moving to a channel whose versions are older waits until they catch up.

    Mend: none, when the channel's versions are wanted; a maintenance exclusion holds them back.
    """
    for change in updates(plans, _CLUSTER):
        was, becomes = (values.text(side, "release_channel.channel") for side in (change.before, change.after))
        if was != becomes:
            yield Breach(
                change.stack,
                change.address,
                f"cluster {change.label} changes its release channel: {was or '(none)'} -> {becomes or '(none)'}",
                "hold upgrades back by a maintenance exclusion while a job runs",
                "GKE upgrades control plane and nodes to that channel's versions in the next maintenance window; "
                "an upgrade cannot be undone",
                arguments=("release_channel",),
            )


@plan_rule("network-mtu", Severity.WARNING, Category.DISTURB)
def network_mtu(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A network's MTU changes while machines run in it: those keep the old one until they are stopped.

    Source: VPC documentation, "Maximum transmission unit", "Change the MTU of a network": stop all running VMs first.

    Mend: change it while nothing runs in the network, and restart what does.
    """
    for change in updates(plans, "google_compute_network"):
        was, becomes = (values.number(values.get(side, "mtu")) for side in (change.before, change.after))
        if was != becomes and not values.unknown_at(change.unknown, "mtu"):
            yield Breach(
                change.stack,
                change.address,
                f"network {change.label} changes its MTU: {was} -> {becomes}",
                "change it while nothing runs in the network, then start all machines anew",
                "machines that run keep the old MTU until they are stopped, new nodes have the new one: packets "
                "between them are dropped or cut, under training and Lustre too",
                arguments=("mtu",),
            )


@plan_rule("range-in-use", Severity.ERROR, Category.REFUSED)
def range_in_use(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A secondary range of a subnetwork is changed or taken away while a cluster has its pods or services in it.

    An error where a cluster of these plans uses it; a warning where none is in them.

    Source: VPC documentation, "Edit secondary ranges": a range that is in use cannot be deleted; GKE documentation,
    "VPC-native clusters": the ranges of pods and services stay for the life of the cluster.

    Mend: put the range back; more pods take a further range (`additional_pod_ranges_config`), other ranges a new
    cluster.
    """
    used = {
        values.text(change.before, f"ip_allocation_policy.{kind}_secondary_range_name"): change
        for plan in plans
        for change in plan.changes
        if change.type == _CLUSTER and change.before
        for kind in ("cluster", "services")
    }
    for change in updates(plans, "google_compute_subnetwork"):
        old, new = _ranges(change.before), _ranges(change.after)
        for name, cidr in old.items():
            if new.get(name) == cidr or values.unknown_at(change.unknown, "secondary_ip_range"):
                continue
            by = used.get(name)
            who = f"while cluster {by.label} uses it" if by else "while a cluster uses it"
            becomes = f"{cidr} -> {new[name]}" if name in new else f"{cidr} removed"
            yield Breach(
                change.stack,
                change.address,
                f"subnetwork {change.label} changes its range {name}: {becomes}",
                "put the range back, or make a new cluster in new ranges",
                f"Google will refuse it {who}: the apply fails",
                Severity.ERROR if by else Severity.WARNING,
                arguments=("secondary_ip_range",),
            )


def _ranges(side: dict[str, object]) -> dict[str, str]:
    found = values.blocks(side, "secondary_ip_range")
    return {values.text(each, "range_name"): values.text(each, "ip_cidr_range") for each in found}


@plan_rule("pool-zones", Severity.WARNING, Category.CAPACITY)
def pool_zones(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A pool's zones change: nodes in a zone that goes are deleted, nodes in a zone that comes are made.

    Source: Terraform provider documentation, google_container_node_pool, `node_locations`; GKE API,
    nodePools.update, `locations`: changing it adds or removes the nodes of those zones.

    Mend: end the running job first, or choose the time.
    """
    for change in updates(plans, _POOL):
        was, becomes = (values.texts(side, "node_locations") for side in (change.before, change.after))
        gone, come = sorted({*was} - {*becomes}), sorted({*becomes} - {*was})
        if not (gone or come) or not becomes or values.unknown_at(change.unknown, "node_locations"):
            continue
        pool = _pool(change, change.before)
        lost = gpus_of(pool) if pool.gpu and len(was) == 1 else "the pods on them"
        less = f"its nodes in {', '.join(gone)} are drained and deleted, {lost} gone: a running RayJob is lost"
        more = f"nodes come in {', '.join(come)}"
        yield Breach(
            change.stack,
            change.address,
            f"pool {change.label} changes its zones: {', '.join(was) or '(none)'} -> {', '.join(becomes)}",
            "end the running job first, or choose the time",
            "; ".join([*([less] if gone else []), *([more] if come else [])]),
            arguments=("node_locations",),
        )


@plan_rule("autoscaling-off", Severity.WARNING, Category.CAPACITY)
def autoscaling_off(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A pool that was autoscaled gets a fixed number of nodes: nodes start, or running ones go, until it has them.

    Source: GKE API, nodePools.setAutoscaling and setSize; google provider 7.45.0, recorded: the update turns
    autoscaling off and sets the size.

    Mend: the number of nodes that run now.
    """
    for change in updates(plans, _POOL):
        if not values.blocks(change.before, "autoscaling") or values.blocks(change.after, "autoscaling"):
            continue
        was, becomes = _pool(change, change.before), _pool(change, change.after)
        runs = values.number(values.get(change.before, "node_count"))
        now = f", {runs} now in each zone" if runs is not None else ""
        kind = f" ({gpus_of(becomes)})" if becomes.gpu else ""
        nodes = count(becomes.most, "node")
        yield Breach(
            change.stack,
            change.address,
            f"pool {change.label} is no longer autoscaled: {was.nodes} nodes{now} -> {nodes}",
            "set the number of nodes that run now",
            f"nodes start, or running ones are drained and deleted, until it has {nodes}{kind}",
            arguments=("autoscaling", "node_count", "initial_node_count"),
        )


def _pool(change: Change, side: dict[str, object]) -> capacity.Pool:
    return capacity.pool(Resource(change.stack, change.address, change.type, side))


@plan_rule("node-taints", Severity.WARNING, Category.DISTURB)
def node_taints(plans: Sequence[Plan]) -> Iterator[Breach]:
    """The taints of a pool's nodes change: pods that do not tolerate them are not placed there any more, or put off.

    Source: Kubernetes documentation, "Taints and Tolerations": NoExecute evicts running pods, NoSchedule keeps new ones
    away; GKE documentation, "Isolate workloads with node taints".

    Mend: tolerations on the pods that should run there.
    """
    for change in updates(plans, _POOL):
        was, becomes = _taints(change.before), _taints(change.after)
        added, gone = ([each for each in one if each not in other] for one, other in ((becomes, was), (was, becomes)))
        if added or gone:
            told = [*(f"{each} added" for each in added), *(f"{each} removed" for each in gone)]
            evicts = any("EXECUTE" in each for each in added)
            then = (
                "running pods that do not tolerate it are evicted"
                if evicts
                else "new pods must tolerate it, running ones stay"
            )
            yield Breach(
                change.stack,
                change.address,
                f"the taints of pool {change.label} change: {display.listed(told)}",
                "give the pods that should run there a toleration",
                then if added else "pods that were kept away may be placed there",
                arguments=("node_config.taint",),
            )


def _taints(side: dict[str, object]) -> list[str]:
    """``key=value:EFFECT`` of each."""
    return [
        f"{values.text(each, 'key')}={values.text(each, 'value')}:{values.text(each, 'effect')}"
        for each in values.blocks(side, "node_config.taint")
    ]
