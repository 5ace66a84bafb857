"""What the buckets of the storage section come to, and which of them pods mount, by GCS FUSE.

Source: GoogleCloudPlatform/gcs-fuse-csi-driver, pkg/webhook/config.go (annotations; 250m CPU, 256Mi and 5Gi are the
sidecar's own sizes, "0" is no limit); googlecloudplatform/gcsfuse (`implicit-dirs`, `rename-dir-limit` 0); Cloud
Storage documentation, "Hierarchical namespace".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from groundplan.storage.spec import Bucket, Fuse, StorageSpec
from groundplan.storage.values import SharedVolume, volume_of

#: The CSI driver, and the annotation by which GKE puts its sidecar into a pod.
DRIVER = "gcsfuse.csi.storage.gke.io"
ANNOTATION = "gke-gcsfuse/volumes"
#: GiB of a sidecar's local disk where nothing is said.
USUAL_EPHEMERAL_GIB = 5


@dataclass(frozen=True)
class BucketValues:
    """A bucket, its defaults filled in. `index` is its place in the profile; `mount` is empty where no pod has it."""

    index: int
    spec: Bucket
    location: str
    versioning: bool
    hierarchical: bool
    mount: str

    @property
    def name(self) -> str:
        """Its name."""
        return self.spec.name

    @property
    def role(self) -> str:
        """Of the pods' account."""
        return "roles/storage.objectViewer" if self.spec.read_only else "roles/storage.objectUser"

    @property
    def volume_name(self) -> str:
        """Name of the pods' volume."""
        return volume_of(self.name)

    def volume(self) -> dict[str, Any]:
        """The pods' volume: in line, so that no object of the cluster stands between pod and bucket."""
        attributes = {"bucketName": self.name}
        if not self.hierarchical:
            attributes["mountOptions"] = "implicit-dirs"
        if self.spec.cache_gib:
            attributes["fileCacheCapacity"] = f"{self.spec.cache_gib}Gi"
        csi: dict[str, Any] = {"driver": DRIVER, "volumeAttributes": attributes}
        if self.spec.read_only:
            csi["readOnly"] = True
        return {"name": self.volume_name, "csi": csi}

    def volume_mount(self) -> dict[str, Any]:
        """Where it is mounted."""
        found: dict[str, Any] = {"name": self.volume_name, "mountPath": self.mount}
        return found | {"readOnly": True} if self.spec.read_only else found


def bucket_values(spec: StorageSpec, *, region: str) -> tuple[BucketValues, ...]:
    """Every bucket, in the profile's order. `region` is the site's."""
    jobs = spec.jobs if spec.lustre.mode == "none" else None
    found = []
    for index, each in enumerate(spec.buckets):
        here = jobs.mount_path if jobs and jobs.bucket == each.name else ""
        mount = here or each.mount or ""
        hierarchical = each.hierarchical
        if hierarchical is None:
            hierarchical = bool(mount) and not each.read_only and not each.exists
        versioning = not hierarchical if each.versioning is None else each.versioning
        found.append(BucketValues(index, each, each.location or region, versioning, hierarchical, mount))
    return tuple(found)


def sidecar_annotations(fuse: Fuse) -> dict[str, str]:
    """Of a pod that mounts buckets. The request of disk stays Google's: a limit alone would be asked of every node."""
    found = {ANNOTATION: "true", "gke-gcsfuse/cpu-limit": fuse.cpu, "gke-gcsfuse/memory-limit": fuse.memory}
    if fuse.ephemeral_gib is not None:
        found["gke-gcsfuse/ephemeral-storage-limit"] = f"{fuse.ephemeral_gib}Gi"
        request = min(fuse.ephemeral_gib, USUAL_EPHEMERAL_GIB)
        found["gke-gcsfuse/ephemeral-storage-request"] = f"{request}Gi"
    return found


@dataclass(frozen=True)
class Volumes:
    """What a job's pods mount: the shared volume, and buckets."""

    shared: SharedVolume
    buckets: tuple[BucketValues, ...]

    @property
    def mounted(self) -> tuple[BucketValues, ...]:
        """The buckets that pods mount."""
        return tuple(bucket for bucket in self.buckets if bucket.mount)

    def bucket(self, name: str | None) -> BucketValues | None:
        """The bucket of that name that pods mount; None when there is none."""
        return next((bucket for bucket in self.mounted if bucket.name == name), None)
