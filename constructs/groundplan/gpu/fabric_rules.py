"""What can be wrong with whose networks the GPU nodes use, with claims, and with NVLink domains."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, Severity, rule
from groundplan.gpu.rules import pool_path
from groundplan.gpu.values import DYNAMIC, PoolValues
from groundplan.site.resolve import Site


def _managed(site: Site) -> list[PoolValues]:
    return [pool for pool in site.pools if pool.is_managed]


def _fabric_path(pool: PoolValues) -> ProfilePath:
    return pool_path(pool, "fabric") if pool.spec.fabric else ("gpu", "fabric")


@rule("managed-machine")
def managed_machine(site: Site) -> Iterator[Problem]:
    """GKE cannot make the networks of a machine type and hand its NICs to pods.

    Managed DRANET hands out RDMA NICs of A3 Ultra, A4 and A4X. A3 Mega can have networks that GKE makes and no claims;
    how pods would use them no source says. G4 has no NICs to hand out.

    Source: GKE, "Allocate network resources by using GKE managed DRANET" (2026-04-10); catalog machines, `managed_gke`.

    Mend: `fabric: own` for the pool.
    """
    for pool in _managed(site):
        if pool.gpu and not pool.gpu.managed_gke:
            yield Problem(
                _fabric_path(pool),
                f"GPU pool {pool.name} has `fabric: managed`; GKE hands no NICs of {pool.spec.machine_type} to pods",
                "set `fabric: own` on the pool",
            )


@rule("fabric-mixed")
def fabric_mixed(site: Site) -> Iterator[Problem]:
    """Some pools have networks of the site, and others those that GKE makes.

    GKE's page forbids DRANET beside Networks of type Device in one cluster; the release note says one node pool. The
    stricter of the two is kept.

    Source: GKE, "Allocate network resources by using GKE managed DRANET" (2026-04-10); GKE release notes, 2026-04-08.

    Mend: one `fabric` for all pools whose machines have such NICs.
    """
    own = [pool for pool in site.pools if any(pool.own_nics)]
    for pool in _managed(site) if own else []:
        yield Problem(
            _fabric_path(pool),
            f"GPU pool {pool.name} has `fabric: managed`, and {own[0].name} networks of the site: not in one cluster",
            "give all pools the same `fabric`, or make a site of its own for one of them",
        )


@rule("managed-shared-vpc")
def managed_shared_vpc(site: Site) -> Iterator[Problem]:
    """GKE is to make networks for a cluster in a Shared VPC.

    Every NIC of a node must stand in the project of the cluster's network. That GKE would make networks in a host
    project no source says.

    Source: GKE, "Set up multi-network support for Pods", General limitations; nothing found on accelerator network
    profiles with a Shared VPC (2026-12-02).

    Mend: `fabric: own`, with networks in the host project.
    """
    for pool in _managed(site) if site.network.is_shared else []:
        yield Problem(
            _fabric_path(pool),
            f"GPU pool {pool.name} has `fabric: managed`, and the cluster's network is of host project "
            f"{site.network.project}, in which no source lets GKE make networks",
            "set `fabric: own`",
        )


@rule("managed-flex-start")
def managed_flex_start(site: Site) -> Iterator[Problem]:
    """A flex-start or queued pool with networks that GKE makes does not start at zero nodes.

    Source: GKE, "Allocate network resources by using GKE managed DRANET" (2026-04-10), limitations.

    Mend: `autoscaling: {min: 0, max: N}` on the pool.
    """
    for pool in _managed(site):
        if pool.capacity in DYNAMIC and pool.min_nodes:
            yield Problem(
                pool_path(pool, "autoscaling", "min") if pool.spec.autoscaling else pool_path(pool, "capacity"),
                f"GPU pool {pool.name} has `fabric: managed` and `capacity: {pool.capacity}`, and starts at "
                f"{pool.min_nodes} nodes; GKE wants 0",
                f"use `autoscaling: {{min: 0, max: {pool.max_nodes}}}`",
            )


@rule("networks-unused")
def networks_unused(site: Site) -> Iterator[Problem]:
    """A key says something of networks that the site does not have.

    `gpu.gvnic`, `gpu.rdma` and `gpu.zones` are of the site's own networks for additional NICs: a machine without such
    NICs (G4), of another kind (A3 Mega has no RDMA NICs), or with networks that GKE makes uses none of them, and the
    key would be lost.

    Source: groundplan's own reading of the profile: no key is dropped without a word.

    Mend: remove the key, or choose the machine type and `fabric` that it is for.
    """
    has = {network.path for network in site.nic_networks}
    for kind, title in (("gvnic", "gVNIC"), ("rdma", "RDMA")):
        spec = getattr(site.profile.gpu, kind)
        if spec.model_fields_set and ("gpu", kind) not in has:
            key = sorted(spec.model_fields_set)[0]
            yield Problem(("gpu", kind, key), f"`gpu.{kind}.{key}`: {_none_of(site, title)}", "remove it")
        for index, entry in enumerate(site.profile.network.firewall_rules):
            if entry.network == kind == "gvnic" and not any(n.kind == kind for n in site.nic_networks):
                yield Problem(
                    ("network", "firewall_rules", index, "network"),
                    f"firewall rule {entry.name} stands on the {title} network: {_none_of(site, title)}",
                    "remove it, or set `network: primary`",
                )
    for zone in site.profile.gpu.zones:
        used = any(pool.zone == zone and any(pool.own_nics) for pool in site.pools)
        if not used:
            yield Problem(
                ("gpu", "zones", zone),
                f"`gpu.zones.{zone}`: no GPU pool of that zone uses networks of the site",
                "remove it, or give a pool `zone: " + zone + "`",
            )


def _none_of(site: Site, title: str) -> str:
    """Why the site has no network of a kind in its own zone."""
    if all(pool.is_managed for pool in site.pools):
        return "GKE makes the networks (`fabric: managed`)"
    machines = " and ".join(sorted({pool.spec.machine_type for pool in site.pools}))
    return f"no {title} network is made in the site's own zone for {machines}"


@rule("machine-capacity")
def machine_capacity(site: Site) -> Iterator[Problem]:
    """Machines of a type do not come from where the pool wants them.

    A4X is for reservations alone: no Spot, no flex-start, none on demand.

    Source: Compute Engine, "Accelerator-optimized machine family" (2026-04); catalog machines, `capacity`.

    Mend: the capacity that the finding names.
    """
    for pool in site.pools:
        if pool.gpu and pool.gpu.capacity and pool.capacity not in pool.gpu.capacity:
            known = " or ".join(pool.gpu.capacity)
            yield Problem(
                pool_path(pool, "capacity"),
                f"GPU pool {pool.name} has `capacity: {pool.capacity}`, and {pool.spec.machine_type} comes from "
                f"{known} alone",
                f"set `capacity: {pool.gpu.capacity[0]}`",
            )


@rule("nvlink-domain")
def nvlink_domain(site: Site) -> Iterator[Problem]:
    """A pool has more nodes than one NVLink domain, or a reservation's block without its sub-block would hold two.

    The workload policy 1x72 keeps a pool of A4X in one sub-block, which has 18 machines: a larger pool is never filled.

    Source: GoogleCloudPlatform/cluster-toolkit v1.95.0, examples/gke-a4x (one policy and one pool for each sub-block);
    catalog machines, `nvlink_nodes`.

    Mend: a pool for each sub-block; `sub_blocks` on the pool makes one of each.
    """
    for pool in site.pools:
        if pool.nvlink_nodes and pool.max_nodes > pool.nvlink_nodes:
            key = ("autoscaling", "max") if pool.spec.autoscaling else ("nodes",)
            yield Problem(
                pool_path(pool, *key),
                f"GPU pool {pool.name} has up to {pool.max_nodes} nodes; an NVLink domain of {pool.spec.machine_type} "
                f"holds {pool.nvlink_nodes}",
                f"use {pool.nvlink_nodes} or less, and a pool for each sub-block",
            )


@rule("claims-empty-pool", Severity.WARNING)
def claims_empty_pool(site: Site) -> Iterator[Problem]:
    """Kueue is to admit a job whose pods claim NICs, on a pool that may have no nodes yet.

    Kueue counts the devices that nodes have published before it admits a claim. On a pool that starts empty there are
    none, so that the job may wait for nodes which nobody asks for.

    Source: kubernetes-sigs/kueue, keps/2941-DRA (0.18 and newer).

    Mend: `autoscaling.min` of at least the job's nodes, a fixed pool, or no Kueue.
    """
    job = site.job
    pool = job.pool if job else None
    if job is None or pool is None or not site.profile.platform.kueue.enabled or job.least_nodes >= job.nodes:
        return
    if pool.claimed_nics or pool.nvlink_nodes:
        yield Problem(
            pool_path(pool, "autoscaling", "min") if pool.spec.autoscaling else pool_path(pool),
            f"GPU pool {pool.name} may have {job.least_nodes} nodes, and Kueue admits claims of devices that are there "
            f"alone; the job claims those of {job.nodes} nodes",
            f"set `autoscaling.min: {job.nodes}`, or `platform.kueue.enabled: false`",
        )
