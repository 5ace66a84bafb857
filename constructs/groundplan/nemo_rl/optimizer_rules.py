"""Conditions of precision, memory, optimizer and LoRA."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem
from groundplan.nemo_rl.conditions import Broken, Condition, Facts, broken, judged
from groundplan.nemo_rl.stated import setting
from groundplan.nemo_rl.training import Training, check

_M, _D = "policy.megatron_cfg", "policy.dtensor_cfg"
_OPTIMIZER, _FP8, _PEFT, _LORA = f"{_M}.optimizer", f"{_M}.fp8_cfg", f"{_M}.peft", f"{_D}.lora_cfg"
_PACKING = "policy.sequence_packing.enabled"
#: What Megatron-LM can recompute (transformer_config.py at d30c3ae5, by nemo_rl/models/policy/__init__.py).
_MODULES = ("core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts")
#: Whose provider in Megatron-Bridge has an auxiliary loss that is not 0: DeepSeek V3 (and Moonlight, built on it) 1e-4
#: by deepseek_provider.py, Qwen3 MoE 1e-3 by what others quote of qwen_provider.py.
_BALANCED = ("Qwen3MoeForCausalLM", "DeepseekV3ForCausalLM")


def _precision(facts: Facts) -> Broken | None:
    precision, aware = facts.get("policy.precision"), f"{_OPTIMIZER}.use_precision_aware_optimizer"
    if not facts.megatron:
        return None
    short = {"bfloat16": "bf16", "float16": "fp16"}.get(str(precision))
    if short and facts.on(aware) and not facts.on(f"{_OPTIMIZER}.{short}"):
        key = f"{_OPTIMIZER}.{short}"
        reason = f"policy.precision {precision} with a precision-aware optimizer needs it true"
        return broken(f"{key} {aware} policy.precision", reason, f"set `{key}: true`")
    for key in (f"{_OPTIMIZER}.bf16", f"{_OPTIMIZER}.fp16"):
        if precision == "float32" and facts.on(key):
            both = " and ".join(f"`{k}: false`" for k in (f"{_OPTIMIZER}.bf16", f"{_OPTIMIZER}.fp16") if facts.on(k))
            return broken(f"{key} policy.precision", "policy.precision is float32", f"set {both}")
    return None


def _offload(facts: Facts) -> Broken | None:
    key, share = f"{_OPTIMIZER}.optimizer_cpu_offload", f"{_OPTIMIZER}.optimizer_offload_fraction"
    if not facts.megatron or not facts.on(key) or facts.get(share) == 1:
        return None
    reason = "with optimizer_cpu_offload it must be 1.0: all of the optimizer or nothing"
    return broken(f"{share} {key}", reason, f"set `{share}: 1.0`, or `{key}: false`")


def _chunks(facts: Facts) -> Broken | None:
    key, deferred = "policy.logprob_chunk_size", f"{_M}.defer_fp32_logits"
    if not facts.megatron or (facts.number(key) or 0) <= 0 or facts.on(deferred):
        return None
    return broken(
        f"{deferred} {key}", f"{key} {facts.get(key)} needs it true", f"set `{deferred}: true`, or `{key}: null`"
    )


def _fp8(facts: Facts) -> Broken | None:
    if not facts.megatron or not facts.on(f"{_FP8}.enabled"):
        return None
    usual = {"fp8": "e4m3", "fp8_recipe": "blockwise", "fp8_param": "false"}
    absent = [f"{_FP8}.{key}" for key in usual if facts.get(f"{_FP8}.{key}") is None]
    if not absent:
        return None
    mend = " and ".join(f"`{key}: {usual[key.rpartition('.')[2]]}`" for key in absent)
    return broken(f"{' '.join(absent)} {_FP8}.enabled", "training in fp8 reads it", f"set {mend}")


def _recompute(facts: Facts) -> Broken | None:
    key = f"{_M}.recompute_modules"
    modules = facts.get(key)
    if not facts.megatron or not facts.on(f"{_M}.activation_checkpointing") or not isinstance(modules, list):
        return None
    wrong = [str(module) for module in modules if module not in _MODULES]
    if not wrong or facts.get(f"{_M}.recompute_granularity") != "selective":
        return None
    known = [module for module in modules if module in _MODULES] or ["core_attn"]
    return broken(
        key, f"Megatron knows no module {', '.join(wrong)}", f"set {setting(key, known)}; known: {', '.join(_MODULES)}"
    )


def _dispatcher(facts: Facts) -> Broken | None:
    key = f"{_M}.moe_token_dispatcher_type"
    deepep, overlap = f"{_M}.moe_enable_deepep", f"{_M}.moe_shared_expert_overlap"
    value = facts.get(key)
    if not facts.megatron or not facts.experts or value is None:
        return None
    if facts.on(deepep) and value != "flex":
        return broken(f"{key} {deepep}", "moe_enable_deepep needs flex", f"set `{key}: flex`, or `{deepep}: false`")
    if facts.on(overlap) and value != "alltoall" and facts.model is not None and facts.model.shared_experts:
        reason = "moe_shared_expert_overlap needs alltoall"
        return broken(f"{key} {overlap}", reason, f"set `{overlap}: false`")
    if value == "allgather" and facts.packed and facts.shape.pp > 1:
        reason = f"allgather takes no packed sequences at pipeline parallel {facts.shape.pp}"
        return broken(key, reason, f"set `{key}: alltoall`")
    return None


def _auxiliary(facts: Facts) -> Broken | None:
    key = f"{_M}.moe_router_load_balancing_type"
    balanced = facts.model is not None and facts.model.architecture in _BALANCED
    if not facts.megatron or not balanced or "aux_loss" not in str(facts.get(key)):
        return None
    return broken(key, "the auxiliary loss of the router is refused", f"set `{key}: none`")


def _draft(facts: Facts) -> Broken | None:
    key = "policy.draft.enabled"
    if not facts.on(key):
        return None
    if not facts.megatron:
        return broken(key, "a draft model is trained by Megatron alone", f"set `{key}: false`")
    if not facts.packed:
        return None
    mend = f"set `{_PACKING}: false`, or `{key}: false`"
    return broken(f"{key} {_PACKING}", "a draft model excludes sequence packing", mend)


def _yarn(facts: Facts) -> Broken | None:
    key = "policy.hf_config_overrides.rope_scaling.rope_type"
    if not facts.second or facts.get(key) != "yarn":
        return None
    return broken(key, "DTensor's second worker has no YaRN", f"set `{_D}._v2: false`{_plain(facts)}")


def _plain(facts: Facts) -> str:
    """What a hint adds when it turns the second worker off: its checkpoints have no format."""
    format_ = "checkpointing.model_save_format"
    return f" and `{format_}: null`" if facts.on("checkpointing.enabled") and facts.get(format_) is not None else ""


def _schedulers(facts: Facts) -> Broken | None:
    key = "policy.scheduler"
    schedulers = facts.get(key)
    if not facts.dtensor or not isinstance(schedulers, list):
        return None
    wrong = [
        n for n, each in enumerate(schedulers) if not isinstance(each, dict) or not {"name", "milestones"} & set(each)
    ]
    if not wrong:
        return None
    return broken(
        key,
        f"entry {wrong[0] + 1} has neither name nor milestones",
        f"give it a `name` and its `kwargs`, or set {setting(key, None)}",
    )


def _lora_worker(facts: Facts) -> Broken | None:
    key, second = f"{_LORA}.enabled", f"{_D}._v2"
    if not facts.dtensor or not facts.on(key) or facts.second:
        return None
    return broken(f"{key} {second}", f"LoRA needs {second} true", f"set `{second}: true`, or `{key}: false`")


def _triton(facts: Facts) -> Broken | None:
    key = f"{_LORA}.use_triton"
    if not facts.second or not facts.on(f"{_LORA}.enabled") or facts.shape.tp == 1 or not facts.on(key):
        return None
    reason = f"LoRA's Triton kernels take no tensor parallel, and TP is {facts.shape.tp}"
    return broken(f"{key} {_LORA}.enabled {_D}.tensor_parallel_size", reason, f"set `{key}: false`")


def _peft(facts: Facts) -> Broken | None:
    if not facts.megatron or not facts.on(f"{_PEFT}.enabled"):
        return None
    frozen = f"{_M}.freeze_moe_router"
    if not facts.since("v0.6.0"):
        if not facts.on(frozen):
            return None
        return broken(f"{frozen} {_PEFT}.enabled", "PEFT excludes it at this release", f"set `{frozen}: false`")
    for key, usual in (("dim", 8), ("alpha", 32)):
        if facts.get(f"{_PEFT}.{key}") is None:
            return broken(f"{_PEFT}.{key} {_PEFT}.enabled", "PEFT reads it", f"set `{_PEFT}.{key}: {usual}`")
    return None


OPTIMIZER = (
    Condition("D2", _precision),
    Condition("D3", _offload),
    Condition("D4", _chunks),
    Condition("D5", _fp8),
    Condition("D6", _recompute),
    Condition("D8", _dispatcher),
    Condition("D9", _auxiliary),
    Condition("D10", _draft),
    Condition("D11", _yarn),
    Condition("D12", _schedulers),
    Condition("E1", _lora_worker),
    Condition("E2", _triton),
    Condition("E3", _peft),
)


@check("backend-options")
def backend_options(training: Training) -> Iterator[Problem]:
    """Options of precision, memory, optimizer, experts and LoRA go together as the training backend asserts.

    Most stop the job when a worker sets up its model, after the nodes have come up and the model has been loaded.

    Source: NVIDIA-NeMo/RL and NVIDIA/Megatron-LM, at the line and the release that the finding names; conditions D2 to
    E3 of docs/nemo-rl-conditions.md.

    Mend: set the key that the finding names.
    """
    yield from judged(training, OPTIMIZER)
