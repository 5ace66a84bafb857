"""What the storage section comes to."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import dataclasses as checked

from groundplan.catalog import Catalog
from groundplan.kernel.props import PROPS, Text
from groundplan.storage.spec import Lustre

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
    filesystem: Text
    """Lustre's own name."""

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
    """

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
    def reference(self) -> ExistingLustre:
        """The instance, as others refer to it."""
        return ExistingLustre(name=self.name, project=self.project, zone=self.zone, filesystem=self.filesystem)

    @property
    def ports(self) -> list[int]:
        """Ports that the servers use towards the nodes."""
        return [LUSTRE_PORT, LEGACY_LUSTRE_PORT] if self.legacy_port else [LUSTRE_PORT]

    @property
    def storage_class(self) -> str:
        """Class name that volume and claim share; with both named in advance it is never looked up."""
        return f"lustre-rwx-{self.throughput}mbps-per-tib"


def lustre_values(spec: Lustre, catalog: Catalog, *, site: str, project: str, zone: str) -> LustreValues:
    """Fill in names, zone and the claim's size. `zone` is the site's."""
    tier = catalog.tiers.get(spec.throughput)
    return LustreValues(
        project=project,
        name=spec.name or f"{site}-lustre",
        zone=spec.zone or zone,
        filesystem=spec.filesystem,
        capacity_gib=spec.capacity_gib,
        claim_gib=min(tier.min, spec.capacity_gib) if tier else spec.capacity_gib,
        throughput=spec.throughput,
        legacy_port=spec.legacy_port,
        claim=spec.claim,
        volume=f"{site}-{spec.claim}",
        mount_path=spec.mount_path,
    )
