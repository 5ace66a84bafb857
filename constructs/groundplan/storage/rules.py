"""What can be wrong with Managed Lustre, and with where it and others are mounted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from findings import Problem, ProfilePath, Severity, dotted, rule
from groundplan.catalog.entries import LustreTier
from groundplan.cluster.rules import version_floors
from groundplan.kernel.gke import is_below, region_of
from groundplan.site.resolve import Site

_LUSTRE: ProfilePath = ("storage", "lustre")
_CAPACITY: ProfilePath = (*_LUSTRE, "capacity_gib")


def _tier(site: Site) -> LustreTier | None:
    """The tier of the instance that the site makes; None when it makes none, or there is no such tier."""
    return site.catalog.tiers.get(site.lustre.throughput) if site.lustre.is_made else None


@rule("lustre-throughput")
def lustre_throughput(site: Site) -> Iterator[Problem]:
    """The throughput is no tier of Managed Lustre.

    Source: catalog tiers; Managed Lustre documentation, "Performance tiers".

    Mend: one of the tiers; a change later replaces the instance and its data.
    """
    value, tiers = site.lustre.throughput, sorted(site.catalog.tiers)
    if site.lustre.is_made and not site.catalog.has_tier(value):
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
    tier, capacity = _tier(site), site.lustre.capacity_gib
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
    tier, capacity = _tier(site), site.lustre.capacity_gib
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
    tier, capacity = _tier(site), site.lustre.capacity_gib
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
    zone of the region it works, slower and charged by traffic: a warning of a new instance, and refused of an existing
    one, of which a slip of the pen is likelier. (Where `storage.lustre.zone` is not
    given, it is the GPU nodes' zone that is wrong, which roce-zone or zone-apart say.)

    Source: Managed Lustre documentation, "Create an instance" (choose the zone of the clients).

    Mend: leave `zone` out, which puts it into the site's zone.
    """
    zone = site.lustre.zone
    gpu_zones = sorted({pool.zone for pool in site.pools})
    if site.profile.storage.lustre.zone is None or not site.lustre.is_used:
        return
    if region_of(zone) != site.region:
        message = f"`storage.lustre.zone` {zone} is not in the cluster's region {site.region}"
        hint = "leave it out" if site.lustre.is_made else f"use an instance of {site.zone}, or `mode: new`"
        yield Problem((*_LUSTRE, "zone"), message, hint)
    elif zone not in gpu_zones and not site.lustre.is_made:
        yield Problem(
            (*_LUSTRE, "zone"),
            f"the Lustre instance {site.lustre.name} stands in {zone}, the GPU nodes in {' and '.join(gpu_zones)}",
            f"use an instance of {gpu_zones[0]}, or `mode: new`; or put the pools into {zone}",
        )
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
    if not site.lustre.is_used:
        return
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
    """A volume would be mounted over a folder that pods need: Lustre, a claim or a bucket.

    A mount hides what stands there: the NVIDIA driver and gIB under /usr/local, NeMo RL under /opt, shared memory under
    /dev, Ray's sessions under /tmp, service account tokens under /var/run. A folder that is one of them, lies in one or
    holds one is refused.

    Source: mount(8): what a folder held before is invisible while something is mounted on it;
    container-engine-accelerators, gpudirect-rdma (/usr/local/nvidia and /usr/local/gib); NVIDIA-NeMo/RL,
    docker/Dockerfile (/opt).

    Mend: a folder of its own, such as /data.
    """
    for where, folder in mounts_of(site):
        if taken := _taken(folder):
            message = f"`{dotted(where)}` {folder} would hide {taken}"
            yield Problem(where, message, "use a folder of its own, such as /data")


def mounts_of(site: Site) -> Iterator[tuple[ProfilePath, str]]:
    """Where pods mount what the profile says, and where it says so."""
    if site.shared.kind == "lustre":
        yield (*_LUSTRE, "mount_path"), site.shared.mount_path
    else:
        yield ("storage", "jobs", "mount_path"), site.shared.mount_path
    for bucket in site.buckets:
        if bucket.mount and bucket.name != site.shared.bucket:
            yield ("storage", "buckets", bucket.index, "mount"), bucket.mount


def _taken(folder: str) -> str:
    """The folder that a mount at `folder` would hide; empty when it hides none."""
    path = PurePosixPath(folder)
    if ".." in path.parts or "." in folder.split("/"):
        return "its parent folders"
    parents = {str(path), *(str(parent) for parent in path.parents)}
    found = next((f for f in _TAKEN if f in parents or PurePosixPath(f).is_relative_to(path)), "")
    if not found and str(path).lower().startswith(_NEMO):
        return f"NeMo's own folders {_NEMO}*"
    return found


@rule("mount-twice")
def mount_twice(site: Site) -> Iterator[Problem]:
    """Two volumes are mounted at one folder, or one within another.

    The second hides what the first has there; which one that is depends on the order of the pod's mounts.

    Source: Kubernetes API, Container `volumeMounts` ("must be unique" by mountPath); mount(8).

    Mend: a folder of its own for each.
    """
    found = list(mounts_of(site))
    for n, (where, folder) in enumerate(found):
        path = PurePosixPath(folder)
        for other, before in found[:n]:
            if path.is_relative_to(before) or PurePosixPath(before).is_relative_to(path):
                message = f"`{dotted(where)}` {folder} and `{dotted(other)}` {before} lie in one another"
                yield Problem(where, message, "give each a folder of its own")
