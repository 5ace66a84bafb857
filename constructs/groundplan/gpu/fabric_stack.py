"""The networks of the GPU nodes' additional NICs, in the stack that makes them: gpu, or the host project's own."""

from __future__ import annotations

from collections.abc import Sequence

from cdktf import ITerraformDependable

from groundplan.gpu.fabric_constructs import (
    AttachedNetworks,
    GvnicNetwork,
    GvnicNetworkProps,
    RoceFabric,
    RoceFabricProps,
)
from groundplan.gpu.fabric_values import FabricValues, NicNetwork
from groundplan.gpu.values import PoolValues
from groundplan.network.firewall_constructs import IngressRule, IngressRuleProps
from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack


class FabricNetworks:
    """Zone by zone gVNIC first, then RoCE: what the profile says exists is used, the rest is made.

    In a Shared VPC all of them stand in the host project, because GKE wants every NIC of a node in the project of the
    cluster's network ("Set up multi-network support for Pods", General limitations). `depends_on` is what must be there
    first, such as the project's services.
    """

    def __init__(self, stack: SiteStack, site: Site, depends_on: Sequence[ITerraformDependable] = ()) -> None:
        self.site = site
        self.depends_on = depends_on
        self.subnetworks: dict[str, str] = {}
        """Id -> name of each subnetwork that is made here."""
        self.attached: dict[str, AttachedNetworks] = {}
        """Id of each network -> what pools that stand in the same stack attach to."""
        for fabric in site.fabrics:
            for network in fabric.networks:
                self.attached[network.id] = self._network(stack, fabric, network)

    def _network(self, stack: SiteStack, fabric: FabricValues, network: NicNetwork) -> AttachedNetworks:
        if network.exists:
            return _existing(self.site, fabric, network)
        self.subnetworks |= dict(zip(network.subnetwork_ids, network.subnetworks, strict=True))
        return self._gvnic(stack, fabric, network) if network.kind == "gvnic" else self._rdma(stack, fabric, network)

    def _gvnic(self, stack: SiteStack, fabric: FabricValues, network: NicNetwork) -> AttachedNetworks:
        site = self.site
        props = GvnicNetworkProps(
            project=fabric.project,
            region=site.region,
            network=network.name,
            subnetwork=network.subnetworks[0],
            firewall=network.firewall,
            cidr=network.cidrs[0],
            mtu=network.mtu,
            description=f"{site.name}: second NIC of the GPU nodes",
            by_path=site.network.is_shared,
        )
        gvnic = GvnicNetwork(stack, network.id, props, depends_on=self.depends_on)
        for rule in site.profile.network.firewall_rules:
            if rule.network == "gvnic":
                own = IngressRuleProps.of(rule, project=fabric.project, network=gvnic.network.name)
                IngressRule(stack, f"firewall-{rule.name}{network.id.removeprefix('gvnic')}", own)
        return gvnic.attached

    def _rdma(self, stack: SiteStack, fabric: FabricValues, network: NicNetwork) -> AttachedNetworks:
        site = self.site
        props = RoceFabricProps(
            project=fabric.project,
            region=site.region,
            zone=fabric.zone,
            network=network.name,
            subnetworks=network.subnetworks,
            cidrs=network.cidrs,
            network_profile=network.network_profile,
            mtu=network.mtu,
            description=f"{site.name}: GPUDirect RDMA (RoCE)",
            by_path=site.network.is_shared,
        )
        return RoceFabric(stack, network.id, props, depends_on=self.depends_on).attached


def existing_fabrics(site: Site) -> dict[str, AttachedNetworks]:
    """The same networks for a stack that does not make them; by full names where they are another project's."""
    return {network.id: _existing(site, fabric, network) for fabric in site.fabrics for network in fabric.networks}


def networks_of(site: Site, pool: PoolValues, attached: dict[str, AttachedNetworks]) -> tuple[AttachedNetworks, ...]:
    """Those of a pool, in the order of its NICs."""
    fabric = site.fabric_of(pool)
    if fabric is None:
        return ()
    gvnics, rdma_nics = pool.own_nics
    own = [attached[network.id] for network in fabric.networks if network.kind == "gvnic"][:gvnics]
    if rdma_nics:
        own += [attached[network.id].first(rdma_nics) for network in fabric.networks if network.kind == "rdma"]
    return tuple(own)


def _existing(site: Site, fabric: FabricValues, network: NicNetwork) -> AttachedNetworks:
    """By full names where the networks are another project's."""
    shared = site.network.is_shared
    in_project = f"projects/{fabric.project}/global/networks/"
    in_region = f"projects/{fabric.project}/regions/{site.region}/subnetworks/"
    subnetworks = [in_region * shared + name for name in network.subnetworks]
    name = in_project * shared + network.name
    if network.kind == "gvnic":
        return GvnicNetwork.existing(network=name, subnetwork=subnetworks[0])
    return RoceFabric.existing(network=name, subnetworks=subnetworks)
