"""Managed Lustre and buckets, for any cdktf program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated

from cdktf import ITerraformDependable, TerraformResourceLifecycle
from cdktf_cdktf_provider_google import lustre_instance as lustre
from cdktf_cdktf_provider_google import storage_bucket as storage
from cdktf_cdktf_provider_google.data_google_lustre_instance import DataGoogleLustreInstance
from cdktf_cdktf_provider_google.storage_bucket_iam_member import StorageBucketIamMember
from constructs import Construct
from pydantic import Field
from pydantic.dataclasses import dataclass

from groundplan.kernel.constructs import Part
from groundplan.kernel.fields import Matching
from groundplan.kernel.props import OR_REFERENCE, PROPS, Labels, ResourceName, Text, Zone
from groundplan.storage.values import ExistingLustre

#: Google asks those who own a domain for its dots, so a profile's own buckets have none; others' may.
BucketName = Annotated[
    str,
    Matching(r"[a-z0-9][-_.a-z0-9]{1,220}[a-z0-9]", "a bucket's name: 3 or more lower-case letters, digits, -, _, ."),
    OR_REFERENCE,
]
FilesystemName = Annotated[
    str, Matching(r"[a-zA-Z][a-zA-Z0-9]{0,7}", "1 to 8 letters and digits, a letter first"), OR_REFERENCE
]
Role = Annotated[
    str,
    Matching(r"(?:roles|(?:projects|organizations)/[^/]+/roles)/[\w.]+", "a role such as roles/storage.objectUser"),
    OR_REFERENCE,
]


def kept(prevent_destroy: bool) -> TerraformResourceLifecycle | None:
    """The lifecycle of what a plan must not destroy; none where it may."""
    return TerraformResourceLifecycle(prevent_destroy=True) if prevent_destroy else None


@dataclass(frozen=True, kw_only=True, config=PROPS)
class LustreInstanceProps:
    """A Managed Lustre instance."""

    name: ResourceName
    """Instance id."""
    project: Text
    """Project it stands in."""
    zone: Zone
    """Zone; that of the GPU nodes."""
    network: Text
    """VPC with private service access: ``projects/P/global/networks/N``."""
    capacity_gib: Annotated[int, Field(ge=1)]
    """Capacity in GiB; it can grow later and never shrink. Least and step follow from the throughput."""
    throughput: Annotated[int, Field(ge=1)] = 500
    """MB/s per TiB, a tier of catalog/lustre.yaml. A change replaces the instance and all its data. Default: 500."""
    filesystem: FilesystemName = "lustrefs"
    """Lustre's own name, 1 to 8 letters and digits; two with the same one cannot be mounted on one node. Default:
    lustrefs."""
    legacy_port: bool = False
    """Port 6988 instead of 988, for old GKE nodes. Default: no."""
    prevent_destroy: bool = False
    """A plan that would destroy or replace the instance, and with it all data, fails. Default: no."""
    description: str | None = None
    """Free text. Default: none."""
    labels: Labels = field(default_factory=dict)
    """Labels. Default: none."""


class LustreInstance(Part):
    """A Managed Lustre instance: ``google_lustre_instance.<id>``.

    `depends_on` is what must be there first, such as ``PrivateServiceAccess(...).ready``.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: LustreInstanceProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
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
            lifecycle=kept(props.prevent_destroy),
            depends_on=list(depends_on) or None,
        )
        """The cdktf resource."""

    @property
    def reference(self) -> ExistingLustre:
        """What a volume in the cluster needs of it."""
        own = self.props
        return ExistingLustre(name=own.name, project=own.project, zone=own.zone, filesystem=own.filesystem)

    @staticmethod
    def existing(*, name: str, project: str, zone: str, filesystem: str | None = None) -> ExistingLustre:
        """An instance that is there already; nothing is created."""
        return ExistingLustre(name=name, project=project, zone=zone, filesystem=filesystem)


@dataclass(frozen=True, kw_only=True, config=PROPS)
class ExistingLustreProps:
    """An instance that is there already, and what must be true of it."""

    lustre: ExistingLustre
    """The instance: ``LustreInstance.existing(...)``."""
    network: Text
    """Name of the VPC that it must stand in, which is the cluster's: pods reach it in no other."""
    legacy_port: bool = False
    """Whether its servers use port 6988 (`gke_support_enabled`), as the cluster does. Default: no."""


