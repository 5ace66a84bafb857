"""What can be wrong with a RoCE network: its zone, profile, MTU and subnetworks."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, rule
from groundplan.gpu.fabric_values import NicNetwork
from groundplan.gpu.rules import apart_from_roce, pool_path
from groundplan.kernel.roce import ROCE_MTU, ROCE_PROFILE
from groundplan.site.resolve import Site


def _roce_networks(site: Site) -> Iterator[NicNetwork]:
    return (network for network in site.nic_networks if network.kind == "rdma")


@rule("roce-zone")
def roce_zone(site: Site) -> Iterator[Problem]:
    """A GPU pool stands in another zone than the RoCE network that it would use.

    A RoCE network profile is of one zone, and only machines of that zone can attach to the network
    (terraform-provider-google-beta#10140). So each zone needs networks of its own.

    Source: VPC documentation, "RDMA network profiles".

    Mend: the same zone for all pools; or `gpu.zones`, which gives a further zone of the region its own networks.
    """
    for pool, where in apart_from_roce(site):
        yield Problem(
            pool_path(pool, "zone") if pool.spec.zone else ("gpu", "rdma", "network_profile"),
            f"GPU pool {pool.name} stands in {pool.zone}, and {where}",
            "use one zone for all GPU pools and the network profile (leave both out for the site's own), or give the "
            "zone networks of its own in `gpu.zones`",
        )


@rule("roce-profile")
def roce_profile(site: Site) -> Iterator[Problem]:
    """The network profile is not a RoCE profile for virtual machines.

    A3 Ultra, A4 and A4X attach their RDMA NICs to `<zone>-vpc-roce` only. `<zone>-vpc-roce-metal` is for bare metal,
    `<zone>-vpc-falcon` for H4D.

    An existing network must carry such a profile too; the project's `default` network never does.

    Source: VPC documentation, "RDMA network profiles".

    Mend: leave `network_profile` out.
    """
    for network in _roce_networks(site):
        if network.exists and network.name == "default":
            yield Problem(
                ("gpu", "rdma", "existing", "network"),
                "`gpu.rdma.existing.network` default is the project's auto-mode network, which has no RoCE profile",
                f"name a network with the profile <zone>{ROCE_PROFILE}, or leave `existing` out",
            )
        if not network.network_profile.endswith(ROCE_PROFILE):
            yield Problem(
                ("gpu", "rdma", "network_profile"),
                f"`gpu.rdma.network_profile` {network.network_profile} is no <zone>{ROCE_PROFILE} profile",
                f"leave it out (then it is {site.zone}{ROCE_PROFILE})",
            )


@rule("roce-mtu")
def roce_mtu(site: Site) -> Iterator[Problem]:
    """The RoCE network's MTU is not 8896.

    Smaller packets cost throughput on every collective, and the MTU of a network cannot be changed while nodes use it.

    Source: VPC documentation, "RDMA network profiles"; cluster-toolkit, modules/network/gpu-rdma-vpc.

    Mend: leave `gpu.rdma.mtu` out: it is 8896.
    """
    for network in _roce_networks(site):
        if not network.exists and network.mtu != ROCE_MTU:
            yield Problem(
                ("gpu", "rdma", "mtu"),
                f"`gpu.rdma.mtu` {network.mtu} is not {ROCE_MTU}, the MTU of RoCE networks",
                "leave it out",
            )


@rule("rdma-subnetworks")
def rdma_subnetworks(site: Site) -> Iterator[Problem]:
    """There is not one RDMA subnetwork for each RDMA NIC.

    Pool, Network objects and pod annotations all count them off in order, and a NIC without a network stays down.

    Source: catalog machines, `rdma_nics`; GKE, "Create a custom AI-optimized cluster".

    Mend: as many ranges (or existing subnetworks, each once) as RDMA NICs; `gpu.rdma.cidrs` can be left out.
    """
    spec = site.profile.gpu.rdma
    path: ProfilePath = ("gpu", "rdma", "existing", "subnetworks") if spec.existing else ("gpu", "rdma", "cidrs")
    own = next((network for network in _roce_networks(site) if network.path == ("gpu", "rdma")), None)
    if own is None:
        return
    names = own.subnetworks
    nics = {pool.spec.machine_type: pool.own_nics[1] for pool in site.pools if site.fabric_of(pool) in site.fabrics}
    most = max(nics.values(), default=0)
    for machine, count in nics.items():
        if count > len(names) or (count == most and count < len(names)):
            yield Problem(
                path, f"there are {len(names)} RDMA subnetworks; {machine} has {count} RDMA NICs", f"give {count}"
            )
    if spec.existing and len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        yield Problem(path, f"the RDMA subnetwork {twice} stands twice", "give each NIC a subnetwork of its own")
    if spec.existing and spec.cidrs is not None and len(spec.cidrs) != len(names):
        yield Problem(
            ("gpu", "rdma", "cidrs"),
            f"there are {len(spec.cidrs)} ranges for {len(names)} existing RDMA subnetworks",
            "give the range of each, in the same order",
        )
