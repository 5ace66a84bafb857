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
from groundplan.network.firewall_constructs import IngressRule, IngressRuleProps
from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack


class FabricNetworks:
    """gVNIC first, then RoCE: what the profile says exists is used, the rest is made.

    In a Shared VPC all of them stand in the host project, because GKE wants every NIC of a node in the project of the
    cluster's network ("Set up multi-network support for Pods", General limitations). `depends_on` is what must be there
    first, such as the project's services.
    """

    def __init__(self, stack: SiteStack, site: Site, depends_on: Sequence[ITerraformDependable] = ()) -> None:
        self.site = site
        self.depends_on = depends_on
        self.subnetworks: dict[str, str] = {}
        """Id -> name of each subnetwork that is made here."""
        self.attached = (self._gvnic(stack), self._rdma(stack))
        """For the pools that stand in the same stack."""

    def _gvnic(self, stack: SiteStack) -> AttachedNetworks:
        site, fabric = self.site, self.site.fabric
        if fabric.gvnic_exists:
            return existing_fabric(site)[0]
        gvnic = GvnicNetwork(
            stack,
            "gvnic",
            GvnicNetworkProps(
                project=fabric.project,
                region=site.region,
                network=fabric.gvnic_vpc,
                subnetwork=fabric.gvnic_subnetwork,
                firewall=fabric.gvnic_firewall,
                cidr=fabric.gvnic_cidr,
                mtu=fabric.gvnic_mtu,
                description=f"{site.name}: second NIC of the GPU nodes",
                by_path=site.network.is_shared,
            ),
            depends_on=self.depends_on,
        )
        for rule in site.profile.network.firewall_rules:
            if rule.network == "gvnic":
                props = IngressRuleProps.of(rule, project=fabric.project, network=gvnic.network.name)
                IngressRule(stack, f"firewall-{rule.name}", props)
        self.subnetworks["gvnic-subnetwork"] = fabric.gvnic_subnetwork
        return gvnic.attached

    def _rdma(self, stack: SiteStack) -> AttachedNetworks:
        site, fabric = self.site, self.site.fabric
        if fabric.rdma_exists:
            return existing_fabric(site)[1]
        props = RoceFabricProps(
            project=fabric.project,
            region=site.region,
            zone=site.zone,
            network=fabric.rdma_vpc,
            subnetworks=fabric.rdma_subnetworks,
            cidrs=fabric.rdma_cidrs,
            network_profile=fabric.network_profile,
            mtu=fabric.rdma_mtu,
            description=f"{site.name}: GPUDirect RDMA (RoCE)",
            by_path=site.network.is_shared,
        )
        self.subnetworks |= {f"rdma-subnetwork-{n}": name for n, name in enumerate(fabric.rdma_subnetworks)}
        return RoceFabric(stack, "rdma", props, depends_on=self.depends_on).attached


def existing_fabric(site: Site) -> tuple[AttachedNetworks, AttachedNetworks]:
    """The same networks for a stack that does not make them; by full names where they are another project's."""
    fabric = site.fabric

    def network(name: str) -> str:
        return f"projects/{fabric.project}/global/networks/{name}" if site.network.is_shared else name

    def subnetwork(name: str) -> str:
        return f"projects/{fabric.project}/regions/{site.region}/subnetworks/{name}" if site.network.is_shared else name

    gvnic = GvnicNetwork.existing(network=network(fabric.gvnic_vpc), subnetwork=subnetwork(fabric.gvnic_subnetwork))
    rdma = RoceFabric.existing(
        network=network(fabric.rdma_vpc), subnetworks=[subnetwork(name) for name in fabric.rdma_subnetworks]
    )
    return gvnic, rdma
