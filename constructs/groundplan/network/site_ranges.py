"""The address ranges of a site, and what they must hold.

Every range that can ever meet another on a node or over a peering is listed by :func:`ranges_of`; the rules and the
fleet check read it. Sizes are counted in addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from groundplan.gpu.fabric_values import FabricValues
from groundplan.kernel.addresses import Range, pod_block
from groundplan.site.resolve import Site

#: Nodes that a new regional cluster starts with, one in each of three zones, before its default pool is removed.
BOOTSTRAP_NODES = 3

#: Spare nodes while a pool upgrades. GPU pools have none: no spare reserved machine exists.
CPU_POOL_SURGE = 1


def ranges_of(site: Site) -> tuple[Range, ...]:
    """Every range that is known. One of an existing network is known when the profile gives it."""
    return (*primary_ranges(site), *fabric_ranges(site), *_peer_ranges(site))


def primary_ranges(site: Site) -> tuple[Range, ...]:
    """What stands in, or is peered with, the primary VPC."""
    plan, spec = site.network, site.profile.network.primary
    here = ("network", "primary")
    found = [
        Range(role, cidr, (*here, role))
        for role, cidr in (("nodes", plan.nodes), ("pods", plan.pods), ("services", plan.services))
        if not plan.exists or role in spec.model_fields_set
    ]
    if plan.access_created or site.profile.network.private_service_access.model_fields_set & {
        "address",
        "prefix_length",
    }:
        path = ("network", "private_service_access", "address")
        found.append(Range("private service access", plan.access_range, path))
    control_plane = site.profile.cluster.control_plane.cidr
    if control_plane:
        found.append(Range("control plane", control_plane, ("cluster", "control_plane", "cidr")))
    return tuple(found)


def fabric_ranges(site: Site) -> tuple[Range, ...]:
    """The subnetworks of additional NICs, in the order of the NICs."""
    return tuple(range_ for fabric in site.fabrics for range_ in _ranges_in(fabric))


def _ranges_in(fabric: FabricValues) -> Iterator[Range]:
    gvnics = [network for network in fabric.networks if network.kind == "gvnic"]
    for network in fabric.networks:
        first = gvnics.index(network) + 1 if network.kind == "gvnic" else 0
        for n, (cidr, path) in enumerate(zip(network.cidrs, network.range_paths, strict=True), start=first):
            number = "" if gvnics == [network] else f" {n}"
            yield Range(f"{network.title}{number}{fabric.suffix}", cidr, path)


def _peer_ranges(site: Site) -> Iterator[Range]:
    for index, peer in enumerate(site.profile.network.peers):
        for number, cidr in enumerate(peer.ranges):
            yield Range(f"peer {peer.name}", cidr, ("network", "peers", index, "ranges", number), neighbour=True)


@dataclass(frozen=True, slots=True)
class NodeDemand:
    """The most nodes that a site ever has at once, and the pod addresses that they take."""

    gpu_nodes: int
    cpu_nodes: int
    surge: int
    pod_addresses: int
    pod_blocks: tuple[tuple[int, int], ...]
    """Pairs of node count and addresses a node, as the pod addresses are made up."""

    @property
    def nodes(self) -> int:
        """All nodes of the cluster, those of a running upgrade included."""
        return max(self.gpu_nodes + self.cpu_nodes + self.surge, BOOTSTRAP_NODES)


def node_demand(site: Site) -> NodeDemand:
    """Count every pool at its maximum, and the spare node of the CPU pool's upgrades."""
    cpu = site.profile.cluster.cpu_pool
    blocks: dict[int, int] = {}
    for pool in site.pools:
        size = pod_block(pool.max_pods_per_node)
        blocks[size] = blocks.get(size, 0) + pool.max_nodes
    size = pod_block(cpu.max_pods_per_node)
    blocks[size] = blocks.get(size, 0) + cpu.max_nodes + CPU_POOL_SURGE
    pairs = tuple((count, size) for size, count in sorted(blocks.items(), reverse=True) if count)
    addresses = sum(count * size for count, size in pairs)
    bootstrap = BOOTSTRAP_NODES * pod_block(site.profile.cluster.max_pods_per_node)
    if addresses < bootstrap:
        addresses, pairs = bootstrap, ((BOOTSTRAP_NODES, bootstrap // BOOTSTRAP_NODES),)
    gpu_nodes = sum(pool.max_nodes for pool in site.pools)
    return NodeDemand(gpu_nodes, cpu.max_nodes, CPU_POOL_SURGE, addresses, pairs)
