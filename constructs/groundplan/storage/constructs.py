"""Managed Lustre and buckets, for any cdktf program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cdktf_cdktf_provider_google import lustre_instance as lustre
from cdktf_cdktf_provider_google import storage_bucket as storage
from cdktf_cdktf_provider_google.storage_bucket_iam_member import StorageBucketIamMember
from constructs import Construct

from groundplan.kernel.constructs import Part
from groundplan.kernel.props import RESOURCE_NAME, ZONE, require_number, require_pattern, require_text
from groundplan.storage.values import ExistingLustre


@dataclass(frozen=True, kw_only=True)
class LustreInstanceProps:
    """A Managed Lustre instance."""

    name: str
    """Instance id."""
    project: str
    """Project it stands in."""
    zone: str
    """Zone; that of the GPU nodes."""
    network: str
    """VPC with private service access: ``projects/P/global/networks/N``."""
    capacity_gib: int
    """Capacity in GiB; it can grow later and never shrink. Least and step follow from the throughput."""
    throughput: int = 500
    """MB/s per TiB, a tier of catalog/lustre.yaml. A change replaces the instance and all its data. Default: 500."""
    filesystem: str = "lustrefs"
    """Lustre's own name, 1 to 8 letters and digits; two with the same one cannot be mounted on one node."""
    legacy_port: bool = False
    """Port 6988 instead of 988, for old GKE nodes. Default: no."""
    description: str | None = None
    """Free text. Default: none."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels. Default: none."""

    def __post_init__(self) -> None:
        require_pattern(self, "name", RESOURCE_NAME)
        require_pattern(self, "zone", ZONE)
        require_text(self, "project", "network")
        require_number(self, "capacity_gib", 1)
        require_number(self, "throughput", 1)
        require_pattern(self, "filesystem", (r"[a-zA-Z][a-zA-Z0-9]{0,7}", "1 to 8 letters and digits, a letter first"))


class LustreInstance(Part):
    """A Managed Lustre instance: ``google_lustre_instance.<id>``."""

    def __init__(self, scope: Construct, id_: str, props: LustreInstanceProps) -> None:
        super().__init__(scope, id_)
        self.props = props
        self.instance = lustre.LustreInstance(
            scope,
            id_,
            instance_id=props.name,
            project=props.project,
            location=props.zone,
            description=props.description,
            filesystem=props.filesystem,
            # The provider types both as text.
            capacity_gib=str(props.capacity_gib),
            per_unit_storage_throughput=str(props.throughput),
            network=props.network,
            gke_support_enabled=props.legacy_port,
            labels=dict(props.labels) or None,
            # The default of 20 minutes is too short: 99 in 100 are made within 40 to 80 (magic-modules#14878).
            timeouts=lustre.LustreInstanceTimeouts(create="120m", update="60m", delete="60m"),
        )
        """The cdktf resource."""

    @property
    def reference(self) -> ExistingLustre:
        """What a volume in the cluster needs of it."""
        own = self.props
        return ExistingLustre(name=own.name, project=own.project, zone=own.zone, filesystem=own.filesystem)

    @staticmethod
    def existing(*, name: str, project: str, zone: str, filesystem: str) -> ExistingLustre:
        """An instance that is there already; nothing is created."""
        return ExistingLustre(name=name, project=project, zone=zone, filesystem=filesystem)


@dataclass(frozen=True, kw_only=True)
class BucketProps:
    """A private Cloud Storage bucket."""

    name: str
    """Globally unique name."""
    project: str
    """Project it stands in."""
    location: str
    """Region, or a multi-region such as US."""
    versioning: bool = True
    """Keep overwritten and deleted objects as old versions. Default: yes."""
    retention_days: int = 30
    """Days after which old versions are deleted. Default: 30."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels. Default: none."""

    def __post_init__(self) -> None:
        require_pattern(self, "name", (r"[a-z0-9][-_.a-z0-9]{1,220}[a-z0-9]", "a bucket's name, 3 letters or more"))
        require_text(self, "project", "location")
        require_number(self, "retention_days", 1)


class Bucket(Part):
    """A bucket without public access or per-object rights: ``google_storage_bucket.<id>``."""

    def __init__(self, scope: Construct, id_: str, props: BucketProps) -> None:
        super().__init__(scope, id_)
        old_versions = storage.StorageBucketLifecycleRule(
            action=storage.StorageBucketLifecycleRuleAction(type="Delete"),
            condition=storage.StorageBucketLifecycleRuleCondition(
                days_since_noncurrent_time=props.retention_days, with_state="ARCHIVED"
            ),
        )
        self.bucket = storage.StorageBucket(
            scope,
            id_,
            name=props.name,
            project=props.project,
            location=props.location.upper(),
            storage_class="STANDARD",
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            force_destroy=False,
            versioning=storage.StorageBucketVersioning(enabled=props.versioning),
            lifecycle_rule=[old_versions] if props.versioning else None,
            labels=dict(props.labels) or None,
        )
        """The cdktf resource."""


@dataclass(frozen=True, kw_only=True)
class BucketAccessProps:
    """One member's role on a bucket."""

    bucket: str
    """Name of the bucket; it may be one that is there already."""
    member: str
    """Who: ``serviceAccount:NAME@PROJECT.iam.gserviceaccount.com``."""
    role: str = "roles/storage.objectUser"
    """Role. Default: read and write objects."""

    def __post_init__(self) -> None:
        require_text(self, "bucket", "member")
        require_pattern(self, "role", (r"(roles|(projects|organizations)/[^/]+/roles)/[\w.]+", "a role"))


class BucketAccess(Part):
    """A member's access to a bucket: ``google_storage_bucket_iam_member.<id>``."""

    def __init__(self, scope: Construct, id_: str, props: BucketAccessProps) -> None:
        super().__init__(scope, id_)
        self.access = StorageBucketIamMember(scope, id_, bucket=props.bucket, role=props.role, member=props.member)
        """The cdktf resource."""
