"""Rules of the job as Kubernetes and Ray see it: image, driver, names, environment, retries, the steps around it.

The other rules of the workload stand beside this module, by concern; importing it registers them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from findings import Problem, Severity, rule
from findings.redaction import is_secret_name
from groundplan.catalog import shipped
from groundplan.kernel.images import parse_image
from groundplan.kernel.protection import is_prod
from groundplan.site.job import MAX_BASE_NAME
from groundplan.site.resolve import Site
from groundplan.workload import (
    export_rules,
    fit_rules,
    jobs_rules,
    lifecycle_rules,
    local_rules,
    queue_rules,
    recipe_rules,
    training_rules,
    volume_rules,
)
from groundplan.workload.environment import MANAGED, environment_of
from groundplan.workload.values import JobValues

__all__ = [
    "export_rules",
    "fit_rules",
    "jobs_rules",
    "lifecycle_rules",
    "local_rules",
    "queue_rules",
    "recipe_rules",
    "training_rules",
    "volume_rules",
]

_RELEASE_TAG = re.compile(r"v[0-9]+\.[0-9]+\.[0-9]+")


@rule("job-name")
def job_name(site: Site) -> Iterator[Problem]:
    """The name before the hash has at most 38 characters.

    KubeRay takes 47 of a RayJob, and adds its own endings up to the 63 of a DNS label; a hyphen and 8 digits are
    groundplan's.

    Source: ray-project/kuberay, ray-operator/controllers/ray/utils/validation.go and constant.go
    (`MaxRayJobNameLength`); ray-project/kuberay#3980.

    Mend: use a shorter `workload.name`.
    """
    name = site.profile.workload.name
    if name is not None and len(name) > MAX_BASE_NAME:
        message = (
            f"workload.name: {len(name)} characters is above {MAX_BASE_NAME}, to which a hyphen and 8 digits are added"
        )
        yield Problem(("workload", "name"), message, f"use a name such as {name[:MAX_BASE_NAME].rstrip('-')}")


@rule("job-image")
def job_image(site: Site) -> Iterator[Problem]:
    """The image must hold the release that is named, and be the same one tomorrow.

    The release decides Ray's version, the script and the keys; head and workers with another Ray never meet. A tag such
    as `latest` moves under a running site: refused in prod, a warning in dev.

    Source: Kubernetes documentation, "Images" (no `latest` in production); ray-project/ray#44063 and
    ray-project/kuberay PR 154 (another version in the driver than in the cluster).

    Mend: name a release's tag or a digest, and `workload.release` as the image has it.
    """
    image, path = site.profile.workload.image, ("workload", "image")
    if image is None:
        return
    release = site.profile.workload.release or site.catalog.default_release
    reference = parse_image(image)
    if reference.floats:
        severity = Severity.ERROR if is_prod(site.profile.environment) else Severity.WARNING
        message = f"workload.image: `{image}` is a moving image ({reference.why})"
        yield Problem(path, message, "name a release's tag or a digest", severity)
    tag = "" if reference.digest else reference.tag
    found = _RELEASE_TAG.search(tag)
    if found and found.group(0) != release:
        message = f"workload.image: tag {tag} is not NeMo RL {release}, whose Ray and configuration keys are used"
        yield Problem(path, message, f"set `workload.release: {found.group(0)}`, or use an image of {release}")


@rule("cuda-driver", Severity.WARNING)
def cuda_driver(site: Site) -> Iterator[Problem]:
    """The release's CUDA must run on the driver that GKE installs: CUDA 13 (NeMo RL v0.7.0) needs R580.

    A warning, because what DEFAULT and LATEST give depends on the GKE version, and because the image's own
    compatibility package bridges a part of the difference.

    Source: NVIDIA-NeMo/RL, docs/about/cuda-driver-compatibility.md; NVIDIA, "CUDA Compatibility". Which branch DEFAULT
    and LATEST give is an estimate of groundplan's own.

    Mend: set `driver: LATEST` on the pool, or use a release of CUDA 12.
    """
    job = site.job
    if job is None or job.pool is None:
        return
    drivers: dict[str, int] = shipped("nemo_rl")["gke_drivers"]
    setting = job.pool.spec.driver
    if drivers[setting] < job.release.min_driver:
        message = (
            f"NeMo RL {job.release.version} holds CUDA {job.release.cuda}, which needs driver "
            f"R{job.release.min_driver}; pool {job.pool.name} with driver {setting} has about R{drivers[setting]}"
        )
        path = ("workload", "release") if job.spec.release else ("gpu", "pools", job.pool.index, "driver")
        hint = f"set `driver: LATEST` on the pool, or `workload.release: {site.catalog.default_release}`"
        yield Problem(path, message, hint)


@rule("image-arch")
def image_arch(site: Site) -> Iterator[Problem]:
    """The job's image must run on the nodes' CPUs: A4X has Arm's, and the Ray head stands on the CPU pool's.

    Head and workers share one reference, so that it must hold both. NVIDIA publishes NeMo RL for both from v0.5.0 on.
    Of an image of your own nothing is known, which is a warning.

    Source: NVIDIA-NeMo/RL, release notes of v0.5.0 (linux/amd64 and linux/arm64); GKE, "Set up Ray on GKE with A4X and
    GB200", "exec format error".

    Mend: a release from v0.5.0 on; of your own image one with both variants.
    """
    job = site.job
    arch = job.pool.machine.arch if job and job.pool and job.pool.machine else "amd64"
    if job is None or arch == "amd64":
        return
    own = site.profile.workload.image
    if own is not None:
        message = f"workload.image: `{own}` must hold a variant for {arch} (the workers) and for amd64 (the head)"
        yield Problem(
            ("workload", "image"), message, "see it with `docker buildx imagetools inspect`", Severity.WARNING
        )
    elif arch not in job.release.archs:
        archs = " and ".join(job.release.archs)
        message = f"NeMo RL {job.release.version} is published for {archs}, and the GPU nodes are {arch}"
        hint = "use a release from v0.5.0 on, or an image of your own with both variants"
        yield Problem(("workload", "release") if job.spec.release else ("workload",), message, hint)


@rule("gib-nccl", Severity.WARNING)
def gib_nccl(site: Site) -> Iterator[Problem]:
    """The gIB release may not work with the NCCL of the job's image: before v1.1.2 it may fail with 2.27 or older.

    NeMo RL v0.4.0 to v0.6.0 hold NCCL 2.26 and 2.27. Judged on machines with RDMA NICs, where gIB is NCCL's network;
    not for an image of your own, whose NCCL is not known.

    Source: GoogleCloudPlatform/cluster-toolkit PR 5674, notes of gIB v1.1.2; NCCL by what the release's torch pins.

    Mend: use gIB v1.1.2 or newer, or a NeMo RL release with a newer NCCL.
    """
    job, gib = site.job, site.profile.platform.gib
    gpu = job.pool.machine.gpu if job and job.pool and job.pool.machine else None
    if job is None or gpu is None or not gpu.rdma_nics or gib.image or site.profile.workload.image:
        return
    arch = job.pool.machine.arch if job.pool and job.pool.machine else "amd64"
    if arch != "amd64":
        yield from _arm_gib(site, job, arch)
        return
    least = str(site.catalog.gib.get(gib.version, {}).get("min_nccl", ""))
    if least and job.release.nccl and _version(job.release.nccl) < _version(least):
        message = (
            f"gIB {gib.version} may not work with NCCL {job.release.nccl}, which NeMo RL {job.release.version} holds"
        )
        good = [name for name, entry in site.catalog.gib.items() if not entry.get("min_nccl")]
        hint = f"set `platform.gib.version: {good[0]}`" if good else f"use an image with NCCL {least} or newer"
        yield Problem(("platform", "gib", "version"), message, hint)


def _arm_gib(site: Site, job: JobValues, arch: str) -> Iterator[Problem]:
    """The same of the catalog's own tag for another architecture."""
    tag = str(shipped("gib")[arch])
    least = str(site.catalog.gib.get(tag, {}).get("min_nccl", ""))
    if site.profile.platform.gib.arm64_image or not least or not job.release.nccl:
        return
    if _version(job.release.nccl) < _version(least):
        message = (
            f"gIB {tag} for {arch} may not work with NCCL {job.release.nccl}, which NeMo RL {job.release.version} holds"
        )
        hint = f"use a release with NCCL {least} or newer, or `platform.gib.arm64_image` of a newer gIB"
        yield Problem(("workload", "release") if job.spec.release else ("workload",), message, hint)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


