"""Policies on pools, networks and Lustre that `check` has for profiles, here for JSON that anybody may have written.

Each carries the slug of its twin; what Google refuses an hour into the apply is refused here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from findings import Severity
from groundplan.catalog import load_catalog
from groundplan.kernel.node_pools import (
    auto_upgrade_trouble,
    has_two_counts,
    is_no_range,
    lacks_reservation,
    no_placement_because,
)
from groundplan.kernel.roce import ROCE_MTU, is_outside, is_roce_profile, zone_of_profile
from groundplan.on_plans import capacity
from plan_review import values
from plan_review.judgement import Breach, Category, plan_rule
from plan_review.model import Resource, Resources


def _refused(
    each: Resource, message: str, hint: str, consequence: str = "Google refuses it during the apply"
) -> Breach:
    return Breach(each.stack, each.address, message, hint, consequence)


def _pools(resources: Resources) -> Iterator[Resource]:
    yield from resources.of("google_container_node_pool")


def _is_specific(pool: Resource) -> bool:
    """Whether the machines come from a reservation by name."""
    return pool.text("node_config.reservation_affinity.consume_reservation_type") == "SPECIFIC_RESERVATION"


def _is_queued(pool: Resource) -> bool:
    return pool.flag("queued_provisioning.enabled") is True


@plan_rule("node-count-mode", Severity.ERROR, Category.REFUSED, on="resources")
def node_count_mode(resources: Resources) -> Iterator[Breach]:
    """A pool has both a fixed number of nodes and autoscaling, or an autoscaling range that is none.

    Source: Terraform provider documentation, google_container_node_pool, `node_count` (not beside `autoscaling`) and
    `autoscaling`; terraform-provider-google#6901.

    Mend: set one of `node_count` and `autoscaling`, with the fewest at most the most.
    """
    for each in _pools(resources):
        scaling = each.blocks("autoscaling")
        # Of a pool that exists (`id`) a plan cannot tell: `node_count` is then what the state saw, asked for or not.
        if not each.get("id") and has_two_counts(values.number(each.get("node_count")), bool(scaling)):
            yield _refused(
                each,
                f"pool {each.name} has node_count {each.get('node_count')} and autoscaling",
                "leave one of the two out",
                "Terraform and the autoscaler undo each other's work with every plan",
            )
        for prefix in ("", "total_"):
            least, most = (values.number(each.get(f"autoscaling.{prefix}{end}_node_count")) for end in ("min", "max"))
            if least is not None and most is not None and is_no_range(least, most):
                message = f"pool {each.name}: {prefix}min_node_count {least} is above {prefix}max_node_count {most}"
                yield _refused(each, message, f"set {prefix}max_node_count to {least} or more")


@plan_rule("auto-upgrade-channel", Severity.ERROR, Category.REFUSED, on="resources")
def auto_upgrade_channel(resources: Resources) -> Iterator[Breach]:
    """Auto-upgrade is off in a cluster with a release channel; a warning for a queued pool.

    Source: GKE API, NodeManagement; GKE documentation, "Release channels".

    Mend: leave it on, and hold upgrades back by a maintenance exclusion.
    """
    channels = {each.name: each.text("release_channel.channel") for each in resources.of("google_container_cluster")}
    for each in _pools(resources):
        # A plan without the pool's cluster does not know the channel, and a profile always does.
        channel = channels.get(values.last_part(each.text("cluster")), "")
        severity = auto_upgrade_trouble(each.flag("management.auto_upgrade"), channel, queued=_is_queued(each))
        if severity:
            hint = "leave it on, and use a maintenance exclusion"
            breach = _refused(each, f"pool {each.name} has auto_upgrade off in the {channel} channel", hint)
            yield replace(breach, severity=severity)


@plan_rule("placement-conflict", Severity.ERROR, Category.REFUSED, on="resources")
def placement_conflict(resources: Resources) -> Iterator[Breach]:
    """A compact placement policy stands beside a specific reservation, which brings its own, or queued provisioning.

    Source: GoogleCloudPlatform/cluster-toolkit, gke-node-pool preconditions; AI-Hypercomputer/xpk#476; GKE
    documentation, "Compact placement".

    Mend: leave `placement_policy` out.
    """
    for each in _pools(resources):
        why = no_placement_because(specific=_is_specific(each), queued=_is_queued(each))
        if each.text("placement_policy.type") == "COMPACT" and why:
            yield _refused(each, f"pool {each.name} has COMPACT placement: {why}", "leave placement_policy out")


@plan_rule("reservation-missing", Severity.ERROR, Category.REFUSED, on="resources")
def reservation_missing(resources: Resources) -> Iterator[Breach]:
    """A pool takes its machines from a specific reservation, and names none.

    Source: GKE API, ReservationAffinity; GoogleCloudPlatform/magic-modules#14357.

    Mend: the reservation's name in `values`.
    """
    for each in _pools(resources):
        path = "node_config.reservation_affinity.values"
        if lacks_reservation(_is_specific(each), each.texts(path)) and not each.is_unknown(path):
            yield _refused(each, f"pool {each.name} names no reservation for SPECIFIC_RESERVATION", "name it in values")


@plan_rule("accelerator-machine", Severity.ERROR, Category.REFUSED, on="resources")
def accelerator_machine(resources: Resources) -> Iterator[Breach]:
    """The accelerator is not the one that the machine type has, or not as many.

    Source: catalog machines (`groundplan catalog machines`); Compute Engine, "Accelerator-optimized machine family".

    Mend: what the machine type has.
    """
    for each in _pools(resources):
        known = capacity.machine(each.text("node_config.machine_type"))
        for block in each.blocks("node_config.guest_accelerator"):
            kind, amount = values.text(block, "type"), values.number(block.get("count"))
            if known and known.gpu and kind and not known.has_accelerator(kind, amount):
                has = f"{known.gpu.count} x {known.gpu.accelerator}"
                yield _refused(
                    each, f"pool {each.name} asks for {amount} x {kind}; {known.name} has {has}", f"use {has}"
                )


@plan_rule("local-ssds", Severity.ERROR, Category.REFUSED, on="resources")
def local_ssds(resources: Resources) -> Iterator[Breach]:
    """The number of local SSDs is neither the machine type's nor 0.

    Source: catalog machines, `local_ssds`; GKE, "Local SSD", third-generation machine series.

    Mend: as many as the machine type has, or none.
    """
    for each in _pools(resources):
        known = capacity.machine(each.text("node_config.machine_type"))
        amount = values.number(each.get("node_config.ephemeral_storage_local_ssd_config.local_ssd_count"))
        if known and known.gpu and amount is not None and not known.takes_local_ssds(amount):
            message = f"pool {each.name} asks for {amount} local SSDs; {known.name} has {known.local_ssds}"
            yield _refused(each, message, f"use {known.local_ssds}")


@plan_rule("gpu-disk-type", Severity.ERROR, Category.REFUSED, on="resources")
def gpu_disk_type(resources: Resources) -> Iterator[Breach]:
    """A pool's machine type does not take its boot disk type.

    Source: catalog machines, `boot_disks`; Compute Engine, "Accelerator-optimized machine family".

    Mend: a type that the machine takes.
    """
    for each in _pools(resources):
        known = capacity.machine(each.text("node_config.machine_type"))
        disk = each.text("node_config.disk_type")
        if known and disk and not known.boots_from(disk):
            message = f"pool {each.name} has boot disk {disk}; {known.name} takes {', '.join(known.boot_disks)}"
            yield _refused(each, message, f"use {known.boot_disks[0]}")


@plan_rule("roce-mtu", Severity.ERROR, Category.REFUSED, on="resources")
def roce_mtu(resources: Resources) -> Iterator[Breach]:
    """A RoCE network's MTU is not 8896.

    Source: VPC documentation, "RDMA network profiles"; GoogleCloudPlatform/cluster-toolkit,
    modules/network/gpu-rdma-vpc.

    Mend: set the network's `mtu` to 8896.
    """
    for each in resources.of("google_compute_network"):
        mtu = values.number(each.get("mtu"))
        if is_roce_profile(each.text("network_profile")) and mtu and mtu != ROCE_MTU:
            message = f"RoCE network {each.name} has MTU {mtu}"
            yield _refused(each, message, f"use {ROCE_MTU}", "RDMA traffic is slow or fails")


@plan_rule("roce-zone", Severity.ERROR, Category.REFUSED, on="resources")
def roce_zone(resources: Resources) -> Iterator[Breach]:
    """A GPU pool stands in another zone than the RoCE network that its NICs are in.

    Source: VPC documentation, "RDMA network profiles": a profile is one zone's.

    Mend: the zone of the network's profile.
    """
    # What is judged is what the plans make: the profile of an existing network is in none. A pool in another region is
    # named here too; `check` has pool-zone-region for it.
    profiles = {each.name: each.text("network_profile") for each in resources.of("google_compute_network")}
    for each in _pools(resources):
        nets = {
            values.last_part(block.get("network"))
            for block in each.blocks("network_config.additional_node_network_configs")
        }
        places = each.texts("node_locations")
        for net in sorted(nets & set(profiles)):
            if is_outside(places, profiles[net]):
                zone = zone_of_profile(profiles[net])
                message = f"pool {each.name} stands in {', '.join(places)}, its RoCE network {net} in {zone}"
                yield _refused(each, message, f"put the pool in {zone}")


@plan_rule("lustre-capacity-least", Severity.ERROR, Category.REFUSED, on="resources")
def lustre_capacity_least(resources: Resources) -> Iterator[Breach]:
    """A Lustre instance is smaller than the least of its tier.

    Source: catalog tiers (`groundplan catalog tiers`); Managed Lustre documentation, "Performance tiers".

    Mend: the least, or a tier of more throughput.
    """
    tiers = load_catalog().tiers
    for each in resources.of("google_lustre_instance"):
        tier = tiers.get(values.number(each.get("per_unit_storage_throughput")) or 0)
        size = values.number(each.get("capacity_gib"))
        if tier and size is not None and tier.is_below_least(size):
            message = f"Lustre {each.name} has {size:,} GiB; {tier.throughput} MB/s per TiB needs {tier.min:,}"
            yield _refused(each, message, f"use {tier.min}")


@plan_rule("lustre-throughput", Severity.ERROR, Category.REFUSED, on="resources")
def lustre_throughput(resources: Resources) -> Iterator[Breach]:
    """The throughput is no tier of Managed Lustre.

    Source: catalog tiers (`groundplan catalog tiers`); Managed Lustre documentation, "Performance tiers".

    Mend: set a throughput that is one of the tiers.
    """
    catalog = load_catalog()  # the shipped one: a plan does not say which catalog files its profile had
    for each in resources.of("google_lustre_instance"):
        rate = values.number(each.get("per_unit_storage_throughput"))
        if rate is not None and not catalog.has_tier(rate):
            known = ", ".join(str(tier) for tier in sorted(catalog.tiers))
            yield _refused(
                each, f"Lustre {each.name} has throughput {rate}; the tiers are {known}", f"use one of {known}"
            )