class ExistingLustreCheck(Part):
    """Looks at an instance that is there already: ``data.google_lustre_instance.<id>``. A plan fails where it is not in
    the VPC or not of the port that it must be."""

    def __init__(self, scope: Construct, id_: str, props: ExistingLustreProps) -> None:
        super().__init__(scope, id_)
        own = props.lustre
        legacy = str(props.legacy_port).lower()
        self.instance = DataGoogleLustreInstance(scope, id_, instance_id=own.name, zone=own.zone, project=own.project)
        """The cdktf data source."""
        # As plain overrides: a condition speaks of `self`, for which the bindings have no reference.
        self.instance.add_override(
            "lifecycle.postcondition",
            [
                {
                    "condition": f'${{endswith(self.network, "/networks/{props.network}")}}',
                    "error_message": f"The Lustre instance {own.name} does not stand in the network {props.network}, "
                    "which is the cluster's: no pod would reach it.",
                },
                {
                    "condition": f"${{self.gke_support_enabled == {legacy}}}",
                    "error_message": f"The Lustre instance {own.name} has another port than the cluster: "
                    f"storage.lustre.legacy_port must be what its gke_support_enabled says, and is {legacy}.",
                },
            ],
        )


@dataclass(frozen=True, kw_only=True, config=PROPS)
class BucketProps:
    """A private Cloud Storage bucket."""

    name: BucketName
    """Globally unique name."""
    project: Text
    """Project it stands in."""
    location: Text
    """Region, or a multi-region such as US."""
    versioning: bool = True
    """Keep overwritten and deleted objects as old versions. Default: yes."""
    retention_days: Annotated[int, Field(ge=1)] = 30
    """Days after which old versions are deleted. Default: 30."""
    hierarchical: bool = False
    """Folders that can be renamed at once; keeps no old versions. A change replaces the bucket. Default: no."""
    soft_delete_days: Annotated[int, Field(ge=0, le=90)] | None = None
    """Days for which deleted objects can be restored: 0, or 7 to 90. Default: Google's, 7."""
    delete_after_days: Annotated[int, Field(ge=1)] | None = None
    """Days after which any object is deleted. Default: never."""
    prevent_destroy: bool = False
    """A plan that would destroy or replace the bucket fails. Default: no."""
    labels: Labels = field(default_factory=dict)
    """Labels. Default: none."""


@dataclass(frozen=True, kw_only=True, config=PROPS)
class ExistingBucket:
    """A bucket that is there already, by what others refer to it with."""

    name: BucketName
    """Its name."""

    @property
    def url(self) -> str:
        """``gs://NAME``."""
        return f"gs://{self.name}"


_DAY = 86_400


def _delete(condition: storage.StorageBucketLifecycleRuleCondition) -> storage.StorageBucketLifecycleRule:
    return storage.StorageBucketLifecycleRule(
        action=storage.StorageBucketLifecycleRuleAction(type="Delete"), condition=condition
    )


class Bucket(Part):
    """A bucket without public access or per-object rights: ``google_storage_bucket.<id>``."""

    def __init__(self, scope: Construct, id_: str, props: BucketProps) -> None:
        super().__init__(scope, id_)
        rules = []
        if props.versioning:
            old_versions = storage.StorageBucketLifecycleRuleCondition(
                days_since_noncurrent_time=props.retention_days, with_state="ARCHIVED"
            )
            rules.append(_delete(old_versions))
        if props.delete_after_days:
            old = storage.StorageBucketLifecycleRuleCondition(age=props.delete_after_days, with_state="LIVE")
            rules.append(_delete(old))
        soft_delete, folders = None, None
        if props.soft_delete_days is not None:
            seconds = props.soft_delete_days * _DAY
            soft_delete = storage.StorageBucketSoftDeletePolicy(retention_duration_seconds=seconds)
        if props.hierarchical:
            folders = storage.StorageBucketHierarchicalNamespace(enabled=True)
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
            lifecycle_rule=rules or None,
            hierarchical_namespace=folders,
            soft_delete_policy=soft_delete,
            labels=dict(props.labels) or None,
            lifecycle=kept(props.prevent_destroy),
        )
        """The cdktf resource."""

    @property
    def name(self) -> str:
        """Its name, as a reference: what uses it in the same stack waits for the bucket."""
        return self.bucket.name

    @property
    def url(self) -> str:
        """``gs://NAME``, as a reference."""
        return self.bucket.url

    @staticmethod
    def existing(*, name: str) -> ExistingBucket:
        """A bucket that is there already; nothing is created."""
        return ExistingBucket(name=name)


@dataclass(frozen=True, kw_only=True, config=PROPS)
class BucketAccessProps:
    """One member's role on a bucket."""

    bucket: Text
    """Name of the bucket: `name` of a `Bucket`, or of ``Bucket.existing(...)``."""
    member: Text
    """Who: `member` of an account, ``serviceAccount:NAME@PROJECT.iam.gserviceaccount.com``."""
    role: Role = "roles/storage.objectUser"
    """Role. Default: roles/storage.objectUser, to read and write objects."""


class BucketAccess(Part):
    """A member's access to a bucket: ``google_storage_bucket_iam_member.<id>``."""

    def __init__(self, scope: Construct, id_: str, props: BucketAccessProps) -> None:
        super().__init__(scope, id_)
        self.access = StorageBucketIamMember(scope, id_, bucket=props.bucket, role=props.role, member=props.member)
        """The cdktf resource."""
