"""The ``storage`` section: Managed Lustre, buckets, and where the jobs' folders lie."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from groundplan.kernel.fields import (
    BucketName,
    KubernetesName,
    Matching,
    MountPath,
    PositiveCount,
    ProjectId,
    Quantity,
    ResourceName,
    Section,
    Zone,
)

LustreMode = Literal["new", "existing", "none"]

#: At most 8 characters: the limit of Lustre itself.
FilesystemName = Annotated[
    str, Matching(r"[a-zA-Z][a-zA-Z0-9]{0,7}", "1 to 8 letters and digits, starting with a letter")
]


class Lustre(Section):
    """The parallel file system for models, data, checkpoints and logs; a mode alone is short for a mapping with it."""

    mode: LustreMode = "new"
    """new: the site makes an instance. existing: one that is there already is mounted, and nothing of it is made.
    none: no Lustre; the jobs' folders lie where `storage.jobs` says."""
    name: ResourceName | None = None
    """Instance id. Default: <site>-lustre; an existing instance's must be given."""
    project: ProjectId | None = None
    """Project of an existing instance. Default: the site's."""
    zone: Zone | None = None
    """Zone of the instance. Default: the site's zone, where the GPU nodes are."""
    filesystem: FilesystemName = "lustrefs"
    """Lustre file system name; two instances with the same one cannot be mounted on one node."""
    capacity_gib: Annotated[int, Field(ge=1)] = 18000
    """Capacity in GiB; it can grow later and never shrink. Least and step follow from the throughput."""
    throughput: Annotated[int, Field(ge=1)] = 500
    """MB/s per TiB: 125, 250, 500 or 1000. A change replaces the instance and all its data."""
    legacy_port: bool = False
    """Port 6988 instead of 988, on the instance (`gke_support_enabled`) and the cluster at once; only for old GKE."""
    claim: KubernetesName = "lustre-pvc"
    """Name of the PersistentVolumeClaim; the PersistentVolume carries <site>- and the same."""
    mount_path: MountPath = "/data"
    """Where pods mount it."""

    @model_validator(mode="before")
    @classmethod
    def _mode_alone(cls, value: object) -> object:
        return {"mode": value} if isinstance(value, str) else value


class JobsFolder(Section):
    """Where the jobs' folders, the Hugging Face cache and prepared data lie on a site without Lustre: give exactly one
    of `bucket` and `claim`."""

    bucket: BucketName | None = None
    """Name of one of `storage.buckets`, mounted by GCS FUSE."""
    claim: KubernetesName | None = None
    """Name of a PersistentVolumeClaim of yours in the platform's namespace, that many pods may write to at once
    (ReadWriteMany)."""
    mount_path: MountPath = "/data"
    """Where pods mount it."""

    @model_validator(mode="after")
    def _one_place(self) -> JobsFolder:
        if (self.bucket is None) == (self.claim is None):
            limit = "must have exactly one of `bucket: NAME` and `claim: NAME`"
            raise PydanticCustomError("limit", "{limit}", {"limit": limit})
        return self


class Bucket(Section):
    """A Cloud Storage bucket of the site; the workload's service account gets objectUser on it."""

    name: BucketName
    """Globally unique name."""
    exists: bool = False
    """It is there already: pods mount it and may use it, and nothing of it is made."""
    location: str | None = None
    """Location. Default: the site's region."""
    versioning: bool | None = None
    """Keep overwritten and deleted objects as old versions. Default: yes, unless it is hierarchical."""
    retention_days: Annotated[int, Field(ge=1)] = 30
    """Days after which old versions are deleted."""
    soft_delete_days: Annotated[int, Field(ge=0, le=90)] | None = None
    """Days for which deleted objects can be restored, and are paid for: 0, or 7 to 90. Default: Google's, 7."""
    delete_after_days: PositiveCount | None = None
    """Days after which an object is deleted, whatever it is. Default: never."""
    hierarchical: bool | None = None
    """Real folders, which can be renamed at once (hierarchical namespace); of an existing bucket, whether it has them.
    A change replaces the bucket. Default: yes for a bucket that pods mount and write to, and that the site makes."""
    mount: MountPath | None = None
    """Where the job's pods mount it, by GCS FUSE. Default: nowhere, or where `storage.jobs` says."""
    read_only: bool = False
    """Mount it for reading alone, and grant no more."""
    cache_gib: PositiveCount | None = None
    """GiB of each pod's local disk that keep what was read (file cache). Default: none."""


class Fuse(Section):
    """The sidecar in each pod that mounts buckets (GCS FUSE). It is the pod's: each pod of the job has one."""

    cpu: Quantity = "0"
    """Most CPUs; 0 is no limit."""
    memory: Quantity = "0"
    """Most memory; 0 is no limit."""
    ephemeral_gib: PositiveCount | None = None
    """GiB of local disk for what is being written and for caches; a pod that takes more is evicted. Default: Google's,
    5, which is less than one file of a large model or checkpoint."""


class StorageSpec(Section):
    """Managed Lustre, and buckets if wanted."""

    lustre: Lustre = Lustre()
    """The Managed Lustre instance: a new one, an existing one, or none."""
    jobs: JobsFolder | None = None
    """Where the jobs' folders lie without Lustre. Default: on Lustre."""
    buckets: list[Bucket] = []
    """Cloud Storage buckets."""
    fuse: Fuse = Fuse()
    """What mounts buckets in pods."""
