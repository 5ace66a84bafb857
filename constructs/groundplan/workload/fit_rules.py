"""Rules of what the job asks for against what is there: nodes, CPUs, memory."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, rule
from groundplan.cluster.allocatable import allocatable
from groundplan.kernel.quantities import MIB, parse_bytes, show
from groundplan.nemo_rl.shape import shape_of
from groundplan.site.resolve import Site

#: What GKE's and groundplan's own DaemonSets ask for on a node (CSI drivers, metrics, logging, gIB): an allowance.
DAEMON_CPU_MILLIS, DAEMON_MEMORY_MIB = 1000, 2048
#: CPUs that Ray asks for: two a GPU with generation beside training, else one; and one for the environment builder.
CPUS_COLOCATED, CPUS_APART, CPUS_BUILDER = 2, 1, 1


@rule("job-pool")
def job_pool(site: Site) -> Iterator[Problem]:
    """The job needs a GPU pool that has GPUs, and as many nodes as it has workers.

    Source: Kubernetes documentation, "Schedule GPUs"; NVIDIA-NeMo/RL v0.7.0, nemo_rl/distributed/virtual_cluster.py
    lines 790 and 795 (it waits for all GPUs, and gives up).

    Mend: name a GPU pool of the profile in `workload.pool`, give it more nodes, or lower `workload.nodes`.
    """
    job, spec = site.job, site.profile.workload
    if job is None:
        return
    if job.pool is None:
        names = ", ".join(pool.name for pool in site.pools)
        yield Problem(("workload", "pool"), f"workload.pool: there is no GPU pool `{spec.pool}`", f"pools: {names}")
        return
    if job.pool.machine is not None and not job.pool.gpus_per_node:
        path: ProfilePath = ("gpu", "pools", job.pool.index, "machine_type")
        yield Problem(
            path, f"{job.pool.spec.machine_type} has no GPU to train on", "use a4-highgpu-8g or a3-ultragpu-8g"
        )
    if job.nodes > job.pool.max_nodes:
        at = ("workload", "nodes") if spec.nodes else ("workload", "recipe")
        total = f"{job.nodes} workers need {job.nodes} nodes; pool {job.pool.name} has at most {job.pool.max_nodes}"
        hint = f"set `workload.nodes: {job.pool.max_nodes}`, or give the pool more nodes"
        yield Problem(at, total, hint if job.pool.max_nodes else "give the pool nodes")


@rule("worker-resources")
def worker_resources(site: Site) -> Iterator[Problem]:
    """A worker must fit its node, one to a node, beside the node's own pods.

    It must have the CPUs that Ray will ask for as well. Shared memory counts against the pod's memory. GKE keeps a part
    of CPUs and memory for itself; what its DaemonSets ask for is an allowance of groundplan's own.

    Source: GKE documentation, "Plan GKE Standard node sizes"; Kubernetes documentation, "Volumes", emptyDir with medium
    Memory; NVIDIA-NeMo/RL v0.7.0, nemo_rl/distributed/virtual_cluster.py (two CPUs a GPU with generation beside
    training, else one).

    Mend: use the numbers that the finding names, or a larger machine type.
    """
    job = site.job
    if job is None:
        return
    path = ("workload", "worker")
    yield from _shared_memory(path, job.worker_shm, job.worker_memory)
    colocated = shape_of(job.config).colocated
    a_gpu = CPUS_COLOCATED if colocated else CPUS_APART
    needed = a_gpu * job.gpus + CPUS_BUILDER
    if job.worker_cpu < needed:
        asks = f"{a_gpu} x {job.gpus} GPUs + {CPUS_BUILDER} = {needed}"
        message = f"workload.worker.cpu {job.worker_cpu}: NeMo RL asks for {asks}"
        yield Problem((*path, "cpu"), message, f"use at least {needed}")
    machine = job.pool.machine if job.pool else None
    if machine is None or job.pool is None:
        return
    free = allocatable(machine, job.pool.max_pods_per_node)
    name = f"a node of {machine.name}"
    yield from _fits_cpu((*path, "cpu"), "workload.worker.cpu", job.worker_cpu, free.cpu_millis, name)
    yield from _fits_memory((*path, "memory"), "workload.worker.memory", job.worker_memory, free.memory_mib, name)


@rule("head-resources")
def head_resources(site: Site) -> Iterator[Problem]:
    """The head must fit a node of the CPU pool, beside the node's own pods.

    Source: GKE documentation, "Plan GKE Standard node sizes"; NVIDIA-NeMo/RL#2374 (v0.5.0 and v0.6.0 hang on a head
    that has no CPU for Ray).

    Mend: use the numbers that the finding names, or a larger machine type for the CPU pool.
    """
    job = site.job
    if job is None:
        return
    path = ("workload", "head")
    yield from _shared_memory(path, job.spec.head.shm, job.head_memory)
    if job.head_cpu < job.release.head_min_cpus:
        message = f"workload.head.cpu {job.head_cpu}: NeMo RL {job.release.version} hangs on a head with no CPU for Ray"
        yield Problem((*path, "cpu"), message, f"use at least {job.release.head_min_cpus}")
    machine = site.cluster.cpu_machine
    if machine is None:
        return
    free = allocatable(machine, site.profile.cluster.cpu_pool.max_pods_per_node)
    name = f"a node of the CPU pool ({machine.name})"
    yield from _fits_cpu((*path, "cpu"), "the head's CPUs", job.head_cpu, free.cpu_millis, name)
    yield from _fits_memory((*path, "memory"), "the head's memory", job.head_memory, free.memory_mib, name)


def _shared_memory(path: tuple[str, ...], shm: str, memory: str) -> Iterator[Problem]:
    where = ".".join(path)
    if parse_bytes(memory) < 4 << 30:
        yield Problem((*path, "memory"), f"{where}.memory {memory} is below 4Gi", "use 64Gi or more, unit included")
    elif parse_bytes(shm) >= parse_bytes(memory):
        message = f"{where}.shm {shm} counts against {where}.memory {memory} and leaves none of it"
        yield Problem((*path, "shm"), message, "use a tenth of the memory")
    elif parse_bytes(shm) < 1 << 30:
        yield Problem((*path, "shm"), f"{where}.shm {shm} is below 1Gi", "use 16Gi or more: Ray and NCCL share it")


def _fits_cpu(path: tuple[str, ...], what: str, cpu: int, free_millis: int, node: str) -> Iterator[Problem]:
    most = (free_millis - DAEMON_CPU_MILLIS) // 1000
    if cpu > most:
        message = (
            f"{what} {cpu} is more than {most}: {node} has {free_millis / 1000:.1f} for pods, "
            f"of which system pods take {DAEMON_CPU_MILLIS / 1000:.0f}"
        )
        yield Problem(path, message, f"use at most {most}, or a larger machine type")


def _fits_memory(path: tuple[str, ...], what: str, memory: str, free_mib: int, node: str) -> Iterator[Problem]:
    most = (free_mib - DAEMON_MEMORY_MIB) * MIB
    if parse_bytes(memory) > most:
        message = f"{what} {memory} = {show(parse_bytes(memory))} is more than {show(most)}, which {node} has for it"
        yield Problem(path, message, f"use at most {most >> 30}Gi, or a larger machine type")
