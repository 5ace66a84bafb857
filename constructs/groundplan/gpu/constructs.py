"""A GPU node pool as a construct, for a site and for any other cdktf program; its networks stand beside it.

The resources stand in the scope that a construct is given, under its id, and not below it, so that state and reviewers
see short addresses. Each is a public attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Literal

from cdktf import ITerraformDependable, TerraformResourceLifecycle, TerraformStack
from cdktf_cdktf_provider_google import compute_resource_policy as policy
from cdktf_cdktf_provider_google import container_node_pool as pool
from constructs import Construct
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from groundplan.catalog.newer import require_pinned, set_newer
from groundplan.gpu.fabric_constructs import (
    AttachedNetworks,
    GvnicNetwork,
    GvnicNetworkProps,
    RoceFabric,
    RoceFabricProps,
)
from groundplan.gpu.spec import Capacity
from groundplan.gpu.values import DYNAMIC
from groundplan.kernel.constructs import Part
from groundplan.kernel.fields import Count, Matching, PositiveCount
from groundplan.kernel.gke import DRANET_LABEL, GPU_TAINT, NODE_SCOPES, RESERVATION_KEY, region_of
from groundplan.kernel.props import PROPS, ClusterName, KubernetesLabels, Labels, Several, Text, Zone

__all__ = [
    "AttachedNetworks",
    "GpuNodePool",
    "GpuNodePoolProps",
    "GvnicNetwork",
    "GvnicNetworkProps",
    "NodeTaint",
    "NvlinkDomain",
    "RoceFabric",
    "RoceFabricProps",
]

#: TCP buffers for checkpoints and weights over the ordinary NICs (as Google's cluster-toolkit sets them on A3 and A4).
SYSCTLS = {"net.ipv4.tcp_rmem": "4096 87380 16777216", "net.ipv4.tcp_wmem": "4096 16384 16777216"}


@dataclass(frozen=True, kw_only=True, config=PROPS)
class NodeTaint:
    """A node taint; the effect as the GKE API spells it."""

    key: Text
    """Its key."""
    value: str = ""
    """Its value. Default: empty."""
    effect: Literal["NO_SCHEDULE", "PREFER_NO_SCHEDULE", "NO_EXECUTE"] = "NO_SCHEDULE"
    """What it does to pods that do not tolerate it. Default: NO_SCHEDULE."""


@dataclass(frozen=True, kw_only=True, config=PROPS)
class NvlinkDomain:
    """A workload policy that keeps a pool's machines in one NVLink domain."""

    policy: Text
    """Name of the policy, which no other of the project's region may have."""
    topology: Annotated[str, Matching(r"[0-9]+x[0-9]+", "a topology such as 1x72")]
    """What the domain is: ``1x72`` for 18 machines of 4 GPUs."""


