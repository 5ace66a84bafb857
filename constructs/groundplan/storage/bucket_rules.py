"""What can be wrong with buckets: where they stand, what they keep, and who mounts them."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, Severity, rule
from groundplan.site.resolve import Site
from groundplan.storage.buckets import USUAL_EPHEMERAL_GIB

_BUCKETS: ProfilePath = ("storage", "buckets")
#: Least days of soft delete, when there is any.
_LEAST_SOFT_DELETE = 7
#: Keys of a bucket that the site makes.
_OF_MADE = ("location", "versioning", "retention_days", "soft_delete_days", "delete_after_days")


@rule("bucket-location", Severity.WARNING)
def bucket_location(site: Site) -> Iterator[Problem]:
    """A bucket stands in another region than the cluster.

    Traffic between regions is slow and charged. Multi-regions (US, EU, ASIA) and dual regions pass.

    Source: Cloud Storage documentation, "Bucket locations" and its pricing, data transfer between locations.

    Mend: leave `location` out.
    """
    for bucket in site.buckets:
        location = bucket.location.lower()
        if "-" in location and location != site.region:
            yield Problem(
                (*_BUCKETS, bucket.index, "location"),
                f"the bucket {bucket.name} stands in {location}, the cluster in {site.region}",
                "leave `location` out",
            )


@rule("bucket-location-word")
def bucket_location_word(site: Site) -> Iterator[Problem]:
    """A bucket's location is no region, dual-region or multi-region.

    Source: Cloud Storage documentation, "Bucket locations".

    Mend: a region such as us-central1, a multi-region (US, EU, ASIA), or leave it out.
    """
    for bucket in site.buckets:
        location = bucket.location.lower()
        plain = location.replace("-", "")
        zone = location.count("-") > 1
        if zone or not plain.isalnum() or not plain.isascii() or len(plain) < 2:
            yield Problem(
                (*_BUCKETS, bucket.index, "location"),
                f"the bucket {bucket.name} has the location {bucket.location}, which is no region",
                f"leave it out, or use {site.region}",
            )


@rule("bucket-folders")
def bucket_folders(site: Site) -> Iterator[Problem]:
    """A bucket with a hierarchical namespace keeps no old versions.

    Source: Cloud Storage documentation, "Hierarchical namespace", limitations.

    Mend: leave `versioning` out and let soft delete restore what was deleted, or `hierarchical: false`.
    """
    for bucket in site.buckets:
        if bucket.hierarchical and bucket.versioning and not bucket.spec.exists:
            message = f"the bucket {bucket.name} has a hierarchical namespace, which keeps no old versions"
            hint = "leave `versioning` out (soft delete restores what was deleted), or set `hierarchical: false`"
            yield Problem((*_BUCKETS, bucket.index, "versioning"), message, hint)


@rule("bucket-soft-delete")
def bucket_soft_delete(site: Site) -> Iterator[Problem]:
    """Soft delete keeps objects for 7 to 90 days, or is off.

    Source: Cloud Storage documentation, "Soft delete"; provider google, google_storage_bucket
    (`soft_delete_policy.retention_duration_seconds`: 0, or 604800 and more).

    Mend: 0 for none, or 7 days and more.
    """
    for bucket in site.buckets:
        days = bucket.spec.soft_delete_days
        if days is not None and 0 < days < _LEAST_SOFT_DELETE:
            message = f"the bucket {bucket.name} keeps what was deleted for {days} days; the least is 7"
            yield Problem((*_BUCKETS, bucket.index, "soft_delete_days"), message, "use 7, or 0 for none")


@rule("bucket-exists", Severity.WARNING)
def bucket_exists(site: Site) -> Iterator[Problem]:
    """A bucket that is there already stays as it is: what the profile says of how it is made has no effect.

    Source: groundplan's own layout, docs/building-blocks.md: of an existing bucket access and mounts alone are made.

    Mend: leave the key out, or `exists`.
    """
    for bucket in site.buckets:
        given = bucket.spec.model_fields_set & set(_OF_MADE) if bucket.spec.exists else set()
        for key in sorted(given):
            message = f"`{key}` has no effect on the bucket {bucket.name}, which is there already"
            yield Problem((*_BUCKETS, bucket.index, key), message, "leave it out")


@rule("fuse-driver")
def fuse_driver(site: Site) -> Iterator[Problem]:
    """Pods mount a bucket, and the cluster has no driver for it.

    Source: GKE documentation, "Cloud Storage FUSE CSI driver": pods whose volumes it mounts stay in ContainerCreating.

    Mend: leave `cluster.addons.gcs_fuse` out.
    """
    mounted = [bucket.name for bucket in site.buckets if bucket.mount]
    if mounted and not site.profile.cluster.addons.gcs_fuse:
        message = f"`cluster.addons.gcs_fuse` is false, and pods mount the bucket {mounted[0]} by it"
        yield Problem(("cluster", "addons", "gcs_fuse"), message, "leave it out")


@rule("fuse-cache")
def fuse_cache(site: Site) -> Iterator[Problem]:
    """The caches of the mounted buckets take more local disk than the sidecar may.

    A pod whose sidecar takes more than its limit of local disk is evicted, in the middle of a training.

    Source: GKE documentation, "Configure the Cloud Storage FUSE CSI driver sidecar container"; gcs-fuse-csi-driver,
    pkg/webhook/config.go (5Gi where nothing is said).

    Mend: a greater `storage.fuse.ephemeral_gib`, or a smaller `cache_gib`.
    """
    caching = [bucket for bucket in site.buckets if bucket.mount and bucket.spec.cache_gib]
    total = sum(bucket.spec.cache_gib or 0 for bucket in caching)
    limit = site.profile.storage.fuse.ephemeral_gib or USUAL_EPHEMERAL_GIB
    if total >= limit:
        message = f"`cache_gib` of the mounted buckets is {total} together, and a pod's sidecar may take {limit} GiB"
        hint = f"set `storage.fuse.ephemeral_gib: {2 * total}`"
        yield Problem((*_BUCKETS, caching[0].index, "cache_gib"), message, hint)
