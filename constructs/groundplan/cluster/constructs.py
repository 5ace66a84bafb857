"""A private GKE cluster and its pool of CPU nodes, for any cdktf program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Literal, Self

from cdktf import ITerraformDependable, TerraformResourceLifecycle
from cdktf_cdktf_provider_google import container_cluster as gke
from cdktf_cdktf_provider_google import container_node_pool as pool
from constructs import Construct
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from groundplan.cluster.spec import ControlPlane, Maintenance
from groundplan.kernel.constructs import Part
from groundplan.kernel.gke import NODE_SCOPES
from groundplan.kernel.props import PROPS, ClusterName, Labels, Text, Zone

#: Metrics packages: those of GKE and the GPUs' (DCGM).
MONITORED = [
    "SYSTEM_COMPONENTS",
    "STORAGE",
    "POD",
    "DEPLOYMENT",
    "STATEFULSET",
    "DAEMONSET",
    "HPA",
    "CADVISOR",
    "KUBELET",
    "DCGM",
    "JOBSET",
]


@dataclass(frozen=True, kw_only=True, config=PROPS)
class PrivateClusterProps:
    """A regional GKE cluster with private nodes, ready for multi-networking, Lustre and Workload Identity."""

    name: ClusterName
    """Name of the cluster, at most 40 characters."""
    project: Text
    """Project it stands in."""
    location: Text
    """Region, such as us-central1."""
    network: Text
    """VPC: ``projects/P/global/networks/N``. Another form shows as a diff for ever."""
    subnetwork: Text
    """Subnetwork of the nodes: ``projects/P/regions/R/subnetworks/N``."""
    nodes_account: Text
    """E-mail address of the nodes' service account."""
    pods_range: Text = "pods"
    """Name of the subnetwork's secondary range for pods. Default: pods."""
    services_range: Text = "services"
    """Name of the subnetwork's secondary range for services. Default: services."""
    workload_pool: str | None = None
    """Workload Identity pool. Default: ``<project>.svc.id.goog``."""
    deletion_protection: bool = True
    """Terraform refuses to destroy the cluster. Default: yes."""
    release_channel: Literal["RAPID", "REGULAR", "STABLE", "EXTENDED"] = "REGULAR"
    """RAPID, REGULAR, STABLE or EXTENDED. Default: REGULAR."""
    version: str | None = None
    """Least version of the control plane. Default: the channel's."""
    max_pods_per_node: Annotated[int, Field(ge=8, le=256)] = 110
    """Default of pools that do not say, 8 to 256. Default: 110."""
    control_plane: ControlPlane = field(default_factory=ControlPlane)
    """How the API is reached. Default: the DNS endpoint alone."""
    maintenance: Maintenance = field(default_factory=Maintenance)
    """Window and exclusions. Default: weekends, 02:00 to 08:00 UTC."""
    gcs_fuse: bool = True
    """Cloud Storage FUSE driver. Default: yes. (Lustre's and the persistent disks' are always on.)"""
    legacy_lustre_port: bool = False
    """Port 6988 for Lustre, as the instance has it. Default: no."""
    description: str | None = None
    """Free text. Default: none."""
    labels: Labels = field(default_factory=dict)
    """Labels. Default: none."""

    @property
    def identity_pool(self) -> str:
        """The Workload Identity pool, its default filled in."""
        return self.workload_pool or f"{self.project}.svc.id.goog"


@dataclass(frozen=True, kw_only=True, config=PROPS)
class ExistingCluster:
    """A cluster that is there already, by what others refer to it with."""

    name: Text
    """Name of the cluster."""
    project: Text
    """Its project."""
    location: Text
    """Its region."""


