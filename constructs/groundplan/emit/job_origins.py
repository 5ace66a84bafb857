"""Where each value of the job comes from: recipe, release, machine, site, user."""

from __future__ import annotations

from groundplan.emit.job_memory import memory_text
from groundplan.nemo_rl.hydra import value_text
from groundplan.site.resolve import Site
from groundplan.workload.environment import network_environment
from groundplan.workload.values import JobValues

#: What it is, its value, its origin.
Row = tuple[str, str, str]


def explain_job(site: Site) -> str:
    """A table: what it is, where it comes from, the value."""
    if site.job is None:
        return ""
    rows = [*_facts(site, site.job), *_environment(site.job), *_overrides(site.job)]
    widths = [max(len(row[n]) for row in rows) for n in (0, 2)]
    lines = [f"{name:<{widths[0]}}  {origin:<{widths[1]}}  {value}".rstrip() for name, value, origin in rows]
    title = f"# Job {site.job.name} of site {site.name}: each value and its origin."
    return "\n".join([title, *lines]) + "\n" + memory_text(site)


def _facts(site: Site, job: JobValues) -> list[Row]:
    spec = job.spec

    def of(given: object, otherwise: str) -> str:
        return "user" if given is not None else otherwise

    def own(model: object, field: str) -> str:
        return "user" if field in getattr(model, "model_fields_set", ()) else "default"

    release = f"release {job.release.version}"
    chosen = f"file {job.file.name}" if job.file else f"recipe {job.recipe.name}"
    pools = " and ".join(share.pool.name for share in job.worker_groups)
    machine = job.pool.spec.machine_type if job.pool else ""
    return [
        ("name", job.name, f"{of(spec.name, chosen.partition(' ')[0])}; hash of what cannot be edited in place"),
        ("recipe", job.recipe.name, chosen if job.file else own(spec, "recipe")),
        ("release", job.release.version, of(spec.release, "catalog default")),
        ("image", job.image, of(spec.image, release)),
        ("rayVersion", job.release.ray, release),
        ("entry script", job.release.script, of(spec.script, release)),
        ("base config", *_base(job)),
        ("nodes", str(job.nodes), of(spec.nodes, chosen)),
        ("GPUs per node", str(job.gpus), f"machine {machine}"),
        ("GPU pool", pools, of(spec.pool, "first with enough nodes")),
        ("accelerator", job.pool.accelerator if job.pool else "", f"machine {machine}"),
        ("networks", ", ".join(["eth0", *(nic.interface for nic in job.nics)]), "site: gpu.gvnic, gpu.rdma"),
        ("head CPUs", str(job.head_cpu), of(spec.head.cpu, "recipe")),
        ("head memory", job.head_memory, of(spec.head.memory, "recipe")),
        ("worker CPUs", str(job.worker_cpu), of(spec.worker.cpu, f"machine {machine}")),
        ("worker memory", job.worker_memory, of(spec.worker.memory, f"machine {machine}")),
        ("worker /dev/shm", job.worker_shm, of(spec.worker.shm, f"machine {machine}")),
        *_volumes(job),
        ("namespace", job.namespace, "site: platform"),
        ("submission", spec.submission, own(spec, "submission")),
        ("deadline", f"{spec.deadline_hours} h", own(spec, "deadline_hours")),
        ("retries", str(spec.retries), own(spec, "retries")),
        *[(s.variable, f"Secret {s.secret}, key {s.key}", "user: secrets") for s in job.secrets],
    ]


def _volumes(job: JobValues) -> list[Row]:
    own = job.volumes.shared
    key = "site: storage.lustre" if own.kind == "lustre" else "site: storage.jobs"
    shared = [("claim", f"{own.claim} at {own.mount_path}", key)] if own.claim else []
    buckets = [("bucket", f"{each.name} at {each.mount}", "site: storage.buckets") for each in job.volumes.mounted]
    return shared + buckets


def _base(job: JobValues) -> tuple[str, str]:
    if job.file is None:
        return job.recipe.config, f"recipe {job.recipe.name}"
    return job.recipe.config, f"file {job.file.name}" + (f", over {job.file.base}" if job.file.base else "")


def _environment(job: JobValues) -> list[Row]:
    machine = job.pool.machine if job.pool else None
    network = network_environment(machine)

    def origin(name: str) -> str:
        if name in job.spec.environment:
            return "user"
        if name in job.release.environment or name == "LD_LIBRARY_PATH":
            return f"release {job.release.version}"
        if name == "NCCL_TUNER_CONFIG_PATH":
            return f"machine {machine.name if machine else ''}"
        if name in network:
            return "machine: gIB" if name.startswith("NCCL_") else "machine"
        return "groundplan"

    return [(name, value, origin(name)) for name, value in job.environment.items()]


def _overrides(job: JobValues) -> list[Row]:
    names = {
        "recipe": f"recipe {job.recipe.name}",
        "release": f"recipe's data set, as release {job.release.version} names it",
        "site": "site",
        "user": "user",
        "file": f"file {job.file.name if job.file else ''}: its group replaces the base's",
    }
    values = job.file.values if job.file else {}
    file = [(path, value_text(value), f"file {job.file.name if job.file else ''}") for path, value in values.items()]
    return file + [
        (f"{o.prefix}{o.path}", "" if o.prefix == "~" else value_text(o.value), names[o.origin]) for o in job.overrides
    ]
