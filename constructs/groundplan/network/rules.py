"""What can be wrong with the address ranges: overlap, kind of address, size."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, Severity, dotted, rule
from groundplan.kernel.addresses import RESERVED, RESERVED_PER_SUBNETWORK, Range, free_block, overlaps, smallest_prefix
from groundplan.kernel.ranges import is_private, is_rfc_1918
from groundplan.network.site_ranges import node_demand, primary_ranges, ranges_of
from groundplan.site.resolve import Site

_PRIMARY: ProfilePath = ("network", "primary")
_ACCESS: ProfilePath = ("network", "private_service_access")

#: Prefix lengths that a VPC subnetwork range may have; the services range and the control plane have their own.
_LONGEST_SUBNETWORK = 29
_SERVICES = (16, 28)

#: Longest prefix of private service access that every age of the Managed Lustre page admits, and the newest one's.
_LUSTRE_OLDER, _LUSTRE_NEWEST = 24, 23


@rule("address-overlap")
def address_overlap(site: Site) -> Iterator[Problem]:
    """Two ranges that can meet overlap.

    A GPU node stands in every network of the site at once: nodes, pods and services of the primary VPC, the peered
    range of the Lustre servers, the control plane's, the gVNIC subnetwork and one RDMA subnetwork per NIC. Where two of
    them share addresses, the node's routes send packets to the wrong one, or the API refuses the second range in the
    middle of an apply. `network.peers` declares the networks outside that this one is or will be connected to; they may
    overlap one another but nothing of the site.

    Limit: no address in two ranges. The proof covers every range the profile states; give the ranges of existing
    networks too, so that it covers them.

    Source: VPC documentation, subnets ("ranges must not overlap in a network or its peers"); GKE, "Set up multi-network
    support" (pod and service ranges must not overlap the additional networks').

    Mend: move one of the two; the finding names a block of the same size that is free.
    """
    ranges = ranges_of(site)
    for outer, inner in overlaps(ranges):
        moved, other = (outer, inner) if inner.neighbour else (inner, outer)
        how = "is the same range as" if outer.cidr == inner.cidr else "overlaps"
        yield Problem(
            moved.path,
            f"`{dotted(moved.path)}` {moved.cidr} ({moved.role}) {how} {other.cidr} ({other.role}, "
            f"`{dotted(other.path)}`)",
            _move_hint(moved, ranges),
        )


def _move_hint(moved: Range, ranges: tuple[Range, ...]) -> str:
    free = free_block(moved.cidr.prefixlen, [r.cidr for r in ranges])
    return f"move one of them; {free} is free, for example" if free else "move one of them"


@rule("address-reserved")
def address_reserved(site: Site) -> Iterator[Problem]:
    """A range touches addresses that Google Cloud or the nodes use themselves.

    Subnetworks cannot be made in the local, loopback, link-local and multicast ranges or over the addresses of
    restricted and private.googleapis.com. 172.17.0.0/16 is the bridge of the container runtime on GKE nodes: traffic to
    it never leaves the node, so that nodes, pods, services, control plane and private service access must stay out of
    it; on the additional NICs it is a warning. The three documentation ranges are valid for Google (a warning, because
    much other gear drops them).

    Source: VPC documentation, subnets, "Prohibited IPv4 subnet ranges"; GKE and Filestore documentation on
    172.17.0.0/16.

    Mend: take the range from 10.0.0.0/8, 172.16.0.0/12 (without 172.17), 192.168.0.0/16 or 100.64.0.0/10.
    """
    ranges = [r for r in ranges_of(site) if not r.neighbour]
    for item in ranges:
        for reserved in RESERVED:
            if not item.cidr.overlaps(reserved.cidr) or (reserved.roles and item.role not in reserved.roles):
                continue
            free = free_block(item.cidr.prefixlen, [r.cidr for r in ranges])
            yield Problem(
                item.path,
                f"`{dotted(item.path)}` {item.cidr} touches {reserved.cidr}, {reserved.why}",
                f"use {free}, for example" if free else "use a range of RFC 1918",
                reserved.severity,
            )
            break


@rule("address-public", Severity.WARNING)
def address_public(site: Site) -> Iterator[Problem]:
    """A range of public addresses is used privately.

    VPCs take public ranges that are not Google's own ("privately used public IP addresses"), but whatever really lives
    at those addresses cannot be reached from the nodes any more, and GKE must be told not to masquerade. RFC 1918, RFC
    6598 (100.64.0.0/10), class E (240.0.0.0/4) and the other ranges of the VPC page are private and pass.

    Source: VPC documentation, subnets, "Valid IPv4 ranges"; GKE, "Privately used public IPs".

    Mend: use a private range; pods of a big site fit class E, for example 240.0.0.0/14.
    """
    for item in ranges_of(site):
        if item.neighbour or is_private(item.cidr) or any(item.cidr.overlaps(r.cidr) for r in RESERVED if not r.roles):
            continue
        yield Problem(
            item.path,
            f"`{dotted(item.path)}` {item.cidr} holds public addresses, which the nodes then reach no more",
            "use a private range: RFC 1918, 100.64.0.0/10 or 240.0.0.0/4",
        )


@rule("access-private-kind", Severity.WARNING)
def access_private_kind(site: Site) -> Iterator[Problem]:
    """The range of the Lustre servers is not RFC 1918.

    Google's managed services document RFC 1918 for the ranges they allocate from; others work for some services and are
    documented for none of them as a whole.

    Source: Managed Lustre documentation, "Configure a VPC network"; private services access documentation.

    Mend: take the block from 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16.
    """
    for item in primary_ranges(site):
        if item.role == "private service access" and is_private(item.cidr) and not is_rfc_1918(item.cidr):
            yield Problem(
                item.path,
                f"`{dotted(item.path)}` {item.cidr} is outside RFC 1918, which Managed Lustre documents",
                "use a block of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16",
            )


@rule("pod-range-size")
def pod_range_size(site: Site) -> Iterator[Problem]:
    """The pod range is too small for all nodes at their maximum.

    GKE gives each node a block of the pod range when the node is made: twice its most pods, rounded up to a power of
    two (110 pods: 256 addresses, a /24; 32 pods: 64, a /26). When the range is spent, new nodes fail with
    IP_SPACE_EXHAUSTED, typically the GPU nodes, which come last (terraform-cdk#1964, cloud-foundation-fabric#1644).

    Limit: the sum over all pools at their maximum, and the spare node while the CPU pool upgrades; at least the three
    nodes that a new regional cluster starts with.

    Source: GKE documentation, "Configure maximum Pods per node" and "IP address ranges for VPC-native clusters".

    Mend: a wider range, or fewer pods a node (`max_pods_per_node`): GPU nodes run few.
    """
    plan = site.network
    if plan.exists and "pods" not in site.profile.network.primary.model_fields_set:
        return
    demand = node_demand(site)
    if plan.pods.num_addresses >= demand.pod_addresses:
        return
    parts = " + ".join(f"{count} nodes x /{smallest_prefix(size)} each" for count, size in demand.pod_blocks)
    need = smallest_prefix(demand.pod_addresses)
    yield Problem(
        (*_PRIMARY, "pods"),
        f"`network.primary.pods` {plan.pods} holds {plan.pods.num_addresses} addresses; {demand.nodes} nodes "
        "at their most "
        f"({demand.gpu_nodes} GPU, {demand.cpu_nodes} CPU, {demand.surge} during upgrades) need "
        f"{demand.pod_addresses}: "
        f"{parts}",
        f"use a /{need} or wider{_free(site, need)}, or lower `max_pods_per_node`",
    )


@rule("node-range-size")
def node_range_size(site: Site) -> Iterator[Problem]:
    """The nodes' subnetwork is too small for all nodes at their maximum.

    Each node takes one address of the subnetwork's primary range, the control plane's private endpoint takes one
    (unless it has a range of its own), and Google keeps four.

    Source: VPC documentation, subnets, "Unusable addresses"; GKE documentation, "Subnet primary IP address range".

    Mend: a wider range. (The primary range can be widened later in place, the pod range cannot.)
    """
    plan = site.network
    if plan.exists and "nodes" not in site.profile.network.primary.model_fields_set:
        return
    demand = node_demand(site)
    endpoint = 0 if site.profile.cluster.control_plane.cidr else 1
    need = demand.nodes + endpoint + RESERVED_PER_SUBNETWORK
    if plan.nodes.num_addresses < need:
        plus = " + 1 for the control plane" if endpoint else ""
        yield Problem(
            (*_PRIMARY, "nodes"),
            f"`network.primary.nodes` {plan.nodes} holds {plan.nodes.num_addresses} addresses; {need} are needed: "
            f"{demand.nodes} nodes{plus} + {RESERVED_PER_SUBNETWORK} that Google keeps",
            f"use a /{smallest_prefix(need)} or wider{_free(site, smallest_prefix(need))}",
        )


def _free(site: Site, prefix: int) -> str:
    free = free_block(prefix, [r.cidr for r in ranges_of(site)])
    return f" ({free} is free)" if free else ""


@rule("range-prefix")
def range_prefix(site: Site) -> Iterator[Problem]:
    """A range has a prefix length that its resource does not take.

    A subnetwork range is at most a /29; a services range at most a /28 and at least a /16; the control plane's range is
    exactly a /28 of RFC 1918.

    Source: VPC documentation, subnets; GKE documentation, "IP address ranges for VPC-native clusters"; Terraform
    provider, `master_ipv4_cidr_block`.

    Mend: a prefix length within the limit.
    """
    for item in ranges_of(site):
        length = item.cidr.prefixlen
        if item.neighbour or item.role == "private service access":
            continue
        if item.role == "control plane":
            if length != 28 or not is_rfc_1918(item.cidr):
                yield Problem(
                    item.path,
                    f"`{dotted(item.path)}` {item.cidr} must be a /28 of RFC 1918",
                    f"use {free_block(28, [r.cidr for r in ranges_of(site)])}, for example, or leave it out",
                )
        elif item.role == "services":
            low, high = _SERVICES
            if not low <= length <= high:
                yield Problem(
                    item.path,
                    f"`{dotted(item.path)}` {item.cidr} must be between a /{low} and a /{high}: GKE takes no "
                    "other services range",
                    "use a /20 (4096 services)",
                )
        elif length > _LONGEST_SUBNETWORK:
            yield Problem(
                item.path,
                f"`{dotted(item.path)}` {item.cidr} is smaller than a /{_LONGEST_SUBNETWORK}, the least a "
                "subnetwork range may be",
                f"use a /{_LONGEST_SUBNETWORK} or wider",
            )


@rule("access-range-start")
def access_range_start(site: Site) -> Iterator[Problem]:
    """The first address of private service access is not the start of a block of its prefix length.

    The API takes address and prefix length apart and refuses a pair that is no CIDR block.

    Source: Compute Engine API, globalAddresses (purpose VPC_PEERING).

    Mend: the block's own first address, or the next block's.
    """
    plan = site.network
    start = plan.access_range.network_address
    if start != plan.access_address:
        yield Problem(
            (*_ACCESS, "address"),
            f"`network.private_service_access.address` {plan.access_address} is not the start of a "
            f"/{plan.access_prefix}",
            f"use {start}, or another start of a /{plan.access_prefix}",
        )


@rule("access-range-size")
def access_range_size(site: Site) -> Iterator[Problem]:
    """The range of private service access is too small for a Managed Lustre instance.

    Google places the Lustre servers in it and each instance needs a contiguous block of its own. The older page says
    /24, the newer one /23: smaller than a /24 is refused, a /24 is a warning.

    Source: Managed Lustre documentation, "Configure a VPC network" (two ages).

    Mend: a /20 as in Google's tutorial has room for more than one instance.
    """
    prefix = site.network.access_prefix
    path = (*_ACCESS, "prefix_length")
    if prefix > _LUSTRE_OLDER:
        yield Problem(
            path,
            f"`network.private_service_access.prefix_length` {prefix} is smaller than a /{_LUSTRE_NEWEST}, "
            "which one Lustre "
            "instance needs",
            "use 20, as in Google's tutorial",
        )
    elif prefix > _LUSTRE_NEWEST:
        yield Problem(
            path,
            f"`network.private_service_access.prefix_length` {prefix}: Google's newer page asks for a "
            f"/{_LUSTRE_NEWEST}, the "
            f"older one for a /{_LUSTRE_OLDER}",
            f"use {_LUSTRE_NEWEST} or less",
            Severity.WARNING,
        )


@rule("range-unknown", Severity.WARNING)
def range_unknown(site: Site) -> Iterator[Problem]:
    """An existing network is used without its ranges, so that overlaps and sizes cannot be judged.

    The ranges of an existing VPC are not created, but the rules need them: give them as they are and every overlap with
    the GPU networks and every pod range that is too small is found here instead of in the cloud.

    Source: groundplan's own limit: it reads the profile alone, and never asks the cloud.

    Mend: `network.primary.nodes`, `pods` and `services`, `gpu.gvnic.cidr` and `gpu.rdma.cidrs` as they are.
    """
    primary, gvnic, rdma = site.profile.network.primary, site.profile.gpu.gvnic, site.profile.gpu.rdma
    if primary.existing:
        missing = [name for name in ("nodes", "pods", "services") if name not in primary.model_fields_set]
        if missing:
            yield _unknown((*_PRIMARY, "existing"), [f"network.primary.{name}" for name in missing])
        access = site.profile.network.private_service_access
        if not site.network.access_created and not access.model_fields_set & {"address", "prefix_length"}:
            yield _unknown((*_PRIMARY, "existing"), ["network.private_service_access.address"])
    if gvnic.existing and "cidr" not in gvnic.model_fields_set:
        yield _unknown(("gpu", "gvnic", "existing"), ["gpu.gvnic.cidr"])
    if rdma.existing and "cidrs" not in rdma.model_fields_set:
        yield _unknown(("gpu", "rdma", "existing"), ["gpu.rdma.cidrs"])


def _unknown(path: ProfilePath, keys: list[str]) -> Problem:
    names = "`, `".join(keys)
    return Problem(
        path,
        f"`{dotted(path)}` is used without `{names}`: its overlaps and sizes are not checked",
        "give the ranges that the network has; nothing is created from them",
    )