class PrivateCluster(Part):
    """A private GKE cluster: ``google_container_cluster.<id>``.

    `depends_on` is what must be there first, such as the roles of the nodes' account.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: PrivateClusterProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        super().__init__(scope, id_)
        self.props = props
        control_plane = props.control_plane
        self.cluster = gke.ContainerCluster(
            scope,
            id_,
            name=props.name,
            project=props.project,
            location=props.location,
            description=props.description,
            deletion_protection=props.deletion_protection,
            resource_labels=dict(props.labels) or None,
            release_channel=gke.ContainerClusterReleaseChannel(channel=props.release_channel),
            min_master_version=props.version,
            network=props.network,
            subnetwork=props.subnetwork,
            networking_mode="VPC_NATIVE",
            datapath_provider="ADVANCED_DATAPATH",
            enable_multi_networking=True,
            ip_allocation_policy=gke.ContainerClusterIpAllocationPolicy(
                cluster_secondary_range_name=props.pods_range,
                services_secondary_range_name=props.services_range,
                stack_type="IPV4",
            ),
            default_max_pods_per_node=props.max_pods_per_node,
            private_cluster_config=_private(control_plane),
            control_plane_endpoints_config=_endpoints(control_plane),
            master_authorized_networks_config=_authorized_networks(control_plane),
            workload_identity_config=gke.ContainerClusterWorkloadIdentityConfig(workload_pool=props.identity_pool),
            enable_shielded_nodes=True,
            enable_legacy_abac=False,
            master_auth=gke.ContainerClusterMasterAuth(
                client_certificate_config=gke.ContainerClusterMasterAuthClientCertificateConfig(
                    issue_client_certificate=False
                )
            ),
            addons_config=_addons(props),
            maintenance_policy=_maintenance(props.maintenance),
            logging_config=gke.ContainerClusterLoggingConfig(enable_components=["SYSTEM_COMPONENTS", "WORKLOADS"]),
            monitoring_config=gke.ContainerClusterMonitoringConfig(
                enable_components=MONITORED,
                managed_prometheus=gke.ContainerClusterMonitoringConfigManagedPrometheus(enabled=True),
            ),
            # The pool that GKE insists on making is removed at once; until then it must not use the default account.
            remove_default_node_pool=True,
            initial_node_count=1,
            node_config=gke.ContainerClusterNodeConfig(
                service_account=props.nodes_account,
                oauth_scopes=NODE_SCOPES,
                shielded_instance_config=gke.ContainerClusterNodeConfigShieldedInstanceConfig(
                    enable_secure_boot=True, enable_integrity_monitoring=True
                ),
                workload_metadata_config=gke.ContainerClusterNodeConfigWorkloadMetadataConfig(mode="GKE_METADATA"),
            ),
            lifecycle=TerraformResourceLifecycle(ignore_changes=["node_config"]),
            timeouts=gke.ContainerClusterTimeouts(create="90m", update="120m", delete="90m"),
            depends_on=list(depends_on) or None,
        )
        """The cdktf resource."""

    @property
    def name(self) -> str:
        """Its name, as a reference: what uses it in the same stack waits for the cluster."""
        return self.cluster.name

    @property
    def project(self) -> str:
        """Its project."""
        return self.props.project

    @property
    def location(self) -> str:
        """Its region."""
        return self.props.location

    @staticmethod
    def existing(*, name: str, project: str, location: str) -> ExistingCluster:
        """A cluster that is there already; nothing is created."""
        return ExistingCluster(name=name, project=project, location=location)


def _private(control_plane: ControlPlane) -> gke.ContainerClusterPrivateClusterConfig:
    return gke.ContainerClusterPrivateClusterConfig(
        enable_private_nodes=True,
        enable_private_endpoint=not control_plane.public_endpoint,
        master_ipv4_cidr_block=str(control_plane.cidr) if control_plane.cidr else None,
    )


def _by_ip(control_plane: ControlPlane) -> bool:
    """Whether the API answers on an IP address at all: only where somebody said from whom."""
    return control_plane.public_endpoint or bool(control_plane.authorized_networks) or not control_plane.dns_endpoint


def _endpoints(control_plane: ControlPlane) -> gke.ContainerClusterControlPlaneEndpointsConfig:
    return gke.ContainerClusterControlPlaneEndpointsConfig(
        # "External" is any caller outside the VPC; IAM (container.clusters.connect) decides who is let in.
        dns_endpoint_config=gke.ContainerClusterControlPlaneEndpointsConfigDnsEndpointConfig(
            allow_external_traffic=control_plane.dns_endpoint
        ),
        ip_endpoints_config=gke.ContainerClusterControlPlaneEndpointsConfigIpEndpointsConfig(
            enabled=_by_ip(control_plane)
        ),
    )


def _authorized_networks(control_plane: ControlPlane) -> gke.ContainerClusterMasterAuthorizedNetworksConfig | None:
    """Who may come by IP. Left out while the IP endpoint is off: the provider sends the block only with it and reads
    back an empty list, a difference in every plan and a PUT on the control plane in every apply (google 6.50 and 7.45,
    expandControlPlaneEndpointsConfig)."""
    if not _by_ip(control_plane):
        return None
    blocks = [
        gke.ContainerClusterMasterAuthorizedNetworksConfigCidrBlocks(
            cidr_block=str(entry.cidr), display_name=entry.name
        )
        for entry in control_plane.authorized_networks
    ]
    return gke.ContainerClusterMasterAuthorizedNetworksConfig(
        cidr_blocks=blocks or None, gcp_public_cidrs_access_enabled=False
    )


def _addons(props: PrivateClusterProps) -> gke.ContainerClusterAddonsConfig:
    return gke.ContainerClusterAddonsConfig(
        lustre_csi_driver_config=gke.ContainerClusterAddonsConfigLustreCsiDriverConfig(
            enabled=True, enable_legacy_lustre_port=props.legacy_lustre_port
        ),
        gcs_fuse_csi_driver_config=gke.ContainerClusterAddonsConfigGcsFuseCsiDriverConfig(enabled=props.gcs_fuse),
        gce_persistent_disk_csi_driver_config=gke.ContainerClusterAddonsConfigGcePersistentDiskCsiDriverConfig(
            enabled=True
        ),
        # No ray_operator_config: KubeRay comes by Helm, and both would fight over the ray.io CRDs.
    )


def _maintenance(spec: Maintenance) -> gke.ContainerClusterMaintenancePolicy:
    return gke.ContainerClusterMaintenancePolicy(
        recurring_window=gke.ContainerClusterMaintenancePolicyRecurringWindow(
            start_time=spec.window.start, end_time=spec.window.end, recurrence=spec.window.recurrence
        ),
        maintenance_exclusion=[
            gke.ContainerClusterMaintenancePolicyMaintenanceExclusion(
                exclusion_name=entry.name,
                start_time=entry.start,
                end_time=entry.end,
                exclusion_options=gke.ContainerClusterMaintenancePolicyMaintenanceExclusionExclusionOptions(
                    scope=entry.scope
                ),
            )
            for entry in spec.exclusions
        ]
        or None,
    )


@dataclass(frozen=True, kw_only=True, config=PROPS)
class CpuPoolProps:
    """An autoscaled pool for the Ray head, operators and system pods."""

    name: ClusterName
    """Name of the pool, at most 40 characters."""
    project: Text
    """Project of the cluster."""
    cluster: Text
    """Name of the cluster."""
    location: Text
    """Region of the cluster."""
    zone: Zone
    """Zone of the nodes."""
    nodes_account: Text
    """E-mail address of the nodes' service account."""
    machine_type: Text = "n2-highmem-16"
    """Machine type. Default: n2-highmem-16."""
    min_nodes: Annotated[int, Field(ge=0)] = 1
    """Fewest nodes. Default: 1."""
    max_nodes: Annotated[int, Field(ge=1)] = 5
    """Most nodes. Default: 5."""
    disk_gib: Annotated[int, Field(ge=50, le=65536)] = 200
    """Boot disk in GiB, at least 50. Default: 200."""
    disk_type: Text = "pd-balanced"
    """Boot disk type, one that the machine type takes. Default: pd-balanced."""
    secure_boot: bool = False
    """Secure Boot. Default: no; on a CPU machine it stops the Lustre kernel module from loading."""
    max_pods_per_node: Annotated[int, Field(ge=8, le=256)] = 110
    """Most pods on a node, 8 to 256. Default: 110."""
    labels: Labels = field(default_factory=dict)
    """Labels of the machines. Default: none."""

    @model_validator(mode="after")
    def _most_is_not_below_least(self) -> Self:
        if self.max_nodes < self.min_nodes:
            raise ValueError(f"max_nodes: {self.max_nodes} is not at least min_nodes ({self.min_nodes})")
        return self


