"""Rules of a GRPO job's shape. NeMo RL checks most of them itself, but some only at the first step, after
minutes of loading; each message here shows the sum.

Source: asserts of nemo_rl at v0.7.0, run over all 125 GRPO recipes that NVIDIA ships.
"""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath
from groundplan.nemo_rl.bounds_rules import missing, unjudged
from groundplan.nemo_rl.config import VLLM
from groundplan.nemo_rl.mends import (
    batch_near,
    colocated,
    generating_gpus,
    generating_nodes,
    holds,
    node_counts,
    parallel_sizes,
    prompts_near,
    sizes_near,
    with_nodes,
)
from groundplan.nemo_rl.places import given, place
from groundplan.nemo_rl.shape import Shape, shape_of
from groundplan.nemo_rl.stated import setting, shown, stated
from groundplan.nemo_rl.training import Training, check

_BATCH = "policy.train_global_batch_size"
_MICRO, _LOGPROB = "policy.train_micro_batch_size", "policy.logprob_batch_size"
_PROMPTS, _GENERATIONS = "grpo.num_prompts_per_step", "grpo.num_generations_per_prompt"
_COLOCATED = "policy.generation.colocated"
_BACKENDS = ("policy.megatron_cfg.enabled", "policy.dtensor_cfg.enabled")


@check("training-backend")
def training_backend(training: Training) -> Iterator[Problem]:
    """Exactly one training backend is on: policy.dtensor_cfg.enabled or policy.megatron_cfg.enabled.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/models/policy/lm_policy.py lines 96 and 131; the same at every tag from
    v0.4.0 on.

    Mend: set exactly one of the two to true.
    """
    if missing(training) or shape_of(training.config).backend:
        return
    both = training.config.on("policy.megatron_cfg.enabled")
    told = f"both are {shown(both)}, and exactly one must be true ({stated(training.release, 'B1')})"
    message = f"`policy.dtensor_cfg.enabled` and `policy.megatron_cfg.enabled`: {told}"
    at = place(training, *_BACKENDS)
    # What the user wrote is what to take back.
    ours = [key for key in _BACKENDS if key in given(training)]
    hint = ", or ".join(setting(key, not both) for key in (*ours, *_BACKENDS)[: max(1, len(ours))])
    yield Problem(at, message, f"set {hint}")


@check("model-parallel")
def model_parallel(training: Training) -> Iterator[Problem]:
    """The training GPUs must hold whole copies of the model.

    They are a multiple of TP x PP x CP, the GPUs that hold one copy; with Megatron also of PP x EP x ETP.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/models/policy/lm_policy.py lines 197 and 205; NVIDIA/Megatron-LM,
    parallel_state.py line 788 at d30c3ae5, which v0.6.0 pins (experts).

    Mend: choose sizes whose product divides the training GPUs, or other nodes.
    """
    if unjudged(training):
        return
    shape = shape_of(training.config)
    if not shape.backend or shape.training_gpus <= 0:
        return
    sizes, gpus = parallel_sizes(shape), training_gpus(shape)
    at = place(training, *sizes, "cluster.num_nodes")
    if not shape.data_parallel:
        whole = {key: size for key, size in sizes.items() if "expert" not in key}
        product = f"{' x '.join(f'`{key}` {size}' for key, size in whole.items())} = {shape.model_parallel}"
        message = f"{gpus} is not divisible by {product} ({stated(training.release, 'B2')})"
        yield Problem(at, message, _sizes_hint(training, shape, whole))
    experts = shape.pp * shape.ep * shape.etp
    if shape.backend == "megatron" and shape.training_gpus % experts:
        whole = {key: size for key, size in sizes.items() if "expert" in key or "pipeline" in key}
        product = f"{' x '.join(f'`{key}` {size}' for key, size in whole.items())} = {experts}"
        message = f"{gpus} is not divisible by {product} ({stated(training.release, 'B3')})"
        at = place(training, *sorted(whole), "cluster.num_nodes")
        yield Problem(at, message, _sizes_hint(training, shape, whole))


