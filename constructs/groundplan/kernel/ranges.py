"""Which IP ranges are private, and which admit the internet: for profiles, differences and plans alike."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Network, IPv6Network

Network = IPv4Network | IPv6Network

RFC_1918 = (IPv4Network("10.0.0.0/8"), IPv4Network("172.16.0.0/12"), IPv4Network("192.168.0.0/16"))

#: Every other range that the VPC documentation calls private: RFC 6598, 6890, 5737, 7526, 2544 and class E.
OTHER_PRIVATE = tuple(
    IPv4Network(text)
    for text in (
        "100.64.0.0/10",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",
    )
)

#: Prefix lengths below which a public range admits a good part of the internet, so that two halves of the internet do
#: not pass as two ranges.
WIDEST_PUBLIC = 8
WIDEST_PUBLIC_V6 = 16

#: RFC 4193 and 4291: unique local and link-local addresses, which no router of the internet carries.
_LOCAL_V6 = (IPv6Network("fc00::/7"), IPv6Network("fe80::/10"))


def parse_range(text: object) -> Network | None:
    """A CIDR range, host bits forgiven; None when it is none, or not known yet."""
    try:
        return ipaddress.ip_network(str(text), strict=False)
    except ValueError:
        return None


def is_private(cidr: IPv4Network) -> bool:
    """Whether the VPC documentation counts all of `cidr` as private, as GKE then does."""
    return is_rfc_1918(cidr) or any(cidr.subnet_of(block) for block in OTHER_PRIVATE)


def is_rfc_1918(cidr: IPv4Network) -> bool:
    """Whether all of `cidr` is in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16."""
    return any(cidr.subnet_of(block) for block in RFC_1918)


def admits_internet(source: object) -> bool:
    """Whether a range, or its text, admits the whole internet or a good part of it; False for what is no range."""
    found = source if isinstance(source, Network) else parse_range(source)
    if isinstance(found, IPv6Network):
        return found.prefixlen < WIDEST_PUBLIC_V6 and not any(found.subnet_of(block) for block in _LOCAL_V6)
    return found is not None and found.prefixlen < WIDEST_PUBLIC and not is_private(found)
