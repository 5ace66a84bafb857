"""The ``storage`` section: the Managed Lustre instance and optional buckets."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from groundplan.kernel.fields import BucketName, KubernetesName, Matching, MountPath, ResourceName, Section, Zone

#: At most 8 characters: the limit of Lustre itself.
FilesystemName = Annotated[
    str, Matching(r"[a-zA-Z][a-zA-Z0-9]{0,7}", "1 to 8 letters and digits, starting with a letter")
]


class Lustre(Section):
    """The parallel file system for models, data, checkpoints and logs."""

    name: ResourceName | None = None
    """Instance id. Default: <site>-lustre."""
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


class Bucket(Section):
    """A Cloud Storage bucket of the site; the workload's service account gets objectUser on it."""

    name: BucketName
    """Globally unique name."""
    location: str | None = None
    """Location. Default: the site's region."""
    versioning: bool = True
    """Keep overwritten and deleted objects as old versions."""
    retention_days: Annotated[int, Field(ge=1)] = 30
    """Days after which old versions are deleted."""


class StorageSpec(Section):
    """Managed Lustre, and buckets if wanted."""

    lustre: Lustre = Lustre()
    """The Managed Lustre instance."""
    buckets: list[Bucket] = []
    """Cloud Storage buckets."""
