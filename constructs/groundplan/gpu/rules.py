"""What can be wrong with the fabric and the GPU pools: machine, place, networks."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, Severity, rule
from groundplan.gpu.fabric_values import NicNetwork
from groundplan.gpu.values import PoolValues
from groundplan.kernel.gke import GPU_TAINT, region_of
from groundplan.kernel.roce import ROCE_PROFILE, is_outside, zone_of_profile
from groundplan.site.resolve import Site


def pool_path(pool: PoolValues, *keys: str) -> ProfilePath:
    """A place in a pool of the profile."""
    return ("gpu", "pools", pool.index, *keys)


@rule("accelerator-machine")
def accelerator_machine(site: Site) -> Iterator[Problem]:
    """The accelerator named is not the one that the machine type has.

    GKE refuses the pair; worse, selectors and the NCCL tuner would follow the wrong one.

    Source: catalog machines; Compute Engine, "Accelerator-optimized machine family".

    Mend: leave `accelerator` out: the machine type decides it.
    """
    for pool in site.pools:
        gpu = pool.machine.gpu if pool.machine else None
        if gpu and pool.machine and not pool.machine.has_accelerator(pool.accelerator):
            yield Problem(
                pool_path(pool, "accelerator"),
                f"`gpu.pools[{pool.index}].accelerator` {pool.accelerator} is not what {pool.spec.machine_type} has, "
                f"{gpu.accelerator}",
                "leave `accelerator` out",
            )


@rule("gpu-disk-type")
def gpu_disk_type(site: Site) -> Iterator[Problem]:
    """A GPU pool's machine type does not take its boot disk type.

    A4 and A3 Ultra boot from Hyperdisk Balanced alone.

    Source: catalog machines, `boot_disks`.

    Mend: leave `boot_disk.type` out.
    """
    for pool in site.pools:
        machine = pool.machine
        if machine and machine.gpu and not machine.boots_from(pool.boot_disk_type):
            yield Problem(
                pool_path(pool, "boot_disk", "type"),
                f"`gpu.pools[{pool.index}].boot_disk.type` {pool.boot_disk_type} cannot boot {pool.spec.machine_type}",
                f"leave it out, or use {' or '.join(machine.boot_disks)}",
            )


@rule("local-ssds")
def local_ssds(site: Site) -> Iterator[Problem]:
    """The number of local SSDs is not the machine type's.

    Local SSDs come with the machine: all of them, or (0) none for ephemeral storage. Another number is refused by the
    API.

    Source: catalog machines, `local_ssds`; GKE, "Local SSD", third-generation machine series.

    Mend: leave `local_ssds` out.
    """
    for pool in site.pools:
        if pool.machine and pool.machine.gpu and not pool.machine.takes_local_ssds(pool.local_ssds):
            yield Problem(
                pool_path(pool, "local_ssds"),
                f"`gpu.pools[{pool.index}].local_ssds` {pool.local_ssds}: {pool.spec.machine_type} has "
                f"{pool.machine.local_ssds}, all or none",
                f"leave it out (all {pool.machine.local_ssds}), or set 0",
            )


@rule("zone-region")
def zone_region(site: Site) -> Iterator[Problem]:
    """The region is not that of the zone.

    Cluster and subnetworks stand in the region, nodes in the zone; when only one of the two is edited, the pool fails
    after everything else was made.

    Source: cluster-toolkit, docs/blueprint-validation.md (test_zone_in_region).

    Mend: leave `region` out: it follows from the zone.
    """
    region = region_of(site.profile.zone)
    if site.region != region:
        yield Problem(
            ("region",),
            f"`region` {site.region} is not the region of `zone` {site.zone}, {region}",
            "leave `region` out, or correct the zone",
        )


@rule("pool-zone-region")
def pool_zone_region(site: Site) -> Iterator[Problem]:
    """A GPU pool's zone is in another region than the cluster.

    Source: Terraform provider documentation, google_container_node_pool, `node_locations`: zones of the cluster's
    region.

    Mend: a zone of the cluster's region; leave `zone` out for the site's own.
    """
    for pool in site.pools:
        if in_other_region(site, pool):
            yield Problem(
                pool_path(pool, "zone"),
                f"`gpu.pools[{pool.index}].zone` {pool.zone} is not in the cluster's region {site.region}",
                "leave `zone` out, or make a site of its own for the other region",
            )


def in_other_region(site: Site, pool: PoolValues) -> bool:
    """Whether a pool names a zone outside the cluster's region."""
    return pool.spec.zone is not None and region_of(pool.zone) != site.region


def apart_from_roce(site: Site) -> Iterator[tuple[PoolValues, str]]:
    """The pools outside the zone of the RoCE network that they use, and what says so; one in another region is
    pool-zone-region's."""
    for fabric in site.fabrics:
        pools = [pool for pool in site.pools if site.fabric_of(pool) is fabric and not in_other_region(site, pool)]
        for network in fabric.networks:
            known = not network.exists or "network_profile" in site.profile.gpu.rdma.model_fields_set
            if network.kind == "rdma":
                yield from _apart(pools, network, known)


