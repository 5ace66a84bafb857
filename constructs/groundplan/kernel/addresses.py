"""Arithmetic on address ranges: which overlap, what a block must hold, what is free. Sizes are counted in addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from findings import ProfilePath, Severity
from groundplan.kernel.ranges import RFC_1918

#: Addresses of a subnetwork's primary range that Google keeps: network, gateway, second-to-last and broadcast.
#: Secondary ranges lose none (VPC documentation, "Unusable addresses in IPv4 subnet ranges").
RESERVED_PER_SUBNETWORK = 4


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
