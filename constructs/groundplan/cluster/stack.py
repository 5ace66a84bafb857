"""The cluster stack: service accounts and their roles, the GKE cluster, the CPU pool."""

from __future__ import annotations

from constructs import Construct

from groundplan.cluster.account_constructs import (
    ExistingAccount,
    NodeAccount,
    NodeAccountProps,
    WorkloadAccount,
    WorkloadAccountProps,
    WorkloadIdentity,
)
from groundplan.cluster.constructs import CpuPool, CpuPoolProps, PrivateCluster, PrivateClusterProps
from groundplan.cluster.values import account_email
from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack
from groundplan.storage.constructs import BucketAccess, BucketAccessProps


class ClusterStack(SiteStack):
    """Everything that changes when GKE is upgraded."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "cluster")
        self.nodes = self._nodes()
        props = cluster_props(site, self.nodes.email)
        self.cluster = PrivateCluster(self, "cluster", props, depends_on=self.nodes.roles)
        self.cpu_pool = CpuPool(self, "cpu-pool", cpu_pool_props(site, self.cluster, self.nodes.email))
        self.workload = self._workload()
        for bucket in site.buckets:
            access = BucketAccessProps(bucket=bucket.name, member=self.workload.member, role=bucket.role)
            BucketAccess(self, f"bucket-access-{bucket.name}", access)

    def _nodes(self) -> NodeAccount | ExistingAccount:
        site = self.site
        if site.profile.cluster.service_accounts.nodes_exists:
            return NodeAccount.existing(email=account_email(site.cluster.nodes_account, site.project))
        return NodeAccount(self, "nodes", node_account_props(site))

    def _workload(self) -> WorkloadAccount | ExistingAccount:
        site, cluster = self.site, self.cluster.cluster
        props = workload_account_props(site)
        if not site.profile.cluster.service_accounts.workload_exists:
            return WorkloadAccount(self, "workload", props, cluster=cluster)
        account = WorkloadAccount.existing(email=account_email(props.account_id, props.project))
        may_act = props.identity(f"projects/{props.project}/serviceAccounts/{account.email}")
        WorkloadIdentity(self, "workload-identity", may_act, cluster=cluster)
        return account


def node_account_props(site: Site) -> NodeAccountProps:
    """The account of the site's nodes."""
    return NodeAccountProps(
        account_id=site.cluster.nodes_account, project=site.project, display_name=f"{site.name} GKE nodes"
    )


def workload_account_props(site: Site) -> WorkloadAccountProps:
    """The account of the site's training pods."""
    return WorkloadAccountProps(
        account_id=site.cluster.workload_account,
        project=site.project,
        workload_pool=site.cluster.workload_pool,
        namespace=site.profile.platform.namespace,
        service_account=site.profile.platform.service_account,
        display_name=f"{site.name} training pods",
    )


def cluster_props(site: Site, nodes_account: str) -> PrivateClusterProps:
    """The site's cluster; `nodes_account` is an e-mail address."""
    spec = site.profile.cluster
    return PrivateClusterProps(
        name=site.cluster.name,
        project=site.project,
        location=site.region,
        network=site.network.vpc_path,
        subnetwork=site.network.subnetwork_path(site.region),
        nodes_account=nodes_account,
        pods_range=site.network.pods_range,
        services_range=site.network.services_range,
        workload_pool=site.cluster.workload_pool,
        deletion_protection=site.cluster.deletion_protection,
        prevent_destroy=site.prevent_destroy,
        release_channel=spec.release_channel,
        version=spec.version,
        max_pods_per_node=spec.max_pods_per_node,
        control_plane=spec.control_plane,
        maintenance=spec.maintenance,
        gcs_fuse=spec.addons.gcs_fuse,
        lustre=site.lustre.is_used,
        legacy_lustre_port=site.lustre.legacy_port,
        description=f"{site.name}: NeMo RL on Ray",
        labels=site.labels,
    )


def cpu_pool_props(site: Site, cluster: PrivateCluster, nodes_account: str) -> CpuPoolProps:
    """The site's CPU pool in its cluster; `nodes_account` is an e-mail address."""
    spec = site.profile.cluster.cpu_pool
    return CpuPoolProps(
        name=spec.name,
        project=site.project,
        cluster=cluster.name,
        replaced_with=(cluster.replaced_with,),
        location=site.region,
        zone=site.zone,
        nodes_account=nodes_account,
        machine_type=spec.machine_type,
        min_nodes=spec.min_nodes,
        max_nodes=spec.max_nodes,
        disk_gib=spec.disk_gib,
        disk_type=spec.disk_type,
        secure_boot=spec.secure_boot,
        max_pods_per_node=spec.max_pods_per_node,
        labels=site.labels,
    )
