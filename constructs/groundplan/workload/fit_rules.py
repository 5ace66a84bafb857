"""Rules of what the job asks for against what is there: GPU memory, nodes, CPUs, memory."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, Severity, rule
from groundplan.cluster.allocatable import allocatable
from groundplan.kernel.quantities import MIB, parse_bytes, show
from groundplan.nemo_rl.memory import CACHE_SHARE, DTENSOR_LIMIT, estimate
from groundplan.nemo_rl.shape import shape_of
from groundplan.site.resolve import Site
from groundplan.workload.bounds_rules import unjudged
from groundplan.workload.places import place

#: What GKE's and groundplan's own DaemonSets ask for on a node (CSI drivers, metrics, logging, gIB): an allowance.
DAEMON_CPU_MILLIS, DAEMON_MEMORY_MIB = 1000, 2048
#: CPUs that Ray asks for: two a GPU with generation beside training, else one; and one for the environment builder.
CPUS_COLOCATED, CPUS_APART, CPUS_BUILDER = 2, 1, 1


@rule("model-fit", Severity.WARNING)
def model_fit(site: Site) -> Iterator[Problem]:
    """An estimate of GPU memory for training and for vLLM, against what a GPU of the pool has.

    A warning, for it is rough: it names its parts, so that a reader can judge them. The sums are in workload/fit.py.
    """
    job = site.job
    gpu = job.pool.machine.gpu if job and job.pool and job.pool.machine else None
    if job is None or gpu is None or job.model.billions is None or unjudged(job):
        return
    shape, config = shape_of(job.config), job.config
    if not shape.backend or shape.training_gpus <= 0:
        return
    billions, has = job.model.billions, f"a GPU of {job.pool.name if job.pool else ''} has {gpu.memory_gb} GB"
    fit = estimate(billions, job.model.active or billions, shape, config, gpu.memory_gb)
    sizes = f"policy.{shape.backend}_cfg.{'tensor_model' if shape.backend == 'megatron' else 'tensor'}_parallel_size"
    at = place(job, sizes, "policy.model_name", "policy.max_total_sequence_length", "policy.train_micro_batch_size")
    if fit.training > gpu.memory_gb:
        message = f"{job.model.name} ({billions}B) on {shape.training_gpus} training GPUs: {fit.sum} per GPU; {has}"
        yield Problem(at, message, "use more nodes, a greater tensor parallel size, or activation_checkpointing: true")
    elif shape.backend == "dtensor" and billions / shape.tp > DTENSOR_LIMIT:
        message = (
            f"{job.model.name}: {billions}B parameters at TP {shape.tp} are {billions / shape.tp:.1f}B a rank; "
            f"DTensor above {DTENSOR_LIMIT:.0f}B a rank has failed without an error (NVIDIA-NeMo/RL#1974)"
        )
        yield Problem(at, message, "use tensor_parallel_size 4 or 8")
    if fit.generation > fit.generation_budget * (1 - CACHE_SHARE):
        vllm = "policy.generation.vllm_cfg"
        at = place(job, f"{vllm}.tensor_parallel_size", f"{vllm}.gpu_memory_utilization", "policy.model_name")
        size = f"{billions}B / (TP {shape.vllm_tp} x PP {shape.vllm_pp}) = {fit.generation:.0f} GB of weights per GPU"
        budget = f"{fit.generation_budget:.0f} GB (gpu_memory_utilization x {gpu.memory_gb})"
        message = f"vLLM: {size}, of {budget}; no room for its cache"
        yield Problem(at, message, "use a greater vLLM tensor_parallel_size")


@rule("cluster-shape")
def cluster_shape(site: Site) -> Iterator[Problem]:
    """NeMo RL asks Ray for cluster.num_nodes x cluster.gpus_per_node GPUs; Ray has what the workers declare (R14).

    groundplan writes both from `workload.nodes`; an override that differs waits for GPUs that never come.
    """
    job = site.job
    if job is None or unjudged(job):
        return
    shape = shape_of(job.config)
    asked, there = shape.nodes * shape.gpus_per_node, job.nodes * job.gpus
    if shape.gpus_per_node != job.gpus:
        message = f"cluster.gpus_per_node is {shape.gpus_per_node}, and each worker has {job.gpus} GPUs"
        yield Problem(place(job, "cluster.gpus_per_node"), message, "leave it out: it follows from the machine type")
    elif asked != there:
        message = (
            f"cluster.num_nodes {shape.nodes} x {shape.gpus_per_node} = {asked} GPUs, "
            f"and {job.nodes} workers have {there}"
        )
        yield Problem(place(job, "cluster.num_nodes"), message, f"set `workload.nodes: {shape.nodes}` instead")


@rule("job-pool")
def job_pool(site: Site) -> Iterator[Problem]:
    """The job needs a GPU pool that has GPUs, and as many nodes as it has workers."""
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
    """A worker must fit its node, one to a node, beside the node's own pods, and have the CPUs that Ray will ask for.

    Shared memory counts against the pod's memory. GKE keeps a part of CPUs and memory for itself.
    """
    job = site.job
    if job is None:
        return
    worker, path = job.spec.worker, ("workload", "worker")
    yield from _shared_memory(path, worker.shm, worker.memory)
    colocated = shape_of(job.config).colocated
    a_gpu = CPUS_COLOCATED if colocated else CPUS_APART
    needed = a_gpu * job.gpus + CPUS_BUILDER
    if worker.cpu < needed:
        message = (
            f"workload.worker.cpu {worker.cpu}: NeMo RL asks for {a_gpu} x {job.gpus} GPUs + {CPUS_BUILDER} = {needed}"
        )
        yield Problem((*path, "cpu"), message, f"use at least {needed}")
    machine = job.pool.machine if job.pool else None
    if machine is None or job.pool is None:
        return
    free = allocatable(machine, job.pool.max_pods_per_node)
    name = f"a node of {machine.name}"
    yield from _fits_cpu((*path, "cpu"), "workload.worker.cpu", worker.cpu, free.cpu_millis, name)
    yield from _fits_memory((*path, "memory"), "workload.worker.memory", worker.memory, free.memory_mib, name)


@rule("head-resources")
def head_resources(site: Site) -> Iterator[Problem]:
    """The head must fit a node of the CPU pool, beside the node's own pods."""
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
