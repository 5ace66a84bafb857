"""What the storage section comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import dataclasses as checked

from groundplan.catalog import Catalog
from groundplan.kernel.props import PROPS, Text
from groundplan.storage.spec import Lustre, LustreMode, StorageSpec

#: LNet ports: the default, and the one that old GKE nodes and `gke_support_enabled` instances use.
LUSTRE_PORT = 988
LEGACY_LUSTRE_PORT = 6988


@checked.dataclass(frozen=True, kw_only=True, config=PROPS)
class ExistingLustre:
    """An instance that is there already, by what others refer to it with."""

    name: Text
    """Instance id."""
    project: Text
    """Its project."""
    zone: Text
    """Its zone."""
    filesystem: Text | None = None
    """Lustre's own name. Default: what the instance says."""

    @property
    def reference(self) -> ExistingLustre:
        """Itself: what a volume in the cluster needs of it."""
        return self

    @property
    def volume_handle(self) -> str:
        """Exactly three parts: the CSI driver's parser takes no others (lustre-csi-driver, pkg/util)."""
        return f"{self.project}/{self.zone}/{self.name}"


@dataclass(frozen=True)
class LustreValues:
    """The Lustre instance and its volume.

    `claim_gib` is what the claim requests: the least capacity of the throughput, not the instance's. Pods see the whole
    file system either way, and a claim of a volume made in advance cannot be resized, so this lets the instance grow.
    Of an existing instance the capacity is not known: volume and claim have the least that any instance has.
    """

    mode: LustreMode
    project: str
    name: str
    zone: str
    filesystem: str
    capacity_gib: int
    claim_gib: int
    throughput: int
    legacy_port: bool
    claim: str
    volume: str
    mount_path: str

    @property
    def is_made(self) -> bool:
        """Whether the site makes the instance."""
        return self.mode == "new"

    @property
    def is_used(self) -> bool:
        """Whether there is an instance at all."""
        return self.mode != "none"

    @property
    def reference(self) -> ExistingLustre:
        """The instance, as others refer to it."""
        filesystem = self.filesystem if self.is_made else None
        return ExistingLustre(name=self.name, project=self.project, zone=self.zone, filesystem=filesystem)

    @property
    def ports(self) -> list[int]:
        """Ports that the servers use towards the nodes."""
        return [LUSTRE_PORT, LEGACY_LUSTRE_PORT] if self.legacy_port else [LUSTRE_PORT]

    @property
    def storage_class(self) -> str:
        """Class name that volume and claim share; with both named in advance it is never looked up."""
        if not self.is_made:
            return "lustre-rwx-existing"
        return f"lustre-rwx-{self.throughput}mbps-per-tib"


def lustre_values(spec: Lustre, catalog: Catalog, *, site: str, project: str, zone: str) -> LustreValues:
    """Fill in names, zone and the claim's size. `zone` is the site's."""
    tier = catalog.tiers.get(spec.throughput)
    least = min((each.min for each in catalog.tiers.values()), default=spec.capacity_gib)
    capacity = spec.capacity_gib if spec.mode == "new" else least
    return LustreValues(
        mode=spec.mode,
        project=(spec.project if spec.mode == "existing" else None) or project,
        name=spec.name or f"{site}-lustre",
        zone=spec.zone or zone,
        filesystem=spec.filesystem,
        capacity_gib=capacity,
        claim_gib=min(tier.min, capacity) if tier else capacity,
        throughput=spec.throughput,
        legacy_port=spec.legacy_port,
        claim=spec.claim,
        volume=f"{site}-{spec.claim}",
        mount_path=spec.mount_path,
    )


@dataclass(frozen=True)
class SharedVolume:
    """The file system that all pods of a job share: its folders, the Hugging Face cache, prepared data.

    `name` is that of the pods' volume. One of `claim` and `bucket` is empty.
    """

    kind: Literal["lustre", "claim", "bucket"]
    name: str
    claim: str
    bucket: str
    mount_path: str

    @property
    def title(self) -> str:
        """What people call it."""
        return {"lustre": "Lustre", "claim": f"the claim {self.claim}", "bucket": f"the bucket {self.bucket}"}[
            self.kind
        ]


#: Longest name of a pod's volume.
_LONGEST = 63


def volume_of(bucket: str) -> str:
    """``my_data`` -> ``gcs-my-data``: the name of a pod's volume."""
    return f"gcs-{bucket.replace('_', '-')}"[:_LONGEST].rstrip("-")


def shared_volume(spec: StorageSpec, lustre: LustreValues) -> SharedVolume:
    """The jobs' file system: Lustre, or what stands for it. Where nothing does, which a rule refuses, a claim of
    Lustre's name stands for it."""
    if lustre.is_used or spec.jobs is None:
        return SharedVolume("lustre", "lustre", lustre.claim, "", lustre.mount_path)
    if spec.jobs.claim:
        return SharedVolume("claim", "shared", spec.jobs.claim, "", spec.jobs.mount_path)
    return SharedVolume("bucket", volume_of(spec.jobs.bucket or ""), "", spec.jobs.bucket or "", spec.jobs.mount_path)