@check("batch-size")
def batch_size(training: Training) -> Iterator[Problem]:
    """The batch divides over the data-parallel copies, and the samples of a step over both.

    NeMo RL finds out at the first step, after the model has been loaded and the first samples have been generated.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/distributed/batched_data_dict.py lines 395 and 399 (v0.6.0: 375 and 379,
    v0.4.0 and v0.5.0: 374 and 378).

    Mend: use the batch, the prompts or the nodes that the finding names.
    """
    if unjudged(training):
        return
    shape = shape_of(training.config)
    dp, batch, samples = shape.data_parallel, shape.global_batch, shape.samples
    if not dp:
        return
    copies = f"data parallel = {shape.training_gpus} / ({shape.tp} x {shape.pp} x {shape.cp}) = {dp}"
    if not shape.colocated:
        copies += f" (of {shape.nodes * shape.gpus_per_node} GPUs, {shape.generation_gpus} generate)"
    product = f"`{_PROMPTS}` {shape.prompts} x `{_GENERATIONS}` {shape.generations} = {samples}"
    faults = [f"`{_BATCH}` {batch} is not divisible by {dp}"] if batch % dp else []
    uneven = [str(dp)] if samples % dp else []
    uneven += [f"`{_BATCH}` {batch}"] if samples % batch else []
    if uneven:
        faults.append(f"{product} samples are not divisible by {' and by '.join(uneven)}")
    if faults:
        names = ["A1"] * bool(samples % batch) + ["A2"] * bool(batch % dp) + ["A3"] * bool(samples % dp)
        at = _at(training, _BATCH, _PROMPTS, _GENERATIONS)
        message = f"{copies}; {'; '.join(faults)} ({stated(training.release, *names)})"
        yield Problem(at, message, _batch_hint(training, shape))


def _at(training: Training, *paths: str) -> ProfilePath:
    """The user's override of one of `paths`; else their number of nodes; else the recipe."""
    found = place(training, *paths)
    return ("workload", "nodes") if found == ("workload", "recipe") and training.nodes_written else found


