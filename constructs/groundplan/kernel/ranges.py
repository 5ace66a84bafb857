"""Address ranges: which are private, and which admit the internet. The one place that decides it.

Rules of profiles and of plans both ask here, so that `check`, `diff` and `review` say the same of one range.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv4Network, IPv6Network, ip_network

IPNetwork = IPv4Network | IPv6Network

#: A public IPv4 range wider than this (its prefix length) admits a good part of the internet.
WIDEST_PUBLIC = 8

#: The same for IPv6: registries give a provider no block wider than this, and most get a /32 (RFC 6177; RIPE-738).
WIDEST_PUBLIC_V6 = 16

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

#: Ranges for documentation (RFC 5737): private to a VPC, and nobody's real address.
DOCUMENTATION = tuple(IPv4Network(text) for text in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"))

#: IPv6 that is routed on no internet: unique local (RFC 4193) and link-local (RFC 4291).
PRIVATE_V6 = (IPv6Network("fc00::/7"), IPv6Network("fe80::/10"))


def network_of(text: object) -> IPNetwork | None:
    """A CIDR range, host bits or not; None when `text` is none, or an expression that is not known yet."""
    try:
        return ip_network(str(text).strip(), strict=False)
    except ValueError:
        return None


def is_rfc_1918(cidr: IPv4Network) -> bool:
    """Whether all of `cidr` is in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16."""
    return any(cidr.subnet_of(block) for block in RFC_1918)


def is_private(cidr: IPNetwork) -> bool:
    """Whether the VPC documentation counts all of `cidr` as private, as GKE then does; unique local for IPv6."""
    if isinstance(cidr, IPv6Network):
        return any(cidr.subnet_of(block) for block in PRIVATE_V6)
    return is_rfc_1918(cidr) or any(cidr.subnet_of(block) for block in OTHER_PRIVATE)


def is_documentation(cidr: IPNetwork) -> bool:
    """Whether `cidr` is in a range that stands in documentation alone."""
    return isinstance(cidr, IPv4Network) and any(cidr.subnet_of(block) for block in DOCUMENTATION)


def admits_internet(cidr: IPNetwork | str | None) -> bool:
    """Whether a source range admits the whole internet, or a good part of it: IPv4 /0 to /7, IPv6 /0 to /15.

    Less than the whole is enough, so that two halves of the internet do not pass as two ranges. What is no range
    (None, an expression) admits nobody that is known.
    """
    found = network_of(cidr) if isinstance(cidr, str) else cidr
    if found is None or is_private(found):
        return False
    return found.prefixlen < (WIDEST_PUBLIC if found.version == 4 else WIDEST_PUBLIC_V6)


def is_unrestricted(public_endpoint: bool, authorized: Collection[object] | None) -> bool:
    """Whether a control plane has a public IP endpoint, and no say on who may use it.

    `authorized`: who is named; None when nothing is said, which admits everyone. An empty list admits nobody outside
    (Terraform provider documentation, google_container_cluster, `master_authorized_networks_config`).
    """
    return public_endpoint and authorized is None