def _apart(pools: list[PoolValues], network: NicNetwork, known: bool) -> Iterator[tuple[PoolValues, str]]:
    pools = [pool for pool in pools if pool.own_nics[1]]
    profile = network.network_profile if known or not pools else pools[0].zone + ROCE_PROFILE
    zone = zone_of_profile(profile)
    where = f"the RoCE network {network.name} is of zone {zone}" if known else f"another pool stands in {zone}"
    return ((pool, where) for pool in pools if is_outside([pool.zone], profile))


@rule("taint-repeated")
def taint_repeated(site: Site) -> Iterator[Problem]:
    """A taint stands twice on a pool, once perhaps by GKE itself.

    GKE puts nvidia.com/gpu=present:NoSchedule on GPU nodes, and groundplan writes it out; the API refuses two taints of
    one key and effect.

    Source: Kubernetes API, node taints; GKE, "About GPUs".

    Mend: remove the second of the two taints.
    """
    for pool in site.pools:
        seen = {(GPU_TAINT, "NO_SCHEDULE")}
        for index, taint in enumerate(pool.spec.taints):
            if (taint.key, taint.effect) in seen:
                path = ("gpu", "pools", pool.index, "taints", index)
                own = " by GKE" if taint.key == GPU_TAINT else ""
                yield Problem(path, f"the taint {taint.key}:{taint.effect} is there already{own}", "remove it")
            seen.add((taint.key, taint.effect))


@rule("zone-apart", Severity.WARNING)
def zone_apart(site: Site) -> Iterator[Problem]:
    """GPU nodes and the site's zone are apart.

    The CPU pool with the Ray head, and by default Lustre, stand in the site's zone. Traffic between zones is slower and
    is charged. Told once, when the pools agree with their RoCE network; else roce-zone says what is wrong. A zone with
    networks of its own (`gpu.zones`) is apart on purpose.

    Source: Managed Lustre documentation, "Create a Managed Lustre instance" (the zone of the clients); VPC pricing,
    data transfer between zones.

    Mend: the zone of the GPU pools as the site's `zone`.
    """
    refused = {pool.index for pool, _ in apart_from_roce(site)}
    lustre = "" if site.profile.storage.lustre.zone or not site.lustre.is_used else " and Lustre"
    for pool in site.pools:
        if pool.index in refused or pool.zone in site.profile.gpu.zones:
            continue
        if pool.zone != site.zone and region_of(pool.zone) == site.region:
            yield Problem(
                pool_path(pool, "zone"),
                f"GPU pool {pool.name} stands in {pool.zone}, the CPU pool{lustre} in {site.zone}",
                f"set `zone: {pool.zone}`, if the reservation is there",
            )


#: Most nodes of a node pool in one zone (GKE documentation, "Quotas and limits").
_MOST_NODES = 1000


@rule("pool-nodes-most")
def pool_nodes_most(site: Site) -> Iterator[Problem]:
    """A pool would have more nodes than a node pool takes.

    A node pool takes 1000 nodes a zone, and each pool of a site stands in one zone.

    Source: GKE documentation, "Quotas and limits" (nodes per node pool zone).

    Mend: fewer nodes; for the GPUs, a second pool of another name.
    """
    for pool in site.pools:
        if pool.max_nodes > _MOST_NODES:
            key = ("autoscaling", "max") if pool.spec.autoscaling else ("nodes",)
            yield Problem(
                pool_path(pool, *key),
                f"GPU pool {pool.name} has up to {pool.max_nodes} nodes; a node pool takes {_MOST_NODES} in one zone",
                f"use {_MOST_NODES} or less, and a second pool for the others",
            )
    most = site.profile.cluster.cpu_pool.max_nodes
    if most > _MOST_NODES:
        yield Problem(
            ("cluster", "cpu_pool", "max_nodes"),
            f"`cluster.cpu_pool.max_nodes` {most}: a node pool takes {_MOST_NODES} nodes in one zone",
            f"use {_MOST_NODES} or less",
        )


@rule("zone-block")
def zone_block(site: Site) -> Iterator[Problem]:
    """A further zone's block is too small for its networks, or the zone is none of theirs.

    The block is cut into one /24 for each NIC, in their order: nine for A4 and A3 Ultra. The zone must be one of the
    site's region, other than the site's own, whose networks stand in `gpu.gvnic` and `gpu.rdma`.

    Source: groundplan's own way to cut the block; VPC documentation, "RDMA network profiles" (zonal).

    Mend: a /20, which holds sixteen ranges.
    """
    for zone, spec in site.profile.gpu.zones.items():
        path: ProfilePath = ("gpu", "zones", zone)
        if zone == site.zone or region_of(zone) != site.region:
            what = "the site's own zone" if zone == site.zone else f"not a zone of the site's region {site.region}"
            yield Problem(path, f"`gpu.zones.{zone}` is {what}", "remove it, or name another zone of the region")
            continue
        networks = [network for network in site.nic_networks if network.path == path]
        need = sum(len(network.subnetworks) for network in networks)
        have = sum(len(network.cidrs) for network in networks)
        if have < need:
            yield Problem(
                (*path, "block"),
                f"`gpu.zones.{zone}.block` {spec.block} holds {have} ranges of /24; {need} are needed, one a NIC",
                "use a /20",
            )
