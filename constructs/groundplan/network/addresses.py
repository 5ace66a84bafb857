"""Arithmetic on the address ranges of a site: which there are, what they must hold, what is free.

Every range that can ever meet another on a node or over a peering is listed by :func:`ranges_of`; the rules and the
fleet check read it. Sizes are counted in addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING

from findings import ProfilePath, Severity
from groundplan.kernel.ranges import RFC_1918

if TYPE_CHECKING:
    from groundplan.site.resolve import Site

#: Addresses of a subnetwork's primary range that Google keeps: network, gateway, second-to-last and broadcast.
#: Secondary ranges lose none (VPC documentation, "Unusable addresses in IPv4 subnet ranges").
RESERVED_PER_SUBNETWORK = 4

#: Nodes that a new regional cluster starts with, one in each of three zones, before its default pool is removed.
BOOTSTRAP_NODES = 3

#: Spare nodes while a pool upgrades. GPU pools have none: no spare reserved machine exists.
CPU_POOL_SURGE = 1


@dataclass(frozen=True, slots=True)
class Range:
    """A range of the site or of a neighbour. `role` says what it is; `neighbour` marks what is not the site's own."""

    role: str
    cidr: IPv4Network
    path: ProfilePath
    neighbour: bool = False

    def __str__(self) -> str:
        return f"{self.role} {self.cidr}"


@dataclass(frozen=True, slots=True)
class Reserved:
    """A range that no VPC range, or none of some roles, may touch."""

    cidr: IPv4Network
    why: str
    severity: Severity
    roles: tuple[str, ...] = ()


_ON_NODES = ("nodes", "pods", "services", "control plane", "private service access")

#: VPC documentation, "Prohibited IPv4 subnet ranges"; 172.17.0.0/16 is the Docker bridge of GKE nodes and is refused by
#: Google's managed services; the documentation ranges are valid by the VPC page, and dropped by much other gear.
RESERVED = (
    Reserved(IPv4Network("0.0.0.0/8"), "the local network (RFC 1122)", Severity.ERROR),
    Reserved(IPv4Network("127.0.0.0/8"), "the loopback range", Severity.ERROR),
    Reserved(IPv4Network("169.254.0.0/16"), "link-local: the metadata server stands in it", Severity.ERROR),
    Reserved(IPv4Network("224.0.0.0/4"), "multicast", Severity.ERROR),
    Reserved(IPv4Network("255.255.255.255/32"), "the limited broadcast address", Severity.ERROR),
    Reserved(IPv4Network("199.36.153.4/30"), "restricted.googleapis.com", Severity.ERROR),
    Reserved(IPv4Network("199.36.153.8/30"), "private.googleapis.com", Severity.ERROR),
    Reserved(IPv4Network("172.17.0.0/16"), "the container runtime's bridge on GKE nodes", Severity.ERROR, _ON_NODES),
    Reserved(IPv4Network("172.17.0.0/16"), "the container runtime's bridge on GKE nodes", Severity.WARNING),
    Reserved(IPv4Network("192.0.2.0/24"), "for documentation (TEST-NET-1)", Severity.WARNING),
    Reserved(IPv4Network("198.51.100.0/24"), "for documentation (TEST-NET-2)", Severity.WARNING),
    Reserved(IPv4Network("203.0.113.0/24"), "for documentation (TEST-NET-3)", Severity.WARNING),
)


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
    """The gVNIC subnetwork and the RDMA subnetworks, in the order of the NICs."""
    gvnic, rdma = site.profile.gpu.gvnic, site.profile.gpu.rdma
    found = []
    if not gvnic.existing or "cidr" in gvnic.model_fields_set:
        found.append(Range("gVNIC", gvnic.cidr, ("gpu", "gvnic", "cidr")))
    if not rdma.existing or "cidrs" in rdma.model_fields_set:
        found += [Range(f"RDMA {n}", cidr, ("gpu", "rdma", "cidrs", n)) for n, cidr in enumerate(rdma.cidrs)]
    return tuple(found)


def _peer_ranges(site: Site) -> Iterator[Range]:
    for index, peer in enumerate(site.profile.network.peers):
        for number, cidr in enumerate(peer.ranges):
            yield Range(f"peer {peer.name}", cidr, ("network", "peers", index, "ranges", number), neighbour=True)


def overlaps(ranges: Iterable[Range]) -> Iterator[tuple[Range, Range]]:
    """Every overlapping pair, the smaller range second. Two neighbours may overlap: that is no matter of this site.

    CIDR blocks are either apart or one within the other, so one pass over them in order, with those still open on a
    stack, finds all pairs.
    """
    ordered = sorted(ranges, key=lambda r: (int(r.cidr.network_address), r.cidr.prefixlen, r.neighbour))
    around: list[Range] = []
    for inner in ordered:
        first = int(inner.cidr.network_address)
        while around and int(around[-1].cidr.broadcast_address) < first:
            around.pop()
        for outer in around:
            if not (outer.neighbour and inner.neighbour):
                yield outer, inner
        around.append(inner)


def smallest_prefix(addresses: int) -> int:
    """Prefix length of the smallest block that holds `addresses`: 3072 -> 20."""
    return 32 - max(addresses - 1, 0).bit_length()


def pod_block(max_pods: int) -> int:
    """Addresses of the pod range that GKE gives one node: twice its pods, rounded up to a power of two."""
    return 1 << (2 * max_pods - 1).bit_length()


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


def free_block(prefix: int, taken: Iterable[IPv4Network]) -> IPv4Network | None:
    """The first free block of `prefix` in the RFC 1918 ranges, 172.17.0.0/16 left out; None when there is none."""
    busy = sorted(
        ((int(n.network_address), int(n.broadcast_address)) for n in (*taken, IPv4Network("172.17.0.0/16"))),
    )
    size = 1 << (32 - prefix)
    for space in RFC_1918:
        if prefix < space.prefixlen:
            continue
        at, end = int(space.network_address), int(space.broadcast_address)
        for first, last in busy:
            if last < at:
                continue
            if first >= at + size:
                break
            at = -(-(last + 1) // size) * size
        if at + size - 1 <= end:
            return IPv4Network((IPv4Address(at), prefix))
    return None
