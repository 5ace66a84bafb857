"""Rules of what the job asks for against what is there: nodes, CPUs, memory."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, rule
from groundplan.cluster.allocatable import allocatable
from groundplan.gpu.values import PoolValues
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
        wanted = spec.pool if isinstance(spec.pool, str) else ", ".join(spec.pool or [])
        yield Problem(("workload", "pool"), f"workload.pool: there is no GPU pool `{wanted}`", f"pools: {names}")
        return
    if job.pool.machine is not None and not job.pool.gpus_per_node:
        path: ProfilePath = ("gpu", "pools", job.pool.index, "machine_type")
        yield Problem(
            path, f"{job.pool.spec.machine_type} has no GPU to train on", "use a4-highgpu-8g or a3-ultragpu-8g"
        )
    most = sum(share.pool.max_nodes for share in job.worker_groups)
    if job.nodes > most:
        at = ("workload", "nodes") if spec.nodes else ("workload", "recipe")
        pools = " and ".join(share.pool.name for share in job.worker_groups)
        several = f"pools {pools} have" if len(job.worker_groups) > 1 else f"pool {pools} has"
        total = f"{job.nodes} workers need {job.nodes} nodes; {several} at most {most}"
        hint = f"set `workload.nodes: {most}`, or give the pool more nodes"
        yield Problem(at, total, hint if most else "give the pool nodes")


@rule("job-pools-differ")
def job_pools_differ(site: Site) -> Iterator[Problem]:
    """A job's pools are not alike, or one that it names is not there.

    All workers are of one template, and NCCL's traffic goes over one fabric: the pools must have one machine type,
    zone, fabric and driver, and the same taints. An RDMA network is of one zone.

    Source: VPC documentation, "RDMA network profiles" (zonal); ray-project/kuberay, RayCluster, `workerGroupSpecs`.

    Mend: pools alike in `workload.pool`.
    """
    job, chosen = site.job, site.profile.workload.pool
    if job is None or job.pool is None:
        return
    for name in chosen if isinstance(chosen, list) else []:
        if not any(name in (pool.name, pool.entry) for pool in site.pools):
            names = ", ".join(pool.name for pool in site.pools)
            yield Problem(("workload", "pool"), f"workload.pool: there is no GPU pool `{name}`", f"pools: {names}")
    first = job.pool
    for share in job.worker_groups[1:]:
        for what, one, other in _unlike(first, share.pool):
            yield Problem(
                ("workload", "pool"),
                f"the job's pools {first.name} and {share.pool.name} have not the same {what}: {one} and {other}",
                "name pools alike, or a job for each",
            )


def _unlike(first: PoolValues, other: PoolValues) -> Iterator[tuple[str, object, object]]:
    """In what two pools differ that a job's must have in common."""
    pairs = (
        ("machine type", first.spec.machine_type, other.spec.machine_type),
        ("zone", first.zone, other.zone),
        ("fabric", first.fabric, other.fabric),
        ("driver", first.spec.driver, other.spec.driver),
        ("taints", _taints(first), _taints(other)),
        ("capacity", first.capacity, other.capacity),
    )
    return ((what, one, two) for what, one, two in pairs if one != two)


def _taints(pool: PoolValues) -> str:
    return ", ".join(sorted(f"{taint.key}={taint.value}" for taint in pool.spec.taints)) or "none"


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
