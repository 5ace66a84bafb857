"""Rules of what the training asks for against the GPUs that it gets: their memory, their number."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, Severity
from groundplan.nemo_rl.bounds_rules import unjudged
from groundplan.nemo_rl.places import place
from groundplan.nemo_rl.rough_memory import CACHE_SHARE, DTENSOR_LIMIT, estimate, rank_billions
from groundplan.nemo_rl.shape import shape_of
from groundplan.nemo_rl.stated import setting, stated
from groundplan.nemo_rl.training import Training, check


@check("model-fit", Severity.WARNING)
def model_fit(training: Training) -> Iterator[Problem]:
    """An estimate of GPU memory for training and for vLLM, against what a GPU of the pool has.

    A warning, for it is rough: it names its parts, so that a reader can judge them. The sums are in nemo_rl/memory.py.

    Source: groundplan's own estimate, from bytes a parameter and activations of a dense transformer; the limit of 16
    billion parameters for a DTensor rank is taken from one report of v0.5.0's time, NVIDIA-NeMo/RL#1974, which NVIDIA
    could not repeat; from v0.7.0 on NVIDIA ships a recipe far above it, and the limit is not judged.

    Mend: use more nodes, a greater tensor parallel size, or `activation_checkpointing: true`.
    """
    memory_gb = training.gpu_memory_gb
    if memory_gb is None or training.model.billions is None or unjudged(training):
        return
    shape, config = shape_of(training.config), training.config
    if not shape.backend or shape.training_gpus <= 0:
        return
    billions, active = training.model.billions, training.model.active or training.model.billions
    rank, has = rank_billions(billions, active, shape), f"a GPU of {training.pool} has {memory_gb} GB"
    fit = estimate(billions, active, shape, config, memory_gb)
    sizes = f"policy.{shape.backend}_cfg.{'tensor_model' if shape.backend == 'megatron' else 'tensor'}_parallel_size"
    at = place(
        training,
        sizes,
        "policy.model_name",
        "policy.max_total_sequence_length",
        "policy.train_micro_batch_size",
    )
    if fit.training > memory_gb:
        asked = f"{training.model.name} ({billions}B) on {shape.training_gpus} training GPUs"
        message = f"{asked}: {fit.sum} per GPU; {has}"
        yield Problem(at, message, "use more nodes, a greater tensor parallel size, or activation_checkpointing: true")
    elif shape.backend == "dtensor" and rank > DTENSOR_LIMIT and not training.release.since("v0.7.0"):
        message = (
            f"{training.model.name}: {billions}B parameters at TP {shape.tp} are {rank:.1f}B a rank; "
            f"DTensor above {DTENSOR_LIMIT:.0f}B a rank is reported to fail without an error (NVIDIA-NeMo/RL#1974)"
        )
        yield Problem(at, message, "use tensor_parallel_size 4 or 8")
    if fit.generation > fit.generation_budget * (1 - CACHE_SHARE):
        vllm = "policy.generation.vllm_cfg"
        at = place(training, f"{vllm}.tensor_parallel_size", f"{vllm}.gpu_memory_utilization", "policy.model_name")
        size = f"{billions}B / (TP {shape.vllm_tp} x PP {shape.vllm_pp}) = {fit.generation:.0f} GB of weights per GPU"
        budget = f"{fit.generation_budget:.0f} GB (gpu_memory_utilization x {memory_gb})"
        message = f"vLLM: {size}, of {budget}; no room for its cache"
        yield Problem(at, message, "use a greater vLLM tensor_parallel_size")


@check("cluster-shape")
def cluster_shape(training: Training) -> Iterator[Problem]:
    """NeMo RL asks Ray for cluster.num_nodes x cluster.gpus_per_node GPUs; Ray has what the workers declare.

    groundplan writes both from `workload.nodes`; an override that differs waits for GPUs that never come.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/distributed/virtual_cluster.py lines 790 and 795 (v0.6.0: 304 and 309).

    Mend: set `workload.nodes`, and leave `cluster.num_nodes` and `cluster.gpus_per_node` out of the overrides.
    """
    if unjudged(training):
        return
    shape = shape_of(training.config)
    asked, there = shape.nodes * shape.gpus_per_node, training.nodes * training.gpus
    told = stated(training.release, "I13")
    if shape.gpus_per_node != training.gpus:
        key = "cluster.gpus_per_node"
        message = f"`{key}` is {shape.gpus_per_node}, and each worker has {training.gpus} GPUs ({told})"
        hint = f"leave it out: it follows from the machine type, or set {setting(key, training.gpus)}"
        yield Problem(place(training, key), message, hint)
    elif asked != there:
        key = "cluster.num_nodes"
        message = (
            f"`{key}` {shape.nodes} x {shape.gpus_per_node} = {asked} GPUs, "
            f"and {training.nodes} workers have {there} ({told})"
        )
        enough = shape.nodes <= training.most_nodes
        hint = f"set `workload.nodes: {shape.nodes}` instead" if enough else f"set {setting(key, training.nodes)}"
        yield Problem(place(training, key), message, hint)