@dataclass(frozen=True, kw_only=True, config=PROPS)
class GpuNodePoolProps:
    """A node pool of GPU machines with additional networks."""

    name: ClusterName
    """Name of the pool. Another machine type wants another name: the provider changes one in place, to no effect."""
    project: Text
    """Project of the cluster."""
    cluster: Text
    """Name of the cluster."""
    location: Text
    """Region or zone of the cluster."""
    zone: Zone
    """Zone of the nodes; the RoCE network's."""
    machine_type: Text
    """Machine type, such as a4-highgpu-8g."""
    accelerator: Text
    """GPU type as GKE names it, such as nvidia-b200."""
    gpus_per_node: Annotated[int, Field(ge=0, le=16)]
    """GPUs of one machine, at most 16."""
    networks: Several[AttachedNetworks] = ()
    """Networks of the additional NICs in their order: `GvnicNetwork(...).attached`, then `RoceFabric(...).attached`.
    Default: none."""
    managed_networks: bool = False
    """GKE makes the networks of the additional NICs, and hands the NICs to pods by claims (managed DRANET); never with
    `networks`. Default: no."""
    service_account: Text
    """E-mail address of the nodes' account."""
    nodes: Count | None = None
    """Fixed number of nodes. Give this, or `most_nodes` for an autoscaled pool. Default: autoscaled."""
    least_nodes: Count = 0
    """Fewest nodes of an autoscaled pool. Default: 0."""
    most_nodes: PositiveCount | None = None
    """Most nodes of an autoscaled pool. Default: a fixed number."""
    capacity: Capacity = "reservation"
    """Where the machines come from. Default: reservation."""
    reservation: str = ""
    """Full name of the reservation (``projects/P/reservations/R``); needed with capacity reservation. Default:
    none."""
    driver: Literal["DEFAULT", "LATEST"] = "DEFAULT"
    """NVIDIA driver that GKE installs. Default: DEFAULT, the one that GKE has proven."""
    local_ssds: Count = 0
    """Local SSDs of 375 GiB for ephemeral storage. Default: 0."""
    disk_gib: Annotated[int, Field(ge=50, le=65536)] = 200
    """Size of the boot disk in GiB, 50 to 65536. Default: 200."""
    disk_type: str = ""
    """Type of the boot disk. Default: GKE's own."""
    max_pods_per_node: Annotated[int, Field(ge=8, le=256)] = 110
    """Most pods on a node, 8 to 256. Default: 110."""
    auto_repair: bool = True
    """Auto-repair; GKE wants it off with flex_start and queued. Default: yes."""
    auto_upgrade: bool = True
    """Auto-upgrade, which a release channel demands. Default: yes."""
    compact_placement: bool = False
    """Compact placement policy; never with a reservation, which has its own. Default: no."""
    nvlink: NvlinkDomain | None = None
    """The pool is one NVLink domain, in one sub-block of the reservation. Default: no."""
    drain_hours: Annotated[int, Field(ge=1, le=24)] | None = None
    """Hours for which a PodDisruptionBudget is honoured when nodes are drained, 1 to 24. Default: GKE's own (1)."""
    prevent_destroy: bool = False
    """A plan that would destroy or replace the pool fails. Default: no."""
    max_run_hours: Annotated[int, Field(ge=1, le=168)] | None = None
    """With flex_start or queued: hours after which the nodes are taken back, 1 to 168. Default: Google's own
    limit."""
    secure_boot: bool = True
    """Secure Boot. Default: yes."""
    labels: KubernetesLabels = field(default_factory=dict)
    """Node labels. Default: none."""
    resource_labels: Labels = field(default_factory=dict)
    """Google Cloud labels of the nodes. Default: none."""
    taints: Several[NodeTaint] = ()
    """Taints beside GKE's own nvidia.com/gpu taint. Default: none."""

    @model_validator(mode="after")
    def _one_count_and_a_source(self) -> GpuNodePoolProps:
        if (self.nodes is None) == (self.most_nodes is None):
            raise ValueError(f"pool {self.name}: give exactly one of nodes and most_nodes")
        if self.most_nodes is not None and self.least_nodes > self.most_nodes:
            raise ValueError(f"pool {self.name}: least_nodes {self.least_nodes} is above most_nodes {self.most_nodes}")
        if self.managed_networks and self.networks:
            raise ValueError(f"pool {self.name}: managed_networks leaves no room for networks; give one of the two")
        if self.nvlink and self.compact_placement:
            raise ValueError(f"pool {self.name}: nvlink places the machines; leave compact_placement out")
        if self.capacity == "reservation" and not self.reservation:
            raise ValueError(f"pool {self.name}: capacity reservation needs a reservation; name it, or choose another")
        return self


