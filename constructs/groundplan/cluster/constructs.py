"""A private GKE cluster, for any cdktf program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Literal

from cdktf import ITerraformDependable, TerraformResourceLifecycle
from cdktf_cdktf_provider_google import container_cluster as gke
from constructs import Construct
from pydantic import Field
from pydantic.dataclasses import dataclass

from groundplan.catalog.newer import set_newer
from groundplan.cluster.cpu_pool_constructs import CpuPool, CpuPoolProps
from groundplan.cluster.maintenance import HELD
from groundplan.cluster.spec import ControlPlane, Maintenance, MaintenanceExclusion
from groundplan.kernel.constructs import Part
from groundplan.kernel.gke import NODE_SCOPES
from groundplan.kernel.props import PROPS, ClusterName, Labels, Text

__all__ = ["CpuPool", "CpuPoolProps", "ExistingCluster", "PrivateCluster", "PrivateClusterProps"]

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
    """Terraform refuses to destroy the cluster, when it comes to it in an apply. Default: yes."""
    prevent_destroy: bool = False
    """A plan that would destroy or replace the cluster fails, before anything is touched. Default: no."""
    release_channel: Literal["RAPID", "REGULAR", "STABLE", "EXTENDED"] = "REGULAR"
    """RAPID, REGULAR, STABLE or EXTENDED. Default: REGULAR."""
    version: str | None = None
    """Least version of the control plane. Default: the channel's."""
    max_pods_per_node: Annotated[int, Field(ge=8, le=256)] = 110
    """Default of pools that do not say, 8 to 256. Default: 110."""
    control_plane: ControlPlane = field(default_factory=ControlPlane)
    """How the API is reached. Default: the DNS endpoint alone."""
    maintenance: Maintenance = field(default_factory=Maintenance)
    """Window and exclusions. Default: weekends, 02:00 to 08:00 UTC, and no minor or node upgrade by GKE until the
    version's end of support."""
    gcs_fuse: bool = True
    """Cloud Storage FUSE driver. Default: yes. (The persistent disks' is always on.)"""
    lustre: bool = True
    """Managed Lustre's driver. Default: yes."""
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
            lifecycle=TerraformResourceLifecycle(
                ignore_changes=["node_config"], prevent_destroy=props.prevent_destroy or None
            ),
            timeouts=gke.ContainerClusterTimeouts(create="90m", update="120m", delete="90m"),
            depends_on=list(depends_on) or None,
        )
        """The cdktf resource."""
        for number, exclusion in enumerate(_exclusions(props.maintenance)):
            if exclusion.end is None:
                # The provider drops an end beside the behaviour and never reads it back: a difference for ever.
                at = f"maintenance_policy.maintenance_exclusion.{number}"
                self.cluster.add_override(f"{at}.end_time", None)
                set_newer(self.cluster, f"{at}.exclusion_options.end_time_behavior", "UNTIL_END_OF_SUPPORT")

    @property
    def replaced_with(self) -> str:
        """What a pool of the cluster names in `replaced_with`: an address whose change replaces it."""
        return f"{self.cluster.terraform_resource_type}.{self.cluster.friendly_unique_id}.id"

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
            enabled=props.lustre, enable_legacy_lustre_port=props.legacy_lustre_port
        ),
        gcs_fuse_csi_driver_config=gke.ContainerClusterAddonsConfigGcsFuseCsiDriverConfig(enabled=props.gcs_fuse),
        gce_persistent_disk_csi_driver_config=gke.ContainerClusterAddonsConfigGcePersistentDiskCsiDriverConfig(
            enabled=True
        ),
        # No ray_operator_config: KubeRay comes by Helm, and both would fight over the ray.io CRDs.
    )


def _exclusions(spec: Maintenance) -> list[MaintenanceExclusion]:
    """The exclusions, the one that holds upgrades first. It starts with the first window: a date that stands still."""
    if not spec.hold_upgrades:
        return spec.exclusions
    held = MaintenanceExclusion(name=HELD, start=spec.window.start, scope="NO_MINOR_OR_NODE_UPGRADES")
    return [held, *spec.exclusions]


def _maintenance(spec: Maintenance) -> gke.ContainerClusterMaintenancePolicy:
    return gke.ContainerClusterMaintenancePolicy(
        recurring_window=gke.ContainerClusterMaintenancePolicyRecurringWindow(
            start_time=spec.window.start, end_time=spec.window.end, recurrence=spec.window.recurrence
        ),
        maintenance_exclusion=[
            gke.ContainerClusterMaintenancePolicyMaintenanceExclusion(
                exclusion_name=entry.name,
                start_time=entry.start,
                end_time=entry.end or "",
                exclusion_options=gke.ContainerClusterMaintenancePolicyMaintenanceExclusionExclusionOptions(
                    scope=entry.scope
                ),
            )
            for entry in _exclusions(spec)
        ]
        or None,
    )
