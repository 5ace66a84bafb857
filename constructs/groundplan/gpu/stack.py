"""The gpu stack: the fabric (gVNIC VPC, RoCE VPC) and the GPU pools that use it.

The fabric is zonal and lives and dies with its pools, so it stands in their stack: when the RoCE network must be
replaced, one plan replaces pools and network in the right order.
"""

from __future__ import annotations

from constructs import Construct

from groundplan.cluster.values import account_email
from groundplan.gpu.constructs import (
    AttachedNetworks,
    GpuNodePool,
    GpuNodePoolProps,
    GvnicNetwork,
    GvnicNetworkProps,
    NodeTaint,
    RoceFabric,
    RoceFabricProps,
)
from groundplan.gpu.values import PoolValues
from groundplan.network.firewall_constructs import IngressRule, IngressRuleProps
from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack


class GpuStack(SiteStack):
    """Everything that changes with capacity, zone and driver."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "gpu")
        networks = (self._gvnic(), self._rdma())
        self.pools = [self._pool(values, networks) for values in site.pools]

    def _gvnic(self) -> AttachedNetworks:
        site, fabric = self.site, self.site.fabric
        if fabric.gvnic_exists:
            return GvnicNetwork.existing(network=fabric.gvnic_vpc, subnetwork=fabric.gvnic_subnetwork)
        gvnic = GvnicNetwork(
            self,
            "gvnic",
            GvnicNetworkProps(
                project=site.project,
                region=site.region,
                network=fabric.gvnic_vpc,
                subnetwork=fabric.gvnic_subnetwork,
                firewall=fabric.gvnic_firewall,
                cidr=fabric.gvnic_cidr,
                mtu=fabric.gvnic_mtu,
                description=f"{site.name}: second NIC of the GPU nodes",
            ),
        )
        for rule in site.profile.network.firewall_rules:
            if rule.network == "gvnic":
                props = IngressRuleProps.of(rule, project=site.project, network=gvnic.network.name)
                IngressRule(self, f"firewall-{rule.name}", props)
        return gvnic.attached

    def _rdma(self) -> AttachedNetworks:
        site, fabric = self.site, self.site.fabric
        if fabric.rdma_exists:
            return RoceFabric.existing(network=fabric.rdma_vpc, subnetworks=fabric.rdma_subnetworks)
        props = RoceFabricProps(
            project=site.project,
            region=site.region,
            zone=site.zone,
            network=fabric.rdma_vpc,
            subnetworks=fabric.rdma_subnetworks,
            cidrs=fabric.rdma_cidrs,
            network_profile=fabric.network_profile,
            mtu=fabric.rdma_mtu,
            description=f"{site.name}: GPUDirect RDMA (RoCE)",
        )
        return RoceFabric(self, "rdma", props).attached

    def _pool(self, values: PoolValues, networks: tuple[AttachedNetworks, ...]) -> GpuNodePool:
        site, spec = self.site, values.spec
        fixed = values.fixed_nodes is not None
        props = GpuNodePoolProps(
            name=values.name,
            project=site.project,
            cluster=site.cluster.name,
            location=site.region,
            zone=values.zone,
            machine_type=spec.machine_type,
            accelerator=values.accelerator,
            gpus_per_node=values.gpus_per_node,
            networks=networks,
            service_account=account_email(site.cluster.nodes_account, site.project),
            nodes=values.fixed_nodes,
            least_nodes=0 if fixed else values.min_nodes,
            most_nodes=None if fixed else values.max_nodes,
            capacity=values.capacity,
            reservation=str(values.reservation_path or ""),
            driver=spec.driver,
            local_ssds=values.local_ssds,
            disk_gib=spec.boot_disk.size_gib,
            disk_type=values.boot_disk_type,
            max_pods_per_node=values.max_pods_per_node,
            auto_repair=values.auto_repair,
            auto_upgrade=values.auto_upgrade,
            compact_placement=spec.placement == "compact",
            drain_hours=spec.drain_hours,
            prevent_destroy=site.prevent_destroy,
            max_run_hours=spec.max_run_hours,
            secure_boot=spec.secure_boot,
            labels=spec.labels,
            resource_labels=site.labels,
            taints=tuple(NodeTaint(key=t.key, value=t.value, effect=t.effect) for t in spec.taints),
        )
        return GpuNodePool(self, f"pool-{values.name}", props)
