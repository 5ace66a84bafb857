"""The storage stack: the Managed Lustre instance and optional buckets. It outlives clusters."""

from __future__ import annotations

from constructs import Construct

from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack
from groundplan.storage.constructs import (
    Bucket,
    BucketProps,
    ExistingLustreCheck,
    ExistingLustreProps,
    LustreInstance,
    LustreInstanceProps,
)


class StorageStack(SiteStack):
    """Everything whose loss loses data."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "storage")
        if site.lustre.is_made:
            LustreInstance(self, "lustre", lustre_props(site))
        elif site.lustre.is_used:
            ExistingLustreCheck(self, "lustre", existing_props(site))
        self.buckets = [Bucket(self, f"bucket-{props.name}", props) for props in bucket_props(site)]


def lustre_props(site: Site) -> LustreInstanceProps:
    """The site's instance."""
    return LustreInstanceProps(
        name=site.lustre.name,
        project=site.project,
        zone=site.lustre.zone,
        network=site.network.vpc_path,
        capacity_gib=site.lustre.capacity_gib,
        throughput=site.lustre.throughput,
        filesystem=site.lustre.filesystem,
        legacy_port=site.lustre.legacy_port,
        prevent_destroy=site.prevent_destroy,
        description=f"{site.name}: models, data, checkpoints, logs",
        labels=site.labels,
    )


def existing_props(site: Site) -> ExistingLustreProps:
    """The instance that is there already."""
    return ExistingLustreProps(
        lustre=site.lustre.reference, network=site.network.vpc, legacy_port=site.lustre.legacy_port
    )


def bucket_props(site: Site) -> list[BucketProps]:
    """The buckets that the site makes."""
    return [
        BucketProps(
            name=bucket.name,
            project=site.project,
            location=bucket.location,
            versioning=bucket.versioning,
            retention_days=bucket.spec.retention_days,
            hierarchical=bucket.hierarchical,
            soft_delete_days=bucket.spec.soft_delete_days,
            delete_after_days=bucket.spec.delete_after_days,
            prevent_destroy=site.prevent_destroy,
            labels=site.labels,
        )
        for bucket in site.buckets
        if not bucket.spec.exists
    ]
