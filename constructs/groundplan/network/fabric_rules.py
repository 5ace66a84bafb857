"""What can be wrong with the ranges of the GPU nodes' additional NICs."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

from findings import Problem, ProfilePath, dotted, rule
from groundplan.gpu.fabric_values import PIECE, FabricValues, NicNetwork, home_zone
from groundplan.kernel.addresses import RESERVED_PER_SUBNETWORK, free_block, smallest_prefix
from groundplan.network.site_ranges import ranges_of
from groundplan.site.resolve import Site

#: Longest prefix of a subnetwork's range.
_LONGEST = 29


@rule("fabric-range-size")
def fabric_range_size(site: Site) -> Iterator[Problem]:
    """The gVNIC subnetwork or an RDMA subnetwork is too small for all GPU nodes of its zone.

    Each GPU node takes one address in the gVNIC subnetwork and one in each RDMA subnetwork; Google keeps four of each.
    A /28 holds 12 nodes, a /24 252.

    Source: VPC documentation, subnets, "Unusable addresses"; GKE, "Create a custom AI-optimized cluster".

    Mend: wider ranges; they belong to this site alone, so that they can be taken generously.
    """
    taken = [each.cidr for each in ranges_of(site)]
    for fabric in site.fabrics:
        nodes = _nodes_in(site, fabric)
        need = nodes + RESERVED_PER_SUBNETWORK
        prefix = min(smallest_prefix(need), _LONGEST)
        for kind in ("gvnic", "rdma"):
            pairs = [pair for each in fabric.networks if each.kind == kind for pair in _ranges(each)]
            small = [n for n, (_, cidr) in enumerate(pairs) if cidr.num_addresses < need]
            if not small:
                continue
            path, cidr = pairs[small[0]]
            more = f" (and {len(small) - 1} more)" if len(small) > 1 else ""
            yield Problem(
                path,
                f"`{dotted(path)}` {cidr}{more} holds {cidr.num_addresses} addresses; {need} are needed: "
                f"{nodes} GPU nodes + {RESERVED_PER_SUBNETWORK} that Google keeps",
                _wider(path, [cidr for _, cidr in pairs], small, prefix, taken),
            )


def _ranges(network: NicNetwork) -> Iterator[tuple[ProfilePath, IPv4Network]]:
    return zip(network.range_paths, network.cidrs, strict=True)


def _nodes_in(site: Site, fabric: FabricValues) -> int:
    """The most nodes that stand in the fabric's networks at once."""
    spec, zone = site.profile.gpu, site.profile.zone
    return sum(
        pool.max_nodes for pool in site.pools if any(pool.own_nics) and home_zone(spec, pool, zone) == fabric.zone
    )


def _wider(path: ProfilePath, cidrs: list[IPv4Network], small: list[int], prefix: int, taken: list[IPv4Network]) -> str:
    """What to write instead: ranges that are free together. `taken` gets those that are named."""
    if path[:2] == ("gpu", "zones"):
        return (
            f"a zone of `gpu.zones` has a /{PIECE} for each NIC: put fewer nodes there, or make it the site's own zone"
        )
    if path[-1] == "cidr":  # the first of several, one behind the other
        block = free_block(prefix - (len(cidrs) - 1).bit_length(), taken)
        taken += [block] if block else []
        return f"use a /{prefix} or wider" + (f" ({block.network_address}/{prefix} is free)" if block else "")
    for n in small:
        free = free_block(prefix, taken)
        if free is None:
            return f"use a /{prefix} or wider"
        taken.append(free)
        cidrs[n] = free
    return f"use a /{prefix} or wider, such as `{dotted(path[:-1])}: [{', '.join(map(str, cidrs))}]`, which are free"
