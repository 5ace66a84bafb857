"""Conditions of loss, advantage and reward."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem
from groundplan.nemo_rl.conditions import Broken, Condition, Facts, broken, judged
from groundplan.nemo_rl.training import Training, check

_L = "loss_fn"
_RATIOS, _TOKENS = f"{_L}.sequence_level_importance_ratios", f"{_L}.token_level_loss"
_TRUNCATED = f"{_L}.truncated_importance_sampling"
_RATIO, _TYPE, _LEAST = f"{_TRUNCATED}_ratio", f"{_TRUNCATED}_type", f"{_TRUNCATED}_ratio_min"
_CORRECTION, _CISPO = f"{_L}.use_importance_sampling_correction", f"{_L}.use_cispo"
_SHAPING = "grpo.reward_shaping"


def _sequence_ratios(facts: Facts) -> Broken | None:
    if not facts.on(_RATIOS) or not facts.on(_TOKENS):
        return None
    return broken(
        f"{_RATIOS} {_TOKENS}", f"it excludes {_TOKENS} true", f"set `{_TOKENS}: false`, or `{_RATIOS}: false`"
    )


def _dual_clip(facts: Facts) -> Broken | None:
    key = f"{_L}.ratio_clip_c"
    value = facts.number(key)
    if value is None or value > 1:
        return None
    return broken(key, "dual clip must be above 1", f"set `{key}: 3`, or `{key}: null`")


def _truncated(facts: Facts) -> Broken | None:
    kind, ratio, least = facts.get(_TYPE), facts.number(_RATIO), facts.number(_LEAST)
    typed = facts.since("v0.6.0")
    # Up to v0.6.0 a ratio turns it on; from v0.7.0 on a type.
    asked = kind is not None if facts.since("v0.7.0") else ratio is not None
    if not asked:
        return None
    key = _TYPE if facts.since("v0.7.0") else _RATIO
    off = f"`{key}: null`"
    if not facts.on(_CORRECTION):
        return broken(f"{key} {_CORRECTION}", f"it needs {_CORRECTION} true", f"set `{_CORRECTION}: true`, or {off}")
    if ratio is None or ratio <= 0:
        return broken(f"{_RATIO} {key}", "it must be above 0", f"set `{_RATIO}: 2`, or {off}")
    if facts.since("v0.7.0") and kind in ("icepop", "seq-mask-tis") and least is None:
        return broken(f"{_LEAST} {_TYPE}", f"{kind} needs it", f"set `{_LEAST}: {min(0.5, ratio)}`")
    if facts.since("v0.7.0") and least is not None and least > ratio:
        return broken(f"{_LEAST} {_RATIO}", f"it is above {_RATIO} {ratio}", f"set `{_LEAST}: {ratio}`")
    if typed and kind == "seq-mask-tis" and facts.on(_RATIOS):
        return broken(f"{_TYPE} {_RATIOS}", f"it excludes {_RATIOS} true", f"set `{_RATIOS}: false`")
    return None


def _cispo(facts: Facts) -> Broken | None:
    if not facts.on(_CISPO):
        return None
    for key in (f"{_L}.disable_ppo_ratio", f"{_L}.force_on_policy_ratio", _RATIOS):
        if facts.on(key):
            return broken(f"{_CISPO} {key}", f"it excludes {key} true", f"set `{key}: false`")
    clip = f"{_L}.ratio_clip_c"
    if facts.number(clip) is not None:
        return broken(f"{_CISPO} {clip}", f"it excludes {clip}", f"set `{clip}: null`")
    if facts.get(_TOKENS) is False:
        return broken(f"{_CISPO} {_TOKENS}", f"it needs {_TOKENS} true", f"set `{_TOKENS}: true`")
    return None


def _reference(facts: Facts) -> Broken | None:
    key, penalty = "grpo.skip_reference_policy_logprobs_calculation", f"{_L}.reference_policy_kl_penalty"
    if not facts.on(key) or not facts.number(penalty):
        return None
    reason = f"{penalty} {facts.get(penalty)} needs the reference's log-probs"
    return broken(f"{key} {penalty}", reason, f"set `{penalty}: 0`, or `{key}: false`")


def _shaping(facts: Facts) -> Broken | None:
    if not facts.on(f"{_SHAPING}.enabled"):
        return None
    properly = f"{_SHAPING}.stop_properly_penalty_coef"
    share = facts.number(properly)
    if share is not None:
        return None if 0 <= share <= 1 else broken(properly, "it must be 0 to 1", f"set `{properly}: 0.5`")
    usual = {
        "overlong_buffer_length": "128",
        "overlong_buffer_penalty": "1",
        "max_response_length": str(facts.shape.sequence),
    }
    for name, value in usual.items():
        key = f"{_SHAPING}.{name}"
        if facts.get(key) is None:
            return broken(f"{key} {_SHAPING}.enabled", "reward shaping reads it", f"set `{key}: {value}`")
    penalty = f"{_SHAPING}.overlong_buffer_penalty"
    if (facts.number(penalty) or 0) < 0:
        return broken(penalty, "a penalty is not below 0", f"set `{penalty}: 1`")
    return None


def _penalties(facts: Facts) -> Broken | None:
    plane = "data_plane.enabled"
    for key in ("grpo.invalid_tool_call_advantage", "grpo.malformed_thinking_advantage"):
        if facts.get(key) is None:
            continue
        if not facts.gym:
            return broken(key, "penalties of messages need NeMo Gym", f"set `{key}: null`")
        if facts.on(plane):
            return broken(f"{key} {plane}", f"it excludes {plane} true", f"set `{key}: null`, or `{plane}: false`")
    return None


LOSS = (
    Condition("H1", _sequence_ratios),
    Condition("H2", _dual_clip),
    Condition("H3", _truncated),
    Condition("H4", _cispo),
    Condition("H5", _reference),
    Condition("H7", _shaping),
    Condition("H8", _penalties),
)


@check("loss-options")
def loss_options(training: Training) -> Iterator[Problem]:
    """Options of loss, advantage and reward go together as NeMo RL asserts.

    Truncated importance sampling is asked for by its ratio up to v0.6.0, and by its type from v0.7.0 on.

    Source: NVIDIA-NeMo/RL, at the line and the release that the finding names; conditions H1 to H8 of
    docs/nemo-rl-conditions.md.

    Mend: set the key that the finding names.
    """
    yield from judged(training, LOSS)
