"""What can be wrong with Managed Lustre and the buckets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from findings import Problem, ProfilePath, Severity, rule
from groundplan.cluster.rules import version_floors
from groundplan.kernel.gke import is_below, region_of
from groundplan.site.resolve import Site

_LUSTRE: ProfilePath = ("storage", "lustre")
_CAPACITY: ProfilePath = (*_LUSTRE, "capacity_gib")


@rule("lustre-throughput")
def lustre_throughput(site: Site) -> Iterator[Problem]:
    """The throughput is no tier of Managed Lustre.

    Source: catalog tiers; Managed Lustre documentation, "Performance tiers".

    Mend: one of the tiers; a change later replaces the instance and its data.
    """
    value, tiers = site.lustre.throughput, sorted(site.catalog.tiers)
    if not site.catalog.has_tier(value):
        near = min(tiers, key=lambda tier: abs(tier - value))
        yield Problem(
            (*_LUSTRE, "throughput"),
            f"`storage.lustre.throughput` {value} MB/s per TiB is no tier; there are {', '.join(map(str, tiers))}",
            f"use {near}, the nearest",
        )


@rule("lustre-capacity-least")
def lustre_capacity_least(site: Site) -> Iterator[Problem]:
    """The capacity is below the least of its tier.

    Every source agrees on the least; the API refuses less.

    Source: catalog tiers; Managed Lustre documentation, "Performance tiers" and quotas.

    Mend: the least capacity of the tier, or a tier that takes so little.
    """
    tier, capacity = site.catalog.tiers.get(site.lustre.throughput), site.lustre.capacity_gib
    if not tier or not tier.is_below_least(capacity):
        return
    others = [t for t in site.catalog.tiers.values() if t.throughput > tier.throughput and t.min <= capacity]
    other = f" or `throughput: {min(others, key=lambda t: t.throughput).throughput}`" if others else ""
    yield Problem(
        _CAPACITY,
        f"`storage.lustre.capacity_gib` {capacity} is below {tier.min}, the least for {tier.throughput} MB/s per TiB",
        f"use `capacity_gib: {tier.min}`{other}",
    )


@rule("lustre-capacity-most")
def lustre_capacity_most(site: Site) -> Iterator[Problem]:
    """The capacity is above the greatest of its tier.

    Two ages of the documentation give two limits: above the newer one is refused, between the two is a warning.

    Source: catalog tiers (`max` and `older_max`).

    Mend: less capacity, or a second site.
    """
    tier, capacity = site.catalog.tiers.get(site.lustre.throughput), site.lustre.capacity_gib
    if not tier:
        return
    if capacity > tier.max:
        yield Problem(
            _CAPACITY,
            f"`storage.lustre.capacity_gib` {capacity} is above {tier.max}, the most for {tier.throughput} "
            "MB/s per TiB",
            f"use {tier.max} or less",
        )
    elif capacity > tier.older_max:
        yield Problem(
            _CAPACITY,
            f"`storage.lustre.capacity_gib` {capacity} is above {tier.older_max}, the most by Google's older "
            "page (the newer: "
            f"{tier.max})",
            "ask Google for the quota before you apply",
            Severity.WARNING,
        )


@rule("lustre-capacity-step")
def lustre_capacity_step(site: Site) -> Iterator[Problem]:
    """The capacity is no whole number of steps of its tier.

    A capacity that no source's step divides is refused. One that fits only the step of a source that others contradict
    is a warning: the API decides.

    Source: catalog tiers (`step`, `coarse_step`, `other_steps`).

    Mend: the next capacity up that fits; it can grow later and never shrink.
    """
    tier, capacity = site.catalog.tiers.get(site.lustre.throughput), site.lustre.capacity_gib
    if not tier or not tier.min <= capacity <= tier.max:
        return
    step = tier.coarse_step if capacity > tier.coarse_above else tier.step
    if capacity % step == 0:
        return
    above = -(-capacity // step) * step
    below = above - step
    known = " or ".join(str(n) for n in (below, above) if tier.min <= n <= tier.max)
    disputed = [s for s in (tier.step, *tier.other_steps) if capacity % s == 0 or (capacity - tier.min) % s == 0]
    yield Problem(
        _CAPACITY,
        f"`storage.lustre.capacity_gib` {capacity} is no multiple of {step}, the step at {tier.throughput} MB/s per TiB"
        + (f" (another source says {disputed[0]})" if disputed else ""),
        f"use {known}",
        Severity.WARNING if disputed else None,
    )


@rule("lustre-zone")
def lustre_zone(site: Site) -> Iterator[Problem]:
    """The Lustre instance stands away from the GPU nodes.

    In another region the cluster's subnetwork cannot reach it at the speed of any tier, and it is refused; in another
    zone of the region it works, slower and charged by traffic, and is a warning. (Where `storage.lustre.zone` is not
    given, it is the GPU nodes' zone that is wrong, which roce-zone or zone-apart say.)

    Source: Managed Lustre documentation, "Create an instance" (choose the zone of the clients).

    Mend: leave `zone` out, which puts it into the site's zone.
    """
    zone = site.lustre.zone
    gpu_zones = sorted({pool.zone for pool in site.pools})
    if site.profile.storage.lustre.zone is None:
        return
    if region_of(zone) != site.region:
        message = f"`storage.lustre.zone` {zone} is not in the cluster's region {site.region}"
        yield Problem((*_LUSTRE, "zone"), message, "leave it out")
    elif zone not in gpu_zones:
        yield Problem(
            (*_LUSTRE, "zone"),
            f"Lustre stands in {zone}, the GPU nodes in {' and '.join(gpu_zones)}",
            f"set `storage.lustre.zone: {gpu_zones[0]}`, if Managed Lustre is offered there",
            Severity.WARNING,
        )


@rule("lustre-port")
def lustre_port(site: Site) -> Iterator[Problem]:
    """The Lustre port does not fit the GKE version.

    Older nodes speak to Lustre on port 6988 only, because the metadata server has 988; a mount on the wrong port fails
    with "Is the MGS running?" (lustre-csi-driver#104). `legacy_port` sets instance and cluster at once, so that they
    cannot disagree. Sources differ on the version from which 988 works: below the lower one `legacy_port` is demanded,
    between the two is a warning. On newer versions the legacy port is deprecated (a warning).

    Source: catalog gke, `lustre_default_port` and `lustre_default_port_cautious`; API class LustreCsiDriverConfig.

    Mend: `legacy_port: true` with an old version; otherwise leave it out.
    """
    version, legacy = site.profile.cluster.version, site.lustre.legacy_port
    floor, cautious = (site.catalog.gke[name] for name in ("lustre_default_port", "lustre_default_port_cautious"))
    path = (*_LUSTRE, "legacy_port")
    if not legacy and is_below(version, floor):
        refused = any(is_below(version, least) for _, least in version_floors(site))
        port = "" if refused else "set `legacy_port: true`, or "
        yield Problem(
            path,
            f"GKE {version} is below {floor}: its nodes speak to Lustre on the legacy port 6988 only",
            f'{port}use `cluster.version: "{cautious}"` or newer',
        )
    elif not legacy and is_below(version, cautious):
        yield Problem(
            path,
            f"GKE {version} is below {cautious}, from which all sources agree that Lustre's port 988 works",
            f'use `cluster.version: "{cautious}"` or newer',
            Severity.WARNING,
        )
    elif legacy and not is_below(version, cautious):
        yield Problem(
            path,
            f"`storage.lustre.legacy_port` is for GKE below {cautious}; `cluster.version` is {version or 'not set'}",
            "leave it out",
            Severity.WARNING,
        )


#: Folders of the node, the image and Kubernetes that a mount would hide.
_TAKEN = (
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt/amazon",
    "/opt/gym_venvs",
    "/opt/hpcx",
    "/opt/nemo-rl",
    "/opt/nemo_rl_venv",
    "/opt/nvidia",
    "/opt/ray_venvs",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/sys",
    "/tmp",
    "/usr",
    "/var",
)

#: What the names of NeMo's own folders start with, of which each release of the image may bring another.
_NEMO = "/opt/nemo"


@rule("lustre-mount-path")
def lustre_mount_path(site: Site) -> Iterator[Problem]:
    """Lustre would be mounted over a folder that pods need.

    A mount hides what stands there: the NVIDIA driver and gIB under /usr/local, NeMo RL under /opt, shared memory under
    /dev, Ray's sessions under /tmp, service account tokens under /var/run. A folder that is one of them, lies in one or
    holds one is refused.

    Source: mount(8): what a folder held before is invisible while something is mounted on it;
    container-engine-accelerators, gpudirect-rdma (/usr/local/nvidia and /usr/local/gib); NVIDIA-NeMo/RL,
    docker/Dockerfile (/opt).

    Mend: a folder of its own, such as /data.
    """
    path = PurePosixPath(site.lustre.mount_path)
    if ".." in path.parts or "." in site.lustre.mount_path.split("/"):
        taken = "its parent folders"
    else:
        parents = {str(path), *(str(parent) for parent in path.parents)}
        taken = next((f for f in _TAKEN if f in parents or PurePosixPath(f).is_relative_to(path)), "")
        if not taken and str(path).lower().startswith(_NEMO):
            taken = f"NeMo's own folders {_NEMO}*"
    if taken:
        yield Problem(
            (*_LUSTRE, "mount_path"),
            f"`storage.lustre.mount_path` {site.lustre.mount_path} would hide {taken}",
            "use a folder of its own, such as /data",
        )


@rule("bucket-location", Severity.WARNING)
def bucket_location(site: Site) -> Iterator[Problem]:
    """A bucket stands in another region than the cluster.

    Traffic between regions is slow and charged. Multi-regions (US, EU, ASIA) and dual regions pass.

    Source: Cloud Storage documentation, "Bucket locations" and its pricing, data transfer between locations.

    Mend: leave `location` out.
    """
    for index, bucket in enumerate(site.profile.storage.buckets):
        location = (bucket.location or site.region).lower()
        if "-" in location and location != site.region:
            yield Problem(
                ("storage", "buckets", index, "location"),
                f"the bucket {bucket.name} stands in {location}, the cluster in {site.region}",
                "leave `location` out",
            )


@rule("bucket-location-word")
def bucket_location_word(site: Site) -> Iterator[Problem]:
    """A bucket's location is no region, dual-region or multi-region.

    Source: Cloud Storage documentation, "Bucket locations".

    Mend: a region such as us-central1, a multi-region (US, EU, ASIA), or leave it out.
    """
    for index, bucket in enumerate(site.profile.storage.buckets):
        location = (bucket.location or site.region).lower()
        plain = location.replace("-", "")
        zone = location.count("-") > 1
        if zone or not plain.isalnum() or not plain.isascii() or len(plain) < 2:
            yield Problem(
                ("storage", "buckets", index, "location"),
                f"the bucket {bucket.name} has the location {bucket.location}, which is no region",
                f"leave it out, or use {site.region}",
            )