def _batch_hint(training: Training, shape: Shape) -> str:
    """Numbers that pass, over the nodes as they are; and other numbers of nodes that do."""
    config = training.config
    packed = config.on("policy.sequence_packing.enabled") or config.on("policy.dynamic_batching.enabled")
    micro = 1 if packed else shape.micro_batch
    batch = batch_near(shape, micro) or batch_near(shape, 1)
    if batch is not None:
        hint = f"set `{_BATCH}: {batch}`"
    else:
        prompts, batch = prompts_near(shape, micro)
        hint = f"set `{_PROMPTS}: {prompts}` and `{_BATCH}: {batch}`"
    if shape.nodes == training.nodes and training.most_nodes:
        counts = node_counts(shape, training.most_nodes, shape.generation_gpus // shape.gpus_per_node)
        hint += "".join(f", or `workload.nodes: {count}`" for count in counts)
    return hint


@check("micro-batch")
def micro_batch(training: Training) -> Iterator[Problem]:
    """One copy's part of the batch divides into micro batches, unless sequences are packed or batched dynamically.

    NeMo RL asserts it in the first step, after a whole generation.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/distributed/batched_data_dict.py line 831 (v0.6.0: 811, v0.4.0 and v0.5.0:
    807).

    Mend: use a `policy.train_micro_batch_size` that divides a copy's part, or turn sequence packing on.
    """
    if unjudged(training):
        return
    config, shape = training.config, shape_of(training.config)
    packed = config.on("policy.sequence_packing.enabled") or config.on("policy.dynamic_batching.enabled")
    dp = shape.data_parallel
    if packed or not dp or shape.global_batch % dp:
        return
    share = shape.global_batch // dp
    if share % shape.micro_batch:
        total = f"`{_BATCH}` {shape.global_batch} / data parallel {dp} = {share}"
        message = f"{total}, which `{_MICRO}` {shape.micro_batch} does not divide ({stated(training.release, 'A4')})"
        size = next(n for n in range(min(shape.micro_batch, share), 0, -1) if share % n == 0)
        yield Problem(place(training, _MICRO, _BATCH), message, f"set {setting(_MICRO, size)}")


@check("generation-parallel")
def generation_parallel(training: Training) -> Iterator[Problem]:
    """The generating GPUs divide into vLLM engines of TP x PP.

    Pipeline parallel needs the async engine. Expert parallel is a multiple of tensor parallel, and excludes the async
    engine unless the two are equal.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/models/generation/vllm/vllm_generation.py lines 111, 119, 125 and 131
    (v0.6.0: 63, 71, 77 and 83).

    Mend: choose sizes whose product divides the generating GPUs, and set `async_engine` as the finding says.
    """
    if unjudged(training):
        return
    if training.config.text("policy.generation.backend") not in ("vllm", ""):
        return
    config, shape = training.config, shape_of(training.config)
    tp, pp, ep = (f"{VLLM}.{kind}_parallel_size" for kind in ("tensor", "pipeline", "expert"))
    engine, asynchronous = shape.vllm_tp * shape.vllm_pp, f"{VLLM}.async_engine"
    if shape.generation_gpus > 0 and shape.generation_gpus % engine:
        size = f"`{tp}` {shape.vllm_tp} x `{pp}` {shape.vllm_pp} = {engine}"
        told = f"{shape.generation_gpus} generating GPUs are not divisible by {size} ({stated(training.release, 'F1')})"
        at = place(training, tp, pp)
        yield Problem(at, told, _sizes_hint(training, shape, {tp: shape.vllm_tp, pp: shape.vllm_pp}))
    on = config.on(asynchronous)
    if shape.vllm_pp > 1 and not on:
        message = f"`{pp}` is {shape.vllm_pp}, which needs `{asynchronous}` true ({stated(training.release, 'F2')})"
        yield Problem(place(training, pp), message, f"set {setting(asynchronous, True)}, or {setting(pp, 1)}")
    if shape.vllm_ep > 1 and shape.vllm_ep % shape.vllm_tp:
        told = f"`{ep}` is {shape.vllm_ep}, which is no multiple of `{tp}` {shape.vllm_tp}"
        whole = max(1, shape.vllm_ep // shape.vllm_tp) * shape.vllm_tp
        hint = f"set {setting(ep, whole)}, or {setting(ep, 1)}"
        yield Problem(place(training, ep), f"{told} ({stated(training.release, 'F3')})", hint)
    elif shape.vllm_ep > 1 and shape.vllm_ep != shape.vllm_tp and on:
        told = f"`{ep}` is {shape.vllm_ep} and not `{tp}` {shape.vllm_tp}, which excludes `{asynchronous}` true"
        hint = f"set {setting(ep, shape.vllm_tp)}, or {setting(asynchronous, False)}"
        yield Problem(place(training, ep), f"{told} ({stated(training.release, 'F3')})", hint)


@check("sequence-batching")
def sequence_batching(training: Training) -> Iterator[Problem]:
    """Sequence packing and dynamic batching exclude each other.

    Context parallel of Megatron needs packing, and dynamic batching needs pipeline parallel 1.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/models/policy/lm_policy.py lines 284 and 296,
    nemo_rl/models/megatron/setup.py line 635; the same at every tag from v0.4.0 on.

    Mend: enable one of the two, and packing where context parallel needs it.
    """
    if unjudged(training):
        return
    config, shape = training.config, shape_of(training.config)
    packing, dynamic = "policy.sequence_packing.enabled", "policy.dynamic_batching.enabled"
    off = {key: setting(key, False) for key in (packing, dynamic)}
    if config.on(packing) and config.on(dynamic):
        message = f"`{packing}` and `{dynamic}` are both true ({stated(training.release, 'C1')})"
        yield Problem(place(training, dynamic, packing), message, f"set {off[dynamic]}, or {off[packing]}")
    if shape.backend == "megatron" and shape.cp > 1 and not config.on(packing):
        size = "policy.megatron_cfg.context_parallel_size"
        message = f"`{packing}` is false, and `{size}` {shape.cp} needs it true ({stated(training.release, 'C3')})"
        yield Problem(place(training, size, packing), message, f"set {setting(packing, True)}, or {setting(size, 1)}")
    if config.on(dynamic) and shape.pp > 1:
        told = f"pipeline parallel 1, and it is {shape.pp}"
        message = f"`{dynamic}` is true, which needs {told} ({stated(training.release, 'C2')})"
        hint = f"set {off[dynamic]} and {setting(packing, True)}"
        yield Problem(place(training, dynamic), message, hint)


@check("logprob-micro-batch")
def logprob_micro_batch(training: Training) -> Iterator[Problem]:
    """At TP 4 and more, training and log-probabilities need the same micro batch size.

    With different ones the two disagree, and importance ratios drift from 1. NeMo RL refuses it from v0.6.0 on, once
    the workers are set up, unless loss_fn.force_on_policy_ratio is on (one batch a step), or
    NRL_IGNORE_TP_ACCURACY_CHECK is in the environment with any text; v0.4.0 and v0.5.0 do not look.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/models/policy/lm_policy.py line 184 (v0.6.0: 166);
    docs/guides/dtensor-tp-accuracy.md.

    Mend: make `policy.train_micro_batch_size` and `policy.logprob_batch_size` equal.
    """
    if unjudged(training) or not training.release.since("v0.6.0"):
        return
    config, shape = training.config, shape_of(training.config)
    if shape.tp < 4 or shape.micro_batch == shape.logprob_batch:
        return
    if config.on("loss_fn.force_on_policy_ratio") or training.environment.get("NRL_IGNORE_TP_ACCURACY_CHECK"):
        return
    told = f"at TP {shape.tp} it must be `{_MICRO}` {shape.micro_batch} ({stated(training.release, 'A8')})"
    accept = '`environment: {NRL_IGNORE_TP_ACCURACY_CHECK: "1"}`'
    hint = f"set {setting(_LOGPROB, shape.micro_batch)}; or accept it with {accept}"
    yield Problem(place(training, _LOGPROB, _MICRO), f"`{_LOGPROB}` is {shape.logprob_batch}: {told}", hint)


@check("generation-split")
def generation_split(training: Training) -> Iterator[Problem]:
    """When generation has GPUs of its own, some must be left for training.

    On one node: 0 < colocated.resources.gpus_per_node < cluster.gpus_per_node, and num_nodes null or 1. On more: 0 <
    colocated.resources.num_nodes < cluster.num_nodes, and whole nodes.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/algorithms/grpo.py lines 621, 626 and 637 (one node), 649 and 657 (several);
    v0.6.0: 467, 472, 483, 495 and 503.

    Mend: leave at least one GPU, or one node, for training, or set `policy.generation.colocated.enabled: true`.
    """
    if unjudged(training):
        return
    config, shape = training.config, shape_of(training.config)
    if shape.colocated:
        return
    gpus, nodes = (config.get(f"{_COLOCATED}.resources.{key}") for key in ("gpus_per_node", "num_nodes"))
    where, enabled = f"{_COLOCATED}.resources", f"{_COLOCATED}.enabled"
    if shape.policy_nodes == 1:
        told = f"({stated(training.release, 'F10')})"
        at = _at(training, f"{where}.gpus_per_node", enabled, "cluster.num_nodes")
        if not (isinstance(gpus, int) and 0 < gpus < shape.gpus_per_node):
            limits = f"1 to {shape.gpus_per_node - 1} of {shape.gpus_per_node} GPUs"
            message = f"`{where}.gpus_per_node` is {shown(gpus)}; on one node it must be {limits} {told}"
            yield Problem(at, message, _split_hint(training, shape))
        if nodes not in (None, 1):
            at = place(training, f"{where}.num_nodes", enabled)
            message = f"`{where}.num_nodes` is {nodes}; on one node it must be null or 1 {told}"
            yield Problem(at, message, f"set {setting(f'{where}.num_nodes', None)}")
        return
    told = f"({stated(training.release, 'F11')})"
    if not (isinstance(nodes, int) and 0 < nodes < shape.policy_nodes):
        at = place(training, f"{where}.num_nodes", enabled, "cluster.num_nodes")
        limits = f"1 to {shape.policy_nodes - 1} of {shape.policy_nodes} nodes"
        split = generating_nodes(shape) or shape.policy_nodes // 2
        hint = f"set {setting(f'{where}.num_nodes', split)}, or {setting(enabled, True)}"
        yield Problem(at, f"`{where}.num_nodes` is {shown(nodes)}; it must be {limits} {told}", hint)
    if gpus != shape.gpus_per_node:
        at = place(training, f"{where}.gpus_per_node", enabled)
        must = f"on several nodes it must be `cluster.gpus_per_node`, {shape.gpus_per_node}"
        hint = f"set {setting(f'{where}.gpus_per_node', shape.gpus_per_node)}"
        yield Problem(at, f"`{where}.gpus_per_node` is {shown(gpus)}; {must} {told}", hint)


def _split_hint(training: Training, shape: Shape) -> str:
    """What to do on one node: two nodes, generation beside training, or a split that divides; whichever would pass."""
    hints = []
    nodes = training.config.get(f"{_COLOCATED}.resources.num_nodes")
    if training.most_nodes > 1 and training.nodes == 1 and nodes == 1 and holds(with_nodes(shape, 2, 1)):
        hints.append("`workload.nodes: 2`")
    if holds(colocated(shape)):
        hints.append(f"`{_COLOCATED}.enabled: true`")
    split = generating_gpus(shape)
    if split is not None:
        hints.append(f"`{_COLOCATED}.resources.gpus_per_node: {split}`")
    usual = f"`{_COLOCATED}.enabled: true`, with parallel sizes and batches that fit {shape.gpus_per_node} GPUs"
    return f"set {', or '.join(hints) or usual}"


def _sizes_hint(training: Training, shape: Shape, sizes: dict[str, int]) -> str:
    """The nearest smaller size of one key that divides, of those first that the user wrote; else all of them 1."""
    own = given(training)
    for keys in ([key for key in sizes if key in own], list(sizes)):
        near = sizes_near(shape, keys)
        if near:
            return f"set {', or '.join(setting(key, size) for key, size in near.items())}"
    return f"set {' and '.join(setting(key, 1) for key in sizes)}"


def training_gpus(shape: Shape) -> str:
    """``16 training GPUs`` with where they come from."""
    total = f"{shape.nodes} x {shape.gpus_per_node}"
    if shape.others:
        total += f" - {shape.others} of teachers or a reward model"
    if shape.colocated:
        return f"{total} = {shape.training_gpus} training GPUs"
    return f"{total} - {shape.generation_gpus} generating = {shape.training_gpus} training GPUs"
