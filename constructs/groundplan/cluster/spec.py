"""The ``cluster`` section: control plane, versions, maintenance, identities, the CPU pool."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from groundplan.kernel.fields import (
    Cidr,
    ClusterName,
    GkeVersion,
    Matching,
    PositiveCount,
    Section,
    ServiceAccountId,
    Timestamp,
)


class AuthorizedNetwork(Section):
    """A range from which the control plane's IP endpoint may be reached."""

    name: str
    """A name that says whose range it is."""
    cidr: Cidr
    """The range."""


class ControlPlane(Section):
    """How the Kubernetes API is reached: by default the DNS endpoint alone, with IAM deciding who may."""

    dns_endpoint: bool = True
    """DNS endpoint, open to callers with the IAM permission container.clusters.connect."""
    public_endpoint: bool = False
    """IP endpoint on a public address, for the authorized networks only."""
    authorized_networks: list[AuthorizedNetwork] = []
    """Ranges admitted to the IP endpoint; giving any turns the (private) IP endpoint on."""
    cidr: Cidr | None = None
    """A /28 for the control plane; only for clusters that need the old peering-based layout."""


class MaintenanceWindow(Section):
    """When GKE may upgrade: a first occurrence and its recurrence (RFC 5545)."""

    start: Timestamp = "2026-01-03T02:00:00Z"
    """Start of the first window, UTC."""
    end: Timestamp = "2026-01-03T08:00:00Z"
    """End of the first window, UTC; GKE wants at least 4 hours."""
    recurrence: Annotated[str, Matching(r"FREQ=[A-Z0-9=;,-]+", "an RFC 5545 rule such as FREQ=WEEKLY;BYDAY=SA,SU")] = (
        "FREQ=WEEKLY;BYDAY=SA,SU"
    )
    """Recurrence; GKE wants at least 48 hours of window in any 32 days."""


class MaintenanceExclusion(Section):
    """A time in which GKE must not upgrade."""

    name: Annotated[str, Matching(r"[a-zA-Z0-9][-_ a-zA-Z0-9]{0,62}", "1 to 63 letters, digits, spaces, - and _")]
    """Name of the exclusion."""
    start: Timestamp
    """First moment, UTC."""
    end: Timestamp | None = None
    """Last moment, UTC. Default: the end of support of the cluster's version (not with NO_UPGRADES)."""
    scope: Literal["NO_UPGRADES", "NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES"] = "NO_MINOR_OR_NODE_UPGRADES"
    """What is excluded."""


class Maintenance(Section):
    """Maintenance window and exclusions."""

    window: MaintenanceWindow = MaintenanceWindow()
    """Recurring window."""
    hold_upgrades: bool = True
    """No minor and no node upgrade by GKE until the version's end of support: a node upgrade takes a training's nodes.
    Patches of the control plane still come. Turn it off to let GKE upgrade in the window."""
    exclusions: list[MaintenanceExclusion] = []
    """Further exclusions, e.g. NO_UPGRADES while a deadline is near."""


class CpuPool(Section):
    """The pool of the Ray head, operators and system pods. It stands in the site's zone, beside the Lustre servers."""

    name: ClusterName = "cpu-pool"
    """Name of the pool."""
    machine_type: str = "n2-highmem-16"
    """Machine type; the Ray head and the operators must fit one node."""
    min_nodes: PositiveCount = 1
    """Fewest nodes."""
    max_nodes: PositiveCount = 5
    """Most nodes."""
    disk_gib: Annotated[int, Field(ge=50, le=65536)] = 200
    """Boot disk in GiB; the NeMo RL image alone takes tens."""
    disk_type: str = "pd-balanced"
    """Boot disk type, one that the machine type takes."""
    secure_boot: bool = False
    """Secure Boot. Off: on a CPU machine it stops the Lustre kernel module from loading."""
    max_pods_per_node: Annotated[int, Field(ge=8, le=256)] = 110
    """Most pods on a node; sets the pod range each node takes."""


class ServiceAccounts(Section):
    """Google service accounts of the site; both stand in its project."""

    nodes: ServiceAccountId | None = None
    """Account of the nodes. Default: <site>-nodes."""
    nodes_exists: bool = False
    """The nodes' account is there already, with its roles: it is used, and nothing of it is made or granted."""
    workload: ServiceAccountId | None = None
    """Account the training pods act as, through Workload Identity. Default: <site>-workload."""
    workload_exists: bool = False
    """The pods' account is there already, with its roles; that the site's pods may act as it is still granted."""


class Addons(Section):
    """Optional cluster add-ons (Lustre's driver is on where there is one, the persistent disks' always)."""

    gcs_fuse: bool = True
    """Cloud Storage FUSE CSI driver."""


class ClusterSpec(Section):
    """The regional GKE cluster."""

    name: ClusterName | None = None
    """Name of the cluster. Default: the site's name."""
    release_channel: Literal["RAPID", "REGULAR", "STABLE", "EXTENDED"] = "REGULAR"
    """Release channel; it sets auto-upgrade and auto-repair of all pools."""
    version: GkeVersion | None = None
    """Least control-plane version. Default: what the channel gives."""
    deletion_protection: bool | None = None
    """Terraform refuses to destroy the cluster. Default: yes in prod, no in dev."""
    max_pods_per_node: Annotated[int, Field(ge=8, le=256)] = 110
    """Cluster default for pools that do not say."""
    control_plane: ControlPlane = ControlPlane()
    """API endpoints."""
    maintenance: Maintenance = Maintenance()
    """Upgrades."""
    cpu_pool: CpuPool = CpuPool()
    """The CPU pool."""
    service_accounts: ServiceAccounts = ServiceAccounts()
    """Identities."""
    addons: Addons = Addons()
    """Add-ons."""