class GpuNodePool(Part):
    """The pool, ``google_container_node_pool.<id>``, and ``terraform_data.shape-<name of the pool>``, which makes a
    change of its shape the replacement that it is. Of an NVLink domain ``google_compute_resource_policy.<id>-policy``
    too, which is `policy`.

    `depends_on` is what must be there first, such as the right to use another project's subnetworks.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: GpuNodePoolProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        super().__init__(scope, id_)
        shape = f"shape-{props.name}"
        # The provider plans a new machine type in place, and the apply "succeeds" without touching a node
        # (terraform-provider-google#23502). A plain override, because cdktf's DataResource starts `terraform version`
        # at every synth to see whether it may be used.
        TerraformStack.of(self).add_override(
            f"resource.terraform_data.{shape}",
            {"triggers_replace": {"machine_type": props.machine_type, "zone": props.zone}},
        )
        self.policy: policy.ComputeResourcePolicy | None = None
        triggers = [trigger for attached in props.networks for trigger in attached.replaced_with]
        dynamic = props.capacity in DYNAMIC
        self.node_pool = pool.ContainerNodePool(
            scope,
            id_,
            name=props.name,
            project=props.project,
            cluster=props.cluster,
            location=props.location,
            node_locations=[props.zone],
            # A fixed pool has node_count alone, an autoscaled one autoscaling alone, and none initial_node_count, whose
            # every change would rebuild it (terraform-provider-google#6901).
            node_count=props.nodes,
            autoscaling=_autoscaling(props),
            max_pods_per_node=props.max_pods_per_node,
            network_config=pool.ContainerNodePoolNetworkConfig(
                enable_private_nodes=True,
                additional_node_network_configs=[
                    pool.ContainerNodePoolNetworkConfigAdditionalNodeNetworkConfigs(
                        network=network, subnetwork=subnetwork
                    )
                    for attached in props.networks
                    for network, subnetwork in attached.pairs
                ]
                or None,
            ),
            placement_policy=self._placement(scope, id_, props),
            queued_provisioning=pool.ContainerNodePoolQueuedProvisioning(enabled=True)
            if props.capacity == "queued"
            else None,
            management=pool.ContainerNodePoolManagement(auto_repair=props.auto_repair, auto_upgrade=props.auto_upgrade),
            # No spare reserved machine exists to surge onto. (Flex-start and queued pools take no strategy of ours.)
            upgrade_settings=None
            if dynamic
            else pool.ContainerNodePoolUpgradeSettings(strategy="SURGE", max_surge=0, max_unavailable=1),
            node_config=_node_config(props),
            lifecycle=TerraformResourceLifecycle(
                replace_triggered_by=[*triggers, f"terraform_data.{shape}.id"],
                prevent_destroy=props.prevent_destroy or None,
            ),
            # A create that timed out leaves a tainted pool; 8-GPU machines take their time.
            timeouts=pool.ContainerNodePoolTimeouts(create="120m", update="120m", delete="120m"),
            depends_on=list(depends_on) or None,
        )
        if props.capacity == "any_reservation":
            require_pinned(self.node_pool)  # the word is newer than the bindings' provider (7.40.0)
        if props.managed_networks:
            set_newer(self.node_pool, "network_config.accelerator_network_profile", "auto")
        if props.drain_hours:
            set_newer(self.node_pool, "node_drain_config", [{"pdb_timeout_duration": f"{props.drain_hours * 3600}s"}])

    def _placement(
        self, scope: Construct, id_: str, props: GpuNodePoolProps
    ) -> pool.ContainerNodePoolPlacementPolicy | None:
        """Compact by GKE's own policy; an NVLink domain by one of the pool's, which cannot be changed once made."""
        if props.nvlink is None:
            return pool.ContainerNodePoolPlacementPolicy(type="COMPACT") if props.compact_placement else None
        self.policy = policy.ComputeResourcePolicy(
            scope,
            f"{id_}-policy",
            name=props.nvlink.policy,
            project=props.project,
            region=region_of(props.zone),
            workload_policy=policy.ComputeResourcePolicyWorkloadPolicy(
                type="HIGH_THROUGHPUT", accelerator_topology=props.nvlink.topology
            ),
        )
        return pool.ContainerNodePoolPlacementPolicy(type="COMPACT", policy_name=self.policy.name)


def _autoscaling(props: GpuNodePoolProps) -> pool.ContainerNodePoolAutoscaling | None:
    if props.most_nodes is None:
        return None
    return pool.ContainerNodePoolAutoscaling(
        total_min_node_count=props.least_nodes, total_max_node_count=props.most_nodes, location_policy="ANY"
    )


def _node_config(props: GpuNodePoolProps) -> pool.ContainerNodePoolNodeConfig:
    driver = pool.ContainerNodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfig(
        gpu_driver_version=props.driver
    )
    # GKE sets the first taint itself; written out, the plan shows it and Kueue can match it.
    taints = (NodeTaint(key=GPU_TAINT, value="present"), *props.taints)
    return pool.ContainerNodePoolNodeConfig(
        machine_type=props.machine_type,
        # GPUDirect RDMA and Lustre both need Container-Optimized OS.
        image_type="COS_CONTAINERD",
        guest_accelerator=[
            pool.ContainerNodePoolNodeConfigGuestAccelerator(
                type=props.accelerator, count=props.gpus_per_node, gpu_driver_installation_config=driver
            )
        ],
        reservation_affinity=_affinity(props),
        spot=True if props.capacity == "spot" else None,
        # A queued pool is a flex-start one whose nodes come all at once, for a ProvisioningRequest.
        flex_start=True if props.capacity in DYNAMIC else None,
        max_run_duration=f"{props.max_run_hours * 3600}s" if props.max_run_hours else None,
        ephemeral_storage_local_ssd_config=pool.ContainerNodePoolNodeConfigEphemeralStorageLocalSsdConfig(
            local_ssd_count=props.local_ssds
        )
        if props.local_ssds
        else None,
        disk_size_gb=props.disk_gib,
        disk_type=props.disk_type or None,
        service_account=props.service_account,
        oauth_scopes=NODE_SCOPES,
        gvnic=pool.ContainerNodePoolNodeConfigGvnic(enabled=True),
        shielded_instance_config=pool.ContainerNodePoolNodeConfigShieldedInstanceConfig(
            enable_secure_boot=props.secure_boot, enable_integrity_monitoring=True
        ),
        workload_metadata_config=pool.ContainerNodePoolNodeConfigWorkloadMetadataConfig(mode="GKE_METADATA"),
        linux_node_config=pool.ContainerNodePoolNodeConfigLinuxNodeConfig(sysctls=SYSCTLS),
        metadata={"disable-legacy-endpoints": "true"},
        labels=({DRANET_LABEL: "true"} if props.managed_networks else {}) | dict(props.labels) or None,
        resource_labels=dict(props.resource_labels),
        taint=[pool.ContainerNodePoolNodeConfigTaint(key=t.key, value=t.value, effect=t.effect) for t in taints],
    )


def _affinity(props: GpuNodePoolProps) -> pool.ContainerNodePoolNodeConfigReservationAffinity:
    """The reservation by its full name, or the explicit word that none may be used, which GKE demands elsewhere."""
    if props.capacity == "any_reservation":
        return pool.ContainerNodePoolNodeConfigReservationAffinity(consume_reservation_type="ANY_RESERVATION_THEN_FAIL")
    if props.capacity != "reservation":
        return pool.ContainerNodePoolNodeConfigReservationAffinity(consume_reservation_type="NO_RESERVATION")
    return pool.ContainerNodePoolNodeConfigReservationAffinity(
        consume_reservation_type="SPECIFIC_RESERVATION", key=RESERVATION_KEY, values=[props.reservation]
    )
