"""Conditions of parallel sizes: heads, layers and experts of the model, and what each backend can combine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from findings import Problem
from groundplan.nemo_rl.conditions import Broken, Condition, Facts, broken, divisor, judged
from groundplan.nemo_rl.config import VLLM
from groundplan.nemo_rl.mends import holds
from groundplan.nemo_rl.padding import padding
from groundplan.nemo_rl.shape import Shape
from groundplan.nemo_rl.stated import setting
from groundplan.nemo_rl.training import Training, check

_MEGATRON, _DTENSOR = "policy.megatron_cfg", "policy.dtensor_cfg"
_TP, _PP = f"{_MEGATRON}.tensor_model_parallel_size", f"{_MEGATRON}.pipeline_model_parallel_size"
_EP, _SEQUENCE = f"{_MEGATRON}.expert_model_parallel_size", f"{_MEGATRON}.sequence_parallel"
_VLLM_TP = f"{VLLM}.tensor_parallel_size"
#: Architectures that DTensor's first worker has a plan of its own for: PARALLIZE_FUNCTIONS of
#: nemo_rl/models/dtensor/parallelize.py, by several versions of the file; those of Qwen3-VL are not in all of them.
_PLANNED = (
    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",
    "LlamaForCausalLM",
    "Gemma3ForCausalLM",
    "Gemma3ForConditionalGeneration",
    "Qwen3VLForConditionalGeneration",
    "Qwen3VLMoeForConditionalGeneration",
)


def _experts(facts: Facts) -> Broken | None:
    shape, model = facts.shape, facts.model
    if not facts.megatron or shape.ep == 1 or model is None:
        return None
    if not model.experts:
        return broken(_EP, f"{facts.training.model.name} has no experts to spread", f"set `{_EP}: 1`")
    if model.experts % shape.ep == 0:
        return None
    fitting = [n for n in range(shape.ep, 0, -1) if model.experts % n == 0 and holds(replace(shape, ep=n))]
    mend = f"set `{_EP}: {fitting[0] if fitting else 1}`"
    return broken(_EP, f"it does not divide the {model.experts} experts of {facts.training.model.name}", mend)


def _sequence_needed(facts: Facts) -> Broken | None:
    if not facts.megatron or facts.shape.tp == 1 or facts.on(_SEQUENCE) or not facts.experts:
        return None
    reason = f"a mixture of experts ({facts.training.model.name}) at TP {facts.shape.tp} needs sequence parallel"
    return broken(f"{_SEQUENCE} {_TP}", reason, f"set `{_SEQUENCE}: true`{padding(facts, sequence=True)}")


def _sequence_alone(facts: Facts) -> Broken | None:
    if not facts.megatron or facts.shape.tp > 1 or not facts.on(_SEQUENCE):
        return None
    return broken(
        f"{_SEQUENCE} {_TP}", "sequence parallel needs TP of 2 or more, and it is 1", f"set `{_SEQUENCE}: false`"
    )


def _megatron_heads(facts: Facts) -> Broken | None:
    return _heads(facts, _TP) if facts.megatron else None


def _dtensor_heads(facts: Facts) -> Broken | None:
    return _heads(facts, f"{_DTENSOR}.tensor_parallel_size", whole=True) if facts.dtensor else None


def _vllm_heads(facts: Facts) -> Broken | None:
    return _heads(facts, _VLLM_TP) if facts.vllm else None


def _heads(facts: Facts, key: str, *, whole: bool = False) -> Broken | None:
    """`whole`: KV heads are never copied, so that tensor parallel divides them too."""
    shape, model = facts.shape, facts.model
    engine = key == _VLLM_TP
    size = shape.vllm_tp if engine else shape.tp
    if model is None or size == 1:
        return None

    def fits(n: int) -> bool:
        shared = model.kv_heads % n == 0 or (not whole and n % model.kv_heads == 0)
        return model.heads % n == 0 and shared

    if fits(size):
        return None

    def smaller(n: int) -> Shape:
        return replace(shape, vllm_tp=n) if engine else replace(shape, tp=n)

    fitting = [n for n in range(size - 1, 0, -1) if fits(n) and holds(smaller(n))]
    mend = f"set `{key}: {fitting[0] if fitting else divisor(size, model.kv_heads)}`"
    heads = f"{model.heads} attention heads and {model.kv_heads} KV heads"
    return broken(key, f"{facts.training.model.name} has {heads}, which do not divide over {size}", mend)


def _stages(facts: Facts) -> Broken | None:
    shape, model = facts.shape, facts.model
    if not facts.megatron or shape.pp == 1:
        return None
    ends = [f"{_MEGATRON}.num_layers_in_{end}_pipeline_stage" for end in ("first", "last")]
    given = {end: int(n) for end in ends if (n := facts.number(end)) is not None}
    for end, layers in given.items():
        if layers < 1:
            mend = "" if model is None else _ends_near(model.layers, shape.pp, ends, given)
            return broken(end, "a stage has at least one layer", mend or f"set {setting(end, None)}")
    if model is None or model.hybrid:
        return None
    stages, layers = shape.pp - len(given), model.layers - sum(given.values())
    if not stages or layers % stages == 0:
        return None
    parts = f"the {layers} layers" if not given else f"the other {layers} layers"
    reason = f"{parts} of {facts.training.model.name} do not divide over {stages} pipeline stages"
    fitting = [n for n in range(shape.pp - 1, 0, -1) if model.layers % n == 0 and holds(replace(shape, pp=n))]
    if given:
        fewer = " and ".join([setting(_PP, fitting[0] if fitting else 1), *(setting(end, None) for end in given)])
        mend = _ends_near(model.layers, shape.pp, ends, given) or f"set {fewer}"
        return broken(f"{_PP} {' '.join(given)}", reason, mend)
    return broken(_PP, reason, f"set {setting(_PP, fitting[0] if fitting else 1)}")


def _ends_near(layers: int, pp: int, ends: list[str], given: dict[str, int]) -> str:
    """The first and last stage's layers, next to those given, with which the others divide; empty when none do."""
    if layers % pp == 0:
        return f"set {' and '.join(setting(end, None) for end in given)}"
    wanted = [max(1, given.get(end, layers // pp)) for end in ends]
    pairs = [
        (a, b) for a in range(1, layers) for b in range(1, layers - a) if pp > 2 and (layers - a - b) % (pp - 2) == 0
    ]
    if not pairs:
        return ""
    best = min(pairs, key=lambda pair: sum(abs(n - w) for n, w in zip(pair, wanted, strict=True)))
    return f"set {' and '.join(setting(end, n) for end, n in zip(ends, best, strict=True))}"


def _replicas(facts: Facts) -> Broken | None:
    expert, replicas = f"{_DTENSOR}.expert_parallel_size", f"{_DTENSOR}.dp_replicate_size"
    shape = facts.shape
    if not facts.dtensor or not shape.data_parallel:
        return None
    ep, rep = facts.config.count(expert), facts.config.count(replicas)
    if facts.second and (shape.data_parallel * shape.cp) % ep:
        rest = shape.data_parallel * shape.cp
        reason = f"it does not divide data parallel {shape.data_parallel} x CP {shape.cp} = {rest}"
        return broken(expert, reason, f"set `{expert}: {divisor(ep, rest)}`")
    if rep == 1 or not facts.since("v0.7.0"):
        return None
    if not facts.second:
        return broken(replicas, "replicas need DTensor's second worker", f"set `{replicas}: 1`")
    rest = shape.training_gpus // (shape.tp * shape.cp * ep)
    if rest % rep == 0:
        return None
    reason = f"it does not divide {shape.training_gpus} GPUs / (TP {shape.tp} x CP {shape.cp} x EP {ep}) = {rest}"
    return broken(replicas, reason, f"set `{replicas}: {divisor(rep, rest)}`")


def _plan(facts: Facts) -> Broken | None:
    key = f"{_DTENSOR}.sequence_parallel"
    if not facts.dtensor or not facts.on(key) or facts.model is None or facts.get(f"{_DTENSOR}.custom_parallel_plan"):
        return None
    architecture = facts.model.architecture
    if facts.shape.tp == 1 or (facts.second and architecture != "NemotronHForCausalLM") or architecture in _PLANNED:
        return None
    return broken(key, f"DTensor has no plan for {architecture} with it", f"set `{key}: false`")


def _offload(facts: Facts) -> Broken | None:
    key = f"{_DTENSOR}.cpu_offload"
    if not facts.second or not facts.on(key) or facts.shape.training_gpus != 1:
        return None
    return broken(key, "one GPU trains, and CPU offload needs several", f"set `{key}: false`")


def _segments(facts: Facts) -> Broken | None:
    key = "cluster.segment_size"
    size, nodes = facts.number(key), facts.shape.nodes
    if size is None or size < 1 or nodes % int(size) == 0:
        return None
    return broken(key, f"it does not divide the {nodes} nodes", f"set `{key}: {divisor(int(size), nodes)}`")


PARALLEL = (
    Condition("B3", _experts),
    Condition("B4", _sequence_needed),
    Condition("B5", _sequence_alone),
    Condition("B6", _megatron_heads),
    Condition("B7", _stages),
    Condition("B8", _dtensor_heads),
    Condition("B9", _replicas),
    Condition("B10", _plan),
    Condition("B11", _offload),
    Condition("B12", _segments),
    Condition("F4", _vllm_heads),
)


@check("parallel-fit")
def parallel_fit(training: Training) -> Iterator[Problem]:
    """Parallel sizes fit the model's heads, layers and experts, and what each backend can combine.

    Megatron wants sequence parallel for a mixture of experts at TP 2 and more, and TP for sequence parallel; DTensor
    wants TP to divide the KV heads too. Numbers of a model come from catalog/models.yaml; another model is not judged
    by them.

    Source: NVIDIA-NeMo/RL, NVIDIA/Megatron-LM and NVIDIA-NeMo/Automodel, at the line that the finding names; vLLM
    documentation and issues 2652 and 11797; conditions B3 to B12 and F4 of docs/nemo-rl-conditions.md.

    Mend: use the size that the finding names.
    """
    yield from judged(training, PARALLEL)