@rule("job-environment")
def job_environment(site: Site) -> Iterator[Problem]:
    """Variables of the user's own: no secret, and nothing that groundplan sets from other keys or that breaks NeMo RL.

    A value that groundplan would set itself passes.

    Source: NVIDIA-NeMo/RL, nemo_rl/distributed/virtual_cluster.py, `init_ray` (the driver's environment goes to every
    worker), NVIDIA-NeMo/RL#564 and #1352 (NCCL); ray-project/kuberay#3247 (login shell) and
    ray-operator/controllers/ray/utils/validation.go (autoscaler); the rest is groundplan's own list.

    Mend: leave the variable out, or give a secret under `secrets:`.
    """
    usual = _usual_environment(site)
    for name, value in site.profile.workload.environment.items():
        path = ("workload", "environment", name)
        if usual.get(name) == value:
            continue
        if is_secret_name(name):
            message = f"workload.environment: `{name}` names a secret, and the value would stand in the manifest"
            yield Problem(path, message, "use `secrets:` (hugging_face, wandb)")
        elif name in MANAGED:
            yield Problem(path, f"workload.environment: groundplan sets `{name}` itself", "leave it out")
        elif name in _REFUSED:
            yield Problem(path, f"workload.environment: `{name}` {_REFUSED[name]}", "leave it out")
        elif name in _DOUBTFUL or name in shipped("gib")["nccl"]:
            reason = _DOUBTFUL.get(name, "is tuned for the RDMA network by the gIB plugin's own settings")
            hint = f"use {usual[name]}, or leave it out" if name in usual else _LEAVE_OUT
            yield Problem(path, f"workload.environment: `{name}` {reason}", hint, Severity.WARNING)