class CpuPool(Part):
    """A pool of CPU nodes: ``google_container_node_pool.<id>``."""

    def __init__(self, scope: Construct, id_: str, props: CpuPoolProps) -> None:
        super().__init__(scope, id_)
        self.pool = pool.ContainerNodePool(
            scope,
            id_,
            name=props.name,
            project=props.project,
            cluster=props.cluster,
            location=props.location,
            node_locations=[props.zone],
            initial_node_count=props.min_nodes,
            autoscaling=pool.ContainerNodePoolAutoscaling(
                min_node_count=props.min_nodes, max_node_count=props.max_nodes, location_policy="BALANCED"
            ),
            max_pods_per_node=props.max_pods_per_node,
            network_config=pool.ContainerNodePoolNetworkConfig(enable_private_nodes=True),
            management=pool.ContainerNodePoolManagement(auto_repair=True, auto_upgrade=True),
            upgrade_settings=pool.ContainerNodePoolUpgradeSettings(strategy="SURGE", max_surge=1, max_unavailable=0),
            node_config=pool.ContainerNodePoolNodeConfig(
                machine_type=props.machine_type,
                image_type="COS_CONTAINERD",
                disk_size_gb=props.disk_gib,
                disk_type=props.disk_type,
                service_account=props.nodes_account,
                oauth_scopes=NODE_SCOPES,
                gvnic=pool.ContainerNodePoolNodeConfigGvnic(enabled=True),
                shielded_instance_config=pool.ContainerNodePoolNodeConfigShieldedInstanceConfig(
                    enable_secure_boot=props.secure_boot, enable_integrity_monitoring=True
                ),
                workload_metadata_config=pool.ContainerNodePoolNodeConfigWorkloadMetadataConfig(mode="GKE_METADATA"),
                metadata={"disable-legacy-endpoints": "true"},
                resource_labels=dict(props.labels) or None,
            ),
            # The autoscaler moves the count, and a count that moved would rebuild the pool
            # (terraform-provider-google#6901).
            lifecycle=TerraformResourceLifecycle(ignore_changes=["initial_node_count"]),
            timeouts=pool.ContainerNodePoolTimeouts(create="60m", update="60m", delete="60m"),
        )
        """The cdktf resource."""
