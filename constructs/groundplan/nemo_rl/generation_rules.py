"""Conditions of generation: sampling, engines, placement, and what asynchronous GRPO excludes."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem
from groundplan.nemo_rl.conditions import Broken, Condition, Facts, broken, judged
from groundplan.nemo_rl.config import VLLM
from groundplan.nemo_rl.shape import reward_model_on
from groundplan.nemo_rl.training import Training, check

_G = "policy.generation"
_BACKEND, _COLOCATED, _REPLAY = f"{_G}.backend", f"{_G}.colocated.enabled", "policy.router_replay.enabled"
_RESOURCES = "env.reward_model.resources"


def _sampling(facts: Facts) -> Broken | None:
    if not facts.vllm:
        return None
    top_k, top_p = facts.number(f"{_G}.top_k"), facts.number(f"{_G}.top_p")
    narrow = not facts.since("v0.6.0")
    least_k, least_p = (8000, 0.99) if narrow else (1, 0)
    if top_k is not None and top_k != -1 and top_k < least_k:
        return broken(f"{_G}.top_k", f"it must be null, -1, or at least {least_k}", f"set `{_G}.top_k: null`")
    if top_p is None or (least_p <= top_p if narrow else 0 < top_p <= 1):
        return None
    return broken(
        f"{_G}.top_p",
        "it must be at least 0.99" if narrow else "it must be above 0, at most 1",
        f"set `{_G}.top_p: 1.0`",
    )


def _longest(facts: Facts) -> Broken | None:
    key = f"{VLLM}.max_model_len"
    length = facts.number(key)
    if (
        not facts.vllm
        or facts.model is None
        or not facts.model.length
        or length is None
        or length <= facts.model.length
    ):
        return None
    allowed = facts.training.environment.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN") == "1"
    groups = ("policy.hf_config_overrides", f"{_G}.vllm_kwargs.hf_overrides")
    scaled = any(path.startswith(tuple(f"{group}." for group in groups)) for path in facts.config.values)
    if allowed or scaled:
        return None
    most = facts.model.length
    reason = f"{facts.training.model.name} reads at most {most} tokens (max_position_embeddings), and vLLM refuses more"
    return broken(
        f"{key} policy.max_total_sequence_length",
        reason,
        f"set `policy.max_total_sequence_length: {most}` and `{key}: {most}`",
    )


def _reward_nodes(facts: Facts) -> Broken | None:
    if not reward_model_on(facts.config):
        return None
    unit, total = (
        ("num_nodes", facts.shape.nodes) if facts.shape.nodes > 1 else ("gpus_per_node", facts.shape.gpus_per_node)
    )
    taken = facts.number(f"{_RESOURCES}.{unit}")
    if taken is None or taken < total:
        return None
    reason = f"the reward model takes all of the {total}, and none is left for the policy"
    return broken(
        f"{_RESOURCES}.{unit} env.reward_model.enabled", reason, f"set `{_RESOURCES}.{unit}: {max(1, total - 1)}`"
    )


def _megatron_generates(facts: Facts) -> Broken | None:
    if facts.get(_BACKEND) != "megatron":
        return None
    if not facts.since("v0.5.0"):
        return broken(_BACKEND, "Megatron does not generate at this release", f"set `{_BACKEND}: vllm`")
    if facts.shape.colocated:
        return None
    reason = "Megatron generates on the training GPUs alone at this release"
    return broken(f"{_BACKEND} {_COLOCATED}", reason, f"set `{_BACKEND}: vllm`")


def _sglang(facts: Facts) -> Broken | None:
    if facts.get(_BACKEND) != "sglang" or facts.shape.colocated:
        return None
    return broken(
        f"{_BACKEND} {_COLOCATED}", "SGLang generates on the training GPUs alone", f"set `{_COLOCATED}: true`"
    )


def _metrics(facts: Facts) -> Broken | None:
    key, switch = f"{VLLM}.vllm_metrics_logger_interval", f"{VLLM}.enable_vllm_metrics_logger"
    if not facts.vllm or not facts.on(switch) or not facts.on(f"{VLLM}.async_engine") or (facts.number(key) or 0) > 0:
        return None
    reason = "with the async engine, the metrics logger needs an interval above 0"
    return broken(f"{key} {switch}", reason, f"set `{key}: 0.5`, or `{switch}: false`")


def _replay(facts: Facts) -> Broken | None:
    if not facts.on(_REPLAY):
        return None
    stages = "policy.megatron_cfg.virtual_pipeline_model_parallel_size"
    if not facts.vllm:
        return broken(_REPLAY, "routes are recorded by vLLM alone", f"set `{_REPLAY}: false`")
    if not facts.megatron:
        return broken(_REPLAY, "routes are replayed by Megatron alone", f"set `{_REPLAY}: false`")
    if (facts.number(stages) or 1) > 1:
        return broken(f"{_REPLAY} {stages}", "it excludes a virtual pipeline", f"set `{_REPLAY}: false`")
    return None


def _replay_plane(facts: Facts) -> Broken | None:
    asynchronous = facts.on("grpo.async_grpo.enabled")
    if not (asynchronous and facts.on(_REPLAY) and facts.on("data_plane.enabled")):
        return None
    reason = "asynchronous GRPO excludes it beside router replay"
    return broken(f"data_plane.enabled {_REPLAY}", reason, f"set `{_REPLAY}: false`, or `data_plane.enabled: false`")


GENERATION = (
    Condition("F5", _sampling),
    Condition("F9", _longest),
    Condition("F12", _reward_nodes),
    Condition("F13", _megatron_generates),
    Condition("F14", _sglang),
    Condition("F15", _metrics),
    Condition("F16", _replay),
    Condition("G3", _replay_plane),
)


@check("generation-options")
def generation_options(training: Training) -> Iterator[Problem]:
    """Sampling, engines and their places are what the release's generation takes.

    v0.4.0 and v0.5.0 take next to no top_k and top_p; Megatron generates from v0.5.0 on, apart from v0.7.0 on.

    Source: NVIDIA-NeMo/RL, at the line and the release that the finding names; vLLM documentation (ModelConfig);
    conditions F5 to F16 and G3 of docs/nemo-rl-conditions.md.

    Mend: set the key that the finding names.
    """
    yield from judged(training, GENERATION)