def _usual_environment(site: Site) -> dict[str, str]:
    job = site.job
    if job is None:
        return {}
    return environment_of(job.release, job.pool.machine if job.pool else None, job.mount_path)


_LEAVE_OUT = "leave it out, unless a support case asks for it"

_REFUSED = {
    "ENABLE_LOGIN_SHELL": "makes KubeRay start Ray in a login shell, where NeMo RL's `ray` is not on the path",
    "RAY_enable_autoscaler_v2": "needs autoscaling, which a training has not",
    "CUDA_VISIBLE_DEVICES": "is set by Ray for each actor, and the driver's value would overwrite it",
    "KUBERAY_GEN_RAY_START_CMD": "is KubeRay's own: the command that starts Ray",
    "RAY_CLUSTER_NAME": "is KubeRay's own, by which the train script knows a Ray cluster that has started it before",
    "PATH": "would hide the image's own programs, `python` and `ray` among them",
    "LD_PRELOAD": "would put a library into every program of head and workers, which differ in what they have",
    "RAY_OVERRIDE_JOB_RUNTIME_ENV": "is for a runtimeEnvYAML, which groundplan does not write",
}
_DOUBTFUL = {
    "NCCL_CUMEM_ENABLE": "is set by NeMo RL itself for generation apart from training (NVIDIA-NeMo/RL#564)",
    "NCCL_NVLS_ENABLE": "is set by NeMo RL itself when a model spans nodes (NVIDIA-NeMo/RL#1352)",
    "NCCL_SOCKET_IFNAME": "must name the interface that the nodes reach each other by, which is eth0",
    "GLOO_SOCKET_IFNAME": "must name the interface that the nodes reach each other by, which is eth0",
    "NCCL_NET": "other than gIB leaves the RDMA network unused",
    "PYTHONPATH": "puts other modules before the image's own, for the driver and every actor",
    "NRL_FORCE_REBUILD_VENVS": "builds every environment anew on every node, from the network",
}


@rule("retries-checkpoints", Severity.WARNING)
def retries_checkpoints(site: Site) -> Iterator[Problem]:
    """A retry starts a whole new Ray cluster; without a checkpoint to resume from it starts the training over.

    Source: KubeRay API reference, RayJobSpec, `backoffLimit` (each retry creates a new RayCluster); NVIDIA-NeMo/RL,
    docs/design-docs/checkpointing.md.

    Mend: turn `checkpointing.enabled` on and leave `checkpoint_dir` out, or set `workload.retries: 0`.
    """
    job = site.job
    if job is None or job.spec.retries == 0:
        return
    path = ("workload", "retries")
    if not job.config.on("checkpointing.enabled"):
        message = f"workload.retries {job.spec.retries}: checkpointing is off, so that each starts from nothing"
        yield Problem(path, message, "set `checkpointing.enabled: true`, or retries to 0")
    elif not job.shares(job.config.text("checkpointing.checkpoint_dir")):
        message = (
            f"workload.retries {job.spec.retries}: the checkpoints are not on shared storage, and go with the pods"
        )
        yield Problem(path, message, f"leave checkpoint_dir out: it is {job.folder}/checkpoints")


#: Keys of a RayJob alone.
_OF_A_JOB = {"submission", "retries", "deadline_hours", "keep_minutes", "startup_minutes", "suspend"}


@rule("cluster-mode", Severity.WARNING)
def cluster_mode(site: Site) -> Iterator[Problem]:
    """An interactive RayCluster holds its GPUs until it is taken away; deadlines and retries do not apply to it.

    Source: KubeRay API reference: RayClusterSpec has no entrypoint, deadline or retries, which are RayJobSpec's.

    Mend: leave the key out, or use `mode: job`.
    """
    job = site.job
    if job is None or job.spec.mode != "cluster":
        return
    given = job.spec.model_fields_set & _OF_A_JOB
    for name in sorted(given):
        yield Problem(("workload", name), f"workload.{name} has no effect with mode cluster", "leave it out")
