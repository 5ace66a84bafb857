"""The gpu stack: the fabric, where the site has one of its own, and the GPU pools that use it.

The fabric is zonal and lives and dies with its pools, so it stands in their stack: when the RoCE network must be
replaced, one plan replaces pools and network in the right order.
"""

from __future__ import annotations

from collections.abc import Sequence

from cdktf import ITerraformDependable
from constructs import Construct

from groundplan.cluster.values import account_email
from groundplan.gpu import nvlink
from groundplan.gpu.constructs import (
    AttachedNetworks,
    GpuNodePool,
    GpuNodePoolProps,
    NodeTaint,
    NvlinkDomain,
)
from groundplan.gpu.fabric_stack import FabricNetworks, existing_fabrics, networks_of
from groundplan.gpu.values import PoolValues
from groundplan.network.sharing_stack import members_of, share
from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack


class GpuStack(SiteStack):
    """Everything that changes with capacity, zone and driver."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "gpu")
        attached, grants = self._networks()
        self.pools = [self._pool(values, networks_of(site, values, attached), grants) for values in site.pools]

    def _networks(self) -> tuple[dict[str, AttachedNetworks], Sequence[ITerraformDependable]]:
        """The fabric, and what lets nodes use it where it is another project's: pools wait for that."""
        site = self.site
        if site.network.host_stack:
            return existing_fabrics(site), []
        fabric = FabricNetworks(self, site)
        if not site.network.is_shared or not fabric.subnetworks:
            return fabric.attached, []
        made = {id_: f"${{google_compute_subnetwork.{id_}.name}}" for id_ in fabric.subnetworks}
        users = share(self, site, made, members_of(self, site))
        return fabric.attached, [grant for each in users for grant in each.grants.values()]

    def _pool(
        self, values: PoolValues, networks: tuple[AttachedNetworks, ...], grants: Sequence[ITerraformDependable]
    ) -> GpuNodePool:
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
            managed_networks=values.is_managed,
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
            nvlink=NvlinkDomain(policy=f"{site.name}-{values.name}", topology=nvlink.topology(values.gpu))
            if values.gpu and values.nvlink_nodes
            else None,
            drain_hours=spec.drain_hours,
            prevent_destroy=site.prevent_destroy,
            max_run_hours=spec.max_run_hours,
            secure_boot=spec.secure_boot,
            labels=spec.labels,
            resource_labels=site.labels,
            taints=tuple(NodeTaint(key=t.key, value=t.value, effect=t.effect) for t in spec.taints),
        )
        return GpuNodePool(self, f"pool-{values.name}", props, depends_on=grants)
