"""The cluster stack: service accounts and their roles, the GKE cluster, the CPU pool."""

from __future__ import annotations

from cdktf import TerraformResourceLifecycle
from cdktf_cdktf_provider_google import container_cluster as gke
from cdktf_cdktf_provider_google import container_node_pool as pool
from cdktf_cdktf_provider_google.project_iam_member import ProjectIamMember
from cdktf_cdktf_provider_google.service_account import ServiceAccount
from cdktf_cdktf_provider_google.service_account_iam_member import ServiceAccountIamMember
from cdktf_cdktf_provider_google.storage_bucket_iam_member import StorageBucketIamMember
from constructs import Construct

from groundplan.cluster.values import NODE_ROLES, account_email
from groundplan.kernel.gke import NODE_SCOPES
from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack

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


class ClusterStack(SiteStack):
    """Everything that changes when GKE is upgraded."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "cluster")
        self.node_roles = self._node_account()
        self.cluster = self._cluster()
        self._cpu_pool()
        self._workload_account()

    @property
    def _nodes_email(self) -> str:
        return account_email(self.site.cluster.nodes_account, self.site.project)

    def _node_account(self) -> list[ProjectIamMember]:
        account = ServiceAccount(
            self,
            "nodes",
            account_id=self.site.cluster.nodes_account,
            project=self.site.project,
            display_name=f"{self.site.name} GKE nodes",
        )
        return [
            ProjectIamMember(
                self,
                f"nodes-{role.rpartition('/')[2].replace('.', '-')}",
                project=self.site.project,
                role=role,
                member=account.member,
            )
            for role in NODE_ROLES
        ]

    def _workload_account(self) -> None:
        site = self.site
        account = ServiceAccount(
            self,
            "workload",
            account_id=site.cluster.workload_account,
            project=site.project,
            display_name=f"{site.name} training pods",
        )
        platform = site.profile.platform
        ServiceAccountIamMember(
            self,
            "workload-identity",
            service_account_id=account.name,
            role="roles/iam.workloadIdentityUser",
            member=f"serviceAccount:{site.cluster.workload_pool}[{platform.namespace}/{platform.service_account}]",
            # The pool of identities exists once the project's first cluster with Workload Identity does.
            depends_on=[self.cluster],
        )
        for bucket in site.profile.storage.buckets:
            StorageBucketIamMember(
                self,
                f"bucket-access-{bucket.name}",
                bucket=bucket.name,
                role="roles/storage.objectUser",
                member=account.member,
            )

    def _cluster(self) -> gke.ContainerCluster:
        site, spec = self.site, self.site.profile.cluster
        return gke.ContainerCluster(
            self,
            "cluster",
            name=site.cluster.name,
            project=site.project,
            location=site.region,
            description=f"{site.name}: NeMo RL on Ray",
            deletion_protection=site.cluster.deletion_protection,
            resource_labels=site.labels,
            release_channel=gke.ContainerClusterReleaseChannel(channel=spec.release_channel),
            min_master_version=spec.version,
            network=site.network.vpc_path,
            subnetwork=site.network.subnetwork_path(site.region),
            networking_mode="VPC_NATIVE",
            datapath_provider="ADVANCED_DATAPATH",
            enable_multi_networking=True,
            ip_allocation_policy=gke.ContainerClusterIpAllocationPolicy(
                cluster_secondary_range_name=site.network.pods_range,
                services_secondary_range_name=site.network.services_range,
                stack_type="IPV4",
            ),
            default_max_pods_per_node=spec.max_pods_per_node,
            private_cluster_config=self._private(),
            control_plane_endpoints_config=self._endpoints(),
            master_authorized_networks_config=self._authorized_networks(),
            workload_identity_config=gke.ContainerClusterWorkloadIdentityConfig(
                workload_pool=site.cluster.workload_pool
            ),
            enable_shielded_nodes=True,
            enable_legacy_abac=False,
            master_auth=gke.ContainerClusterMasterAuth(
                client_certificate_config=gke.ContainerClusterMasterAuthClientCertificateConfig(
                    issue_client_certificate=False
                )
            ),
            addons_config=self._addons(),
            maintenance_policy=self._maintenance(),
            logging_config=gke.ContainerClusterLoggingConfig(enable_components=["SYSTEM_COMPONENTS", "WORKLOADS"]),
            monitoring_config=gke.ContainerClusterMonitoringConfig(
                enable_components=MONITORED,
                managed_prometheus=gke.ContainerClusterMonitoringConfigManagedPrometheus(enabled=True),
            ),
            # The pool that GKE insists on making is removed at once; until then it must not use the default account.
            remove_default_node_pool=True,
            initial_node_count=1,
            node_config=gke.ContainerClusterNodeConfig(
                service_account=self._nodes_email,
                oauth_scopes=NODE_SCOPES,
                shielded_instance_config=gke.ContainerClusterNodeConfigShieldedInstanceConfig(
                    enable_secure_boot=True, enable_integrity_monitoring=True
                ),
                workload_metadata_config=gke.ContainerClusterNodeConfigWorkloadMetadataConfig(mode="GKE_METADATA"),
            ),
            lifecycle=TerraformResourceLifecycle(ignore_changes=["node_config"]),
            timeouts=gke.ContainerClusterTimeouts(create="90m", update="120m", delete="90m"),
            depends_on=self.node_roles,
        )

    @property
    def _by_ip(self) -> bool:
        """Whether the API answers on an IP address at all: only where the profile says from whom."""
        control_plane = self.site.profile.cluster.control_plane
        return (
            control_plane.public_endpoint or bool(control_plane.authorized_networks) or not control_plane.dns_endpoint
        )

    def _private(self) -> gke.ContainerClusterPrivateClusterConfig:
        control_plane = self.site.profile.cluster.control_plane
        return gke.ContainerClusterPrivateClusterConfig(
            enable_private_nodes=True,
            enable_private_endpoint=not control_plane.public_endpoint,
            master_ipv4_cidr_block=str(control_plane.cidr) if control_plane.cidr else None,
        )

    def _endpoints(self) -> gke.ContainerClusterControlPlaneEndpointsConfig:
        return gke.ContainerClusterControlPlaneEndpointsConfig(
            # "External" is any caller outside the VPC; IAM (container.clusters.connect) decides who is let in.
            dns_endpoint_config=gke.ContainerClusterControlPlaneEndpointsConfigDnsEndpointConfig(
                allow_external_traffic=self.site.profile.cluster.control_plane.dns_endpoint
            ),
            ip_endpoints_config=gke.ContainerClusterControlPlaneEndpointsConfigIpEndpointsConfig(enabled=self._by_ip),
        )

    def _authorized_networks(self) -> gke.ContainerClusterMasterAuthorizedNetworksConfig:
        """Always on, and empty by default: GKE wants it wherever the private endpoint is the only one by IP."""
        blocks = [
            gke.ContainerClusterMasterAuthorizedNetworksConfigCidrBlocks(
                cidr_block=str(entry.cidr), display_name=entry.name
            )
            for entry in self.site.profile.cluster.control_plane.authorized_networks
        ]
        return gke.ContainerClusterMasterAuthorizedNetworksConfig(
            cidr_blocks=blocks or None, gcp_public_cidrs_access_enabled=False
        )

    def _addons(self) -> gke.ContainerClusterAddonsConfig:
        return gke.ContainerClusterAddonsConfig(
            lustre_csi_driver_config=gke.ContainerClusterAddonsConfigLustreCsiDriverConfig(
                enabled=True, enable_legacy_lustre_port=self.site.lustre.legacy_port
            ),
            gcs_fuse_csi_driver_config=gke.ContainerClusterAddonsConfigGcsFuseCsiDriverConfig(
                enabled=self.site.profile.cluster.addons.gcs_fuse
            ),
            gce_persistent_disk_csi_driver_config=gke.ContainerClusterAddonsConfigGcePersistentDiskCsiDriverConfig(
                enabled=True
            ),
            # No ray_operator_config: KubeRay comes by Helm, and both would fight over the ray.io CRDs.
        )

    def _maintenance(self) -> gke.ContainerClusterMaintenancePolicy:
        spec = self.site.profile.cluster.maintenance
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

    def _cpu_pool(self) -> pool.ContainerNodePool:
        site, spec = self.site, self.site.profile.cluster.cpu_pool
        return pool.ContainerNodePool(
            self,
            "cpu-pool",
            name=spec.name,
            project=site.project,
            cluster=self.cluster.name,
            location=site.region,
            node_locations=[site.zone],
            initial_node_count=spec.min_nodes,
            autoscaling=pool.ContainerNodePoolAutoscaling(
                min_node_count=spec.min_nodes, max_node_count=spec.max_nodes, location_policy="BALANCED"
            ),
            max_pods_per_node=spec.max_pods_per_node,
            network_config=pool.ContainerNodePoolNetworkConfig(enable_private_nodes=True),
            management=pool.ContainerNodePoolManagement(auto_repair=True, auto_upgrade=True),
            upgrade_settings=pool.ContainerNodePoolUpgradeSettings(strategy="SURGE", max_surge=1, max_unavailable=0),
            node_config=pool.ContainerNodePoolNodeConfig(
                machine_type=spec.machine_type,
                image_type="COS_CONTAINERD",
                disk_size_gb=spec.disk_gib,
                disk_type=spec.disk_type,
                service_account=self._nodes_email,
                oauth_scopes=NODE_SCOPES,
                gvnic=pool.ContainerNodePoolNodeConfigGvnic(enabled=True),
                shielded_instance_config=pool.ContainerNodePoolNodeConfigShieldedInstanceConfig(
                    enable_secure_boot=spec.secure_boot, enable_integrity_monitoring=True
                ),
                workload_metadata_config=pool.ContainerNodePoolNodeConfigWorkloadMetadataConfig(mode="GKE_METADATA"),
                metadata={"disable-legacy-endpoints": "true"},
                resource_labels=site.labels,
            ),
            # The autoscaler moves the count, and a count that moved would rebuild the pool
            # (terraform-provider-google#6901).
            lifecycle=TerraformResourceLifecycle(ignore_changes=["initial_node_count"]),
            timeouts=pool.ContainerNodePoolTimeouts(create="60m", update="60m", delete="60m"),
        )
