"""Rules of what the training asks for against the GPUs that it gets: their memory, their number."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, Severity
from groundplan.nemo_rl.bounds_rules import unjudged
from groundplan.nemo_rl.config import VLLM
from groundplan.nemo_rl.memory.forecast import GB, Forecast
from groundplan.nemo_rl.memory.generation import CACHE_SHARE
from groundplan.nemo_rl.memory.of_config import generation_of, job_of
from groundplan.nemo_rl.memory.parameters import count, guess
from groundplan.nemo_rl.models import ModelShape, model_shape
from groundplan.nemo_rl.places import place
from groundplan.nemo_rl.releases import Model
from groundplan.nemo_rl.shape import Shape, shape_of
from groundplan.nemo_rl.stated import setting, stated
from groundplan.nemo_rl.training import Training, check

#: Billions of parameters of one DTensor rank above which a report tells of a silent end: 32B at TP 1 on 16 B200, in
#: v0.5.0's time (NVIDIA-NeMo/RL#1974). NVIDIA could not repeat it, and ships 128B at TP 1 from v0.7.0 on.
DTENSOR_LIMIT = 16.0


@check("model-fit", Severity.WARNING)
def model_fit(training: Training) -> Iterator[Problem]:
    """A forecast of GPU memory for training and for vLLM, against what a GPU of the pool has.

    A warning within a tenth of the limit, and an error where it is beyond by more than the forecast's own error: 6 %
    for DTensor and the architectures that were measured, 15 % for others, 25 % for Megatron, 40 % for a model of which
    only the size is known. The message has the parts; docs/memory.md says how each is counted, and `groundplan memory`
    tries other sizes.

    Source: groundplan's own measurements on an H200 (docs/memory.md); the limit of 16 billion parameters for a DTensor
    rank is taken from one report of v0.5.0's time, NVIDIA-NeMo/RL#1974, which NVIDIA could not repeat; from v0.7.0 on
    NVIDIA ships a recipe far above it, and the limit is not judged.

    Mend: use the change that the finding names: activation checkpointing, a greater tensor parallel size, more nodes.
    """
    memory_gb, model = training.gpu_memory_gb, known_model(training.model)
    if memory_gb is None or model is None or unjudged(training):
        return
    shape = shape_of(training.config)
    if not shape.backend or shape.training_gpus <= 0:
        return
    forecast = Forecast(job_of(training.config, shape, model), memory_gb * GB)
    at = _sizes(training, shape)
    if forecast.near:
        severity = Severity.ERROR if forecast.fails else Severity.WARNING
        yield Problem(at, _message(training, forecast), _hint(training, forecast, shape), severity)
    elif shape.backend == "dtensor" and not training.release.since("v0.7.0"):
        yield from _silent_end(training, model, shape, at)
    yield from _vllm(training, model, shape, memory_gb)


def known_model(model: Model) -> ModelShape | None:
    """The model's numbers from the catalog; usual ones of its size where it is not there; None when that is unknown."""
    known = model_shape(model.name)
    if known is not None or model.billions is None:
        return known
    return guess(model.billions, min(model.active or model.billions, model.billions))


def _sizes(training: Training, shape: Shape) -> ProfilePath:
    size = "tensor_model" if shape.backend == "megatron" else "tensor"
    return place(
        training,
        f"policy.{shape.backend}_cfg.{size}_parallel_size",
        "policy.model_name",
        "policy.max_total_sequence_length",
        "policy.train_micro_batch_size",
    )


def _message(training: Training, forecast: Forecast) -> str:
    """``M (8.0B) on 8 training GPUs: weights 4 + ... = 90 GB per GPU, at optimizer step; a GPU of p has 80 GB``."""
    billions = count(forecast.job.model).total / 1e9
    parts = " + ".join(f"{name} {size:.0f}" for name, size in forecast.parts.items() if size >= 0.5)
    asked = f"{training.model.name} ({billions:.1f}B) on {forecast.job.gpus} training GPUs"
    need = f"{parts} = {forecast.needed / GB:.0f} GB per GPU, at {forecast.moment.name}"
    error = f"the forecast errs by up to {100 * forecast.error:.0f} %"
    return f"{asked}: {need}; a GPU of {training.pool} has {training.gpu_memory_gb} GB ({error})"


def _hint(training: Training, forecast: Forecast, shape: Shape) -> str:
    """The least change that fits, with what it saves."""
    mend = forecast.mend
    if mend is None:
        return "use more nodes with a greater tensor parallel size and `activation_checkpointing: true`"
    change, after = mend
    group = f"policy.{shape.backend}_cfg"
    keys = {
        "checkpointing": f"{group}.activation_checkpointing",
        "micro_batch": "policy.train_micro_batch_size",
        "tp": f"{group}.tensor_{'model_' if shape.backend == 'megatron' else ''}parallel_size",
    }
    settings = [setting(keys[name], value) for name, value in change.settings.items() if name in keys]
    if "gpus" in change.settings:
        more = change.settings["gpus"] - forecast.job.gpus
        settings.insert(0, setting("workload.nodes", shape.nodes + -(-more // shape.gpus_per_node)))
    return f"set {' and '.join(settings)}: {forecast.needed / GB:.0f} -> {after.needed / GB:.0f} GB"


def _silent_end(training: Training, model: ModelShape, shape: Shape, at: ProfilePath) -> Iterator[Problem]:
    counted = count(model)
    experts = counted.experts / (shape.ep * shape.tp)
    rank = ((counted.total - counted.experts) / shape.tp + experts) / 1e9
    if rank > DTENSOR_LIMIT:
        message = (
            f"{training.model.name}: {counted.total / 1e9:.1f}B parameters at TP {shape.tp} are {rank:.1f}B a rank; "
            f"DTensor above {DTENSOR_LIMIT:.0f}B a rank is reported to fail without an error (NVIDIA-NeMo/RL#1974)"
        )
        yield Problem(at, message, "use tensor_parallel_size 4 or 8")


def _vllm(training: Training, model: ModelShape, shape: Shape, memory_gb: int) -> Iterator[Problem]:
    if training.config.text("policy.generation.backend") not in ("vllm", ""):
        return
    side = generation_of(training.config, shape, model, memory_gb * GB)
    if side.weights <= side.budget * (1 - CACHE_SHARE):
        return
    at = place(training, f"{VLLM}.tensor_parallel_size", f"{VLLM}.gpu_memory_utilization", "policy.model_name")
    billions = count(model).total / 1e9
    sizes = f"(TP {shape.vllm_tp} x PP {shape.vllm_pp})"
    size = f"{billions:.1f}B / {sizes} = {side.weights / GB:.0f} GB of weights per GPU"
    budget = f"{side.budget / GB:.0f} GB (gpu_memory_utilization x {memory_gb})"
    yield Problem(at, f"vLLM: {size}, of {budget}; no room for its cache", "use a greater vLLM tensor_parallel_size")


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
