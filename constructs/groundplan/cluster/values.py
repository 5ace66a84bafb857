"""What the cluster section comes to."""

from __future__ import annotations

from dataclasses import dataclass

from groundplan.catalog import Catalog, Machine
from groundplan.cluster.spec import ClusterSpec

#: Roles of the nodes' own account: write logs and metrics, read images. Nothing else.
NODE_ROLES = (
    "roles/artifactregistry.reader",
    "roles/logging.logWriter",
    "roles/monitoring.metricWriter",
    "roles/monitoring.viewer",
    "roles/stackdriver.resourceMetadata.writer",
)


@dataclass(frozen=True)
class ClusterValues:
    """The cluster, its CPU pool and its identities."""

    name: str
    workload_pool: str
    deletion_protection: bool
    nodes_account: str
    workload_account: str
    cpu_machine: Machine | None


def account_email(account: str, project: str) -> str:
    """Address of a service account; a domain-scoped project is written the other way round."""
    domain, _, name = project.rpartition(":")
    return f"{account}@{name}.{domain + '.' if domain else ''}iam.gserviceaccount.com"


def cluster_values(spec: ClusterSpec, catalog: Catalog, *, site: str, project: str, environment: str) -> ClusterValues:
    """Fill in names and the environment's defaults."""
    protection = spec.deletion_protection
    return ClusterValues(
        name=spec.name or site,
        workload_pool=f"{project}.svc.id.goog",
        deletion_protection=environment == "prod" if protection is None else protection,
        nodes_account=spec.service_accounts.nodes or f"{site}-nodes",
        workload_account=spec.service_accounts.workload or f"{site}-workload",
        cpu_machine=catalog.machines.get(spec.cpu_pool.machine_type),
    )
