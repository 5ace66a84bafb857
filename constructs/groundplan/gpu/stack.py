"""The gpu stack: the fabric (gVNIC VPC, RoCE VPC) and the GPU pools that use it.

The fabric is zonal and lives and dies with its pools, so it stands in their stack: when the RoCE network must be
replaced, one plan replaces pools and network in the right order.
"""

from __future__ import annotations

from cdktf import TerraformResourceLifecycle
from cdktf_cdktf_provider_google import container_node_pool as pool
from cdktf_cdktf_provider_google.compute_firewall import ComputeFirewall, ComputeFirewallAllow
from cdktf_cdktf_provider_google.compute_network import ComputeNetwork
from cdktf_cdktf_provider_google.compute_subnetwork import ComputeSubnetwork
from constructs import Construct

from groundplan.cluster.values import NODE_SCOPES, account_email
from groundplan.gpu.values import DYNAMIC, GPU_TAINT, RESERVATION_KEY, PoolValues
from groundplan.network.stack import own_firewall
from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack

#: TCP buffers for checkpoints and weights over the ordinary NICs (as Google's cluster-toolkit sets them on A3 and A4).
SYSCTLS = {"net.ipv4.tcp_rmem": "4096 87380 16777216", "net.ipv4.tcp_wmem": "4096 16384 16777216"}


