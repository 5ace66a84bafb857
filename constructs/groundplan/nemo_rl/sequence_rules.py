"""Conditions of sequences: packing, context parallel and padding."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem
from groundplan.nemo_rl.conditions import Broken, Condition, Facts, broken, judged
from groundplan.nemo_rl.padding import PAD, pad_unit
from groundplan.nemo_rl.training import Training, check

_PACKING, _LENGTH = "policy.sequence_packing.enabled", "policy.max_total_sequence_length"
_DTENSOR_CP = "policy.dtensor_cfg.context_parallel_size"
_REWARD_MODEL = "policy.reward_model_cfg.enabled"
_SEQUENCE = "policy.dtensor_cfg.sequence_parallel"


def _gemma(facts: Facts) -> bool:
    """Gemma 3 as DTensor recognizes it: from v0.6.0 on the second worker knows the multi-modal ones alone for sure."""
    architecture = facts.model.architecture if facts.model else ""
    if architecture == "Gemma3ForCausalLM":
        return not (facts.second and facts.since("v0.6.0"))
    return architecture == "Gemma3ForConditionalGeneration"


def _sees(facts: Facts) -> bool:
    """Whether a processor of images is loaded: the model's name or the data's processor says so."""
    processors = (facts.config.text("data.default.processor"), facts.config.text("data.processor"))
    return "vlm_hf_data_processor" in processors or "-VL-" in facts.training.model.name


def _cp_packing(facts: Facts) -> Broken | None:
    if not facts.dtensor or facts.shape.cp == 1 or not facts.packed:
        return None
    reason = "DTensor's context parallel excludes sequence packing"
    return broken(f"{_DTENSOR_CP} {_PACKING}", reason, f"set `{_PACKING}: false`")


def _cp_sequence(facts: Facts) -> Broken | None:
    if not facts.dtensor or facts.shape.cp == 1 or facts.shape.tp == 1 or not facts.on(_SEQUENCE):
        return None
    reason = f"DTensor's context parallel {facts.shape.cp} excludes it beside TP {facts.shape.tp}"
    return broken(f"{_SEQUENCE} {_DTENSOR_CP}", reason, f"set `{_SEQUENCE}: false`")


def _cp_gemma(facts: Facts) -> Broken | None:
    if not facts.dtensor or facts.shape.cp == 1 or not _gemma(facts):
        return None
    return broken(_DTENSOR_CP, "Gemma 3 has no context parallel with DTensor", f"set `{_DTENSOR_CP}: 1`")


def _cp_vision(facts: Facts) -> Broken | None:
    if not facts.dtensor or facts.shape.cp == 1:
        return None
    dense = facts.model is not None and facts.model.architecture == "Qwen3_5ForConditionalGeneration"
    if not _sees(facts) and not (dense and facts.second and facts.since("v0.6.0")):
        return None
    reason = f"{facts.training.model.name} has no context parallel with DTensor"
    return broken(_DTENSOR_CP, reason, f"set `{_DTENSOR_CP}: 1`")


def _packed_vision(facts: Facts) -> Broken | None:
    if not facts.dtensor or not facts.packed:
        return None
    if facts.on(_REWARD_MODEL):
        return broken(f"{_PACKING} {_REWARD_MODEL}", "a reward model takes no packing", f"set `{_PACKING}: false`")
    if not _sees(facts):
        return None
    return broken(_PACKING, "DTensor packs no sequences of a vision model", f"set `{_PACKING}: false`")


def _padding(facts: Facts) -> Broken | None:
    value = facts.number(PAD)
    if not facts.megatron or not facts.packed or value is None:
        return None
    sequence = facts.on("policy.megatron_cfg.sequence_parallel")
    unit = pad_unit(facts, sequence=sequence)
    if value % unit == 0:
        return None
    shape = facts.shape
    parts = [f"2 x CP {shape.cp}"] if shape.cp > 1 else []
    parts += [f"TP {shape.tp} (sequence parallel)"] if shape.tp > 1 and sequence else []
    reason = f"with packing it must be a multiple of {' x '.join(parts)} = {unit}"
    keys = f"{PAD} policy.megatron_cfg.context_parallel_size policy.megatron_cfg.tensor_model_parallel_size {_PACKING}"
    return broken(keys, reason, f"set `{PAD}: {-(-int(value) // unit) * unit}`")


def _bins(facts: Facts) -> Broken | None:
    for group, step in (("policy.sequence_packing", PAD), ("policy.dynamic_batching", "sequence_length_round")):
        if not facts.on(f"{group}.enabled"):
            continue
        unit = facts.config.count(step if "." in step else f"{group}.{step}")
        longest = -(-facts.shape.sequence // unit) * unit
        for key in (f"{group}.train_mb_tokens", f"{group}.logprob_mb_tokens"):
            tokens = facts.number(key)
            if tokens is not None and tokens < longest:
                reason = f"a sequence of {longest} tokens ({_LENGTH}, rounded up) does not fit, should there be one"
                return broken(f"{key} {_LENGTH}", reason, f"set `{key}: {longest}`")
    return None


def _attention(facts: Facts) -> Broken | None:
    key = "policy.dtensor_cfg.automodel_kwargs.attn_implementation"
    value = facts.get(key)
    if not facts.second or not facts.packed or value in (None, "flash_attention_2"):
        return None
    return broken(key, "packing needs flash_attention_2", f"set `{key}: flash_attention_2`, or `{_PACKING}: false`")


def _length(facts: Facts) -> Broken | None:
    unit = 2 * facts.shape.cp
    if not facts.megatron or facts.shape.cp == 1 or facts.shape.sequence % unit == 0:
        return None
    longer = -(-facts.shape.sequence // unit) * unit
    reason = f"Megatron-Bridge wants a multiple of 2 x CP {facts.shape.cp} = {unit}"
    return broken(f"{_LENGTH} policy.megatron_cfg.context_parallel_size", reason, f"set `{_LENGTH}: {longer}`")


SEQUENCES = (
    Condition("C4", _cp_packing),
    Condition("C5", _cp_sequence),
    Condition("C6", _cp_gemma),
    Condition("C7", _cp_vision),
    Condition("C8", _packed_vision),
    Condition("C9", _padding),
    Condition("C10", _bins, sure=False),
    Condition("C12", _attention),
    Condition("C13", _length, sure=False),
)


@check("sequence-fit")
def sequence_fit(training: Training) -> Iterator[Problem]:
    """Packing, context parallel and padding go together as the backend asserts.

    DTensor's context parallel excludes packing, sequence parallel beside TP, Gemma 3 and vision models; Megatron's
    packing wants sequences padded to a multiple of 2 x CP and, with sequence parallel, TP (from v0.6.0 on; before, it
    pads by itself). A bin that is smaller than the longest sequence is a warning, for no sequence may ever be so long.

    Source: NVIDIA-NeMo/RL, at the line and the release that the finding names; conditions C4 to C13 of
    docs/nemo-rl-conditions.md.

    Mend: set the key that the finding names.
    """
    yield from judged(training, SEQUENCES)