class GpuStack(SiteStack):
    """Everything that changes with capacity, zone and driver."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "gpu")
        #: Network and subnetwork names of the additional NICs, in order.
        self.nics: list[tuple[str, str]] = []
        #: What a pool must be rebuilt with: it refers to names, which stay the same when a network is replaced.
        self.triggers: list[str] = []
        self._gvnic()
        self._rdma()
        self._shapes()
        for plan in site.pools:
            self._pool(plan)

    def _gvnic(self) -> None:
        fabric = self.site.fabric
        if fabric.gvnic_exists:
            self.nics.append((fabric.gvnic_vpc, fabric.gvnic_subnetwork))
            return
        vpc = ComputeNetwork(
            self,
            "gvnic",
            name=fabric.gvnic_vpc,
            project=self.site.project,
            description=f"{self.site.name}: second NIC of the GPU nodes",
            auto_create_subnetworks=False,
            delete_default_routes_on_create=False,
            routing_mode="REGIONAL",
            mtu=fabric.gvnic_mtu,
        )
        self._subnetwork("gvnic-subnetwork", fabric.gvnic_subnetwork, vpc, str(fabric.gvnic_cidr))
        ComputeFirewall(
            self,
            "gvnic-internal",
            name=fabric.gvnic_firewall,
            project=self.site.project,
            network=vpc.name,
            description="GPU nodes to one another",
            direction="INGRESS",
            priority=1000,
            source_ranges=[str(fabric.gvnic_cidr)],
            allow=[
                ComputeFirewallAllow(protocol="tcp", ports=["0-65535"]),
                ComputeFirewallAllow(protocol="udp", ports=["0-65535"]),
                ComputeFirewallAllow(protocol="icmp"),
            ],
        )
        for rule in self.site.profile.network.firewall_rules:
            if rule.network == "gvnic":
                own_firewall(self, rule, vpc.name)
        self._use("gvnic", ["gvnic-subnetwork"])

    def _rdma(self) -> None:
        """The RoCE VPC. No firewall rule: its network profile refuses them."""
        fabric = self.site.fabric
        if fabric.rdma_exists:
            self.nics += [(fabric.rdma_vpc, subnetwork) for subnetwork in fabric.rdma_subnetworks]
            return
        vpc = ComputeNetwork(
            self,
            "rdma",
            name=fabric.rdma_vpc,
            project=self.site.project,
            description=f"{self.site.name}: GPUDirect RDMA (RoCE)",
            auto_create_subnetworks=False,
            delete_default_routes_on_create=False,
            routing_mode="REGIONAL",
            mtu=fabric.rdma_mtu,
            # This form alone: a partial link shows as a diff for ever (provider before 6.39).
            network_profile=f"projects/{self.site.project}/global/networkProfiles/{fabric.network_profile}",
        )
        ids = []
        for n, (name, cidr) in enumerate(zip(fabric.rdma_subnetworks, fabric.rdma_cidrs, strict=True)):
            ids.append(f"rdma-subnetwork-{n}")
            self._subnetwork(ids[n], name, vpc, str(cidr))
        self._use("rdma", ids)

    def _subnetwork(self, id_: str, name: str, vpc: ComputeNetwork, cidr: str) -> None:
        ComputeSubnetwork(
            self,
            id_,
            name=name,
            project=self.site.project,
            region=self.site.region,
            network=vpc.id,
            ip_cidr_range=cidr,
            stack_type="IPV4_ONLY",
        )

    def _use(self, network: str, subnetworks: list[str]) -> None:
        """Note what pools refer to, by construct ids.

        The references are written out: each attribute read from a cdktf resource is a round trip to Node.
        """
        for subnetwork in subnetworks:
            pair = f"${{google_compute_network.{network}.name}}", f"${{google_compute_subnetwork.{subnetwork}.name}}"
            self.nics.append(pair)
        self.triggers.append(f"google_compute_network.{network}.id")
        self.triggers += [f"google_compute_subnetwork.{subnetwork}.id" for subnetwork in subnetworks]

    def _shapes(self) -> None:
        """What makes a change of shape the replacement that it is.

        The provider plans a new machine type in place, and the apply "succeeds" without touching a node
        (terraform-provider-google#23502). Plain overrides, because cdktf's DataResource starts `terraform version` at
        every synth to see whether it may be used.
        """
        shapes = {
            _shape_id(plan): {"triggers_replace": {"machine_type": plan.spec.machine_type, "zone": plan.zone}}
            for plan in self.site.pools
        }
        self.add_override("resource.terraform_data", shapes)

    def _pool(self, plan: PoolValues) -> pool.ContainerNodePool:
        site, spec = self.site, plan.spec
        dynamic = plan.capacity in DYNAMIC
        triggers = [*self.triggers, f"terraform_data.{_shape_id(plan)}.id"]
        return pool.ContainerNodePool(
            self,
            f"pool-{plan.name}",
            name=plan.name,
            project=site.project,
            cluster=site.cluster.name,
            location=site.region,
            node_locations=[plan.zone],
            # A fixed pool has node_count alone, an autoscaled one autoscaling alone, and none initial_node_count, whose
            # every change would rebuild it (terraform-provider-google#6901).
            node_count=plan.fixed_nodes,
            autoscaling=self._autoscaling(plan),
            max_pods_per_node=plan.max_pods_per_node,
            network_config=pool.ContainerNodePoolNetworkConfig(
                enable_private_nodes=True,
                additional_node_network_configs=[
                    pool.ContainerNodePoolNetworkConfigAdditionalNodeNetworkConfigs(
                        network=network, subnetwork=subnetwork
                    )
                    for network, subnetwork in self.nics
                ],
            ),
            placement_policy=pool.ContainerNodePoolPlacementPolicy(type="COMPACT")
            if spec.placement == "compact"
            else None,
            queued_provisioning=pool.ContainerNodePoolQueuedProvisioning(enabled=True)
            if plan.capacity == "queued"
            else None,
            management=pool.ContainerNodePoolManagement(auto_repair=plan.auto_repair, auto_upgrade=plan.auto_upgrade),
            # No spare reserved machine exists to surge onto. (Flex-start and queued pools take no strategy of ours.)
            upgrade_settings=None
            if dynamic
            else pool.ContainerNodePoolUpgradeSettings(strategy="SURGE", max_surge=0, max_unavailable=1),
            node_config=self._node_config(plan),
            lifecycle=TerraformResourceLifecycle(replace_triggered_by=triggers),
            # A create that timed out leaves a tainted pool; 8-GPU machines take their time.
            timeouts=pool.ContainerNodePoolTimeouts(create="120m", update="120m", delete="120m"),
        )

    def _autoscaling(self, plan: PoolValues) -> pool.ContainerNodePoolAutoscaling | None:
        if plan.fixed_nodes is not None:
            return None
        return pool.ContainerNodePoolAutoscaling(
            total_min_node_count=plan.min_nodes, total_max_node_count=plan.max_nodes, location_policy="ANY"
        )

    def _node_config(self, plan: PoolValues) -> pool.ContainerNodePoolNodeConfig:
        spec, site = plan.spec, self.site
        own_taints = [
            pool.ContainerNodePoolNodeConfigTaint(key=t.key, value=t.value, effect=t.effect) for t in spec.taints
        ]
        return pool.ContainerNodePoolNodeConfig(
            machine_type=spec.machine_type,
            # GPUDirect RDMA and Lustre both need Container-Optimized OS.
            image_type="COS_CONTAINERD",
            guest_accelerator=[
                pool.ContainerNodePoolNodeConfigGuestAccelerator(
                    type=plan.accelerator,
                    count=plan.gpus_per_node,
                    gpu_driver_installation_config=(
                        pool.ContainerNodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfig(
                            gpu_driver_version=spec.driver
                        )
                    ),
                )
            ],
            reservation_affinity=_affinity(plan),
            spot=True if plan.capacity == "spot" else None,
            flex_start=True if plan.capacity == "flex_start" else None,
            max_run_duration=f"{spec.max_run_hours * 3600}s" if spec.max_run_hours else None,
            ephemeral_storage_local_ssd_config=pool.ContainerNodePoolNodeConfigEphemeralStorageLocalSsdConfig(
                local_ssd_count=plan.local_ssds
            )
            if plan.local_ssds
            else None,
            disk_size_gb=spec.boot_disk.size_gib,
            disk_type=plan.boot_disk_type or None,
            service_account=account_email(site.cluster.nodes_account, site.project),
            oauth_scopes=NODE_SCOPES,
            gvnic=pool.ContainerNodePoolNodeConfigGvnic(enabled=True),
            shielded_instance_config=pool.ContainerNodePoolNodeConfigShieldedInstanceConfig(
                enable_secure_boot=spec.secure_boot, enable_integrity_monitoring=True
            ),
            workload_metadata_config=pool.ContainerNodePoolNodeConfigWorkloadMetadataConfig(mode="GKE_METADATA"),
            host_maintenance_policy=pool.ContainerNodePoolNodeConfigHostMaintenancePolicy(
                maintenance_interval=spec.host_maintenance
            )
            if spec.host_maintenance
            else None,
            linux_node_config=pool.ContainerNodePoolNodeConfigLinuxNodeConfig(sysctls=SYSCTLS),
            metadata={"disable-legacy-endpoints": "true"},
            labels=dict(spec.labels) or None,
            resource_labels=site.labels,
            # GKE sets this taint itself; written out, the plan shows it and Kueue can match it.
            taint=[
                pool.ContainerNodePoolNodeConfigTaint(key=GPU_TAINT, value="present", effect="NO_SCHEDULE"),
                *own_taints,
            ],
        )


def _shape_id(plan: PoolValues) -> str:
    return f"shape-{plan.name}"


def _affinity(plan: PoolValues) -> pool.ContainerNodePoolNodeConfigReservationAffinity:
    """The reservation by its full name, or the explicit word that none may be used, which GKE demands elsewhere."""
    if plan.capacity != "reservation":
        return pool.ContainerNodePoolNodeConfigReservationAffinity(consume_reservation_type="NO_RESERVATION")
    return pool.ContainerNodePoolNodeConfigReservationAffinity(
        consume_reservation_type="SPECIFIC_RESERVATION", key=RESERVATION_KEY, values=[plan.reservation_path]
    )
