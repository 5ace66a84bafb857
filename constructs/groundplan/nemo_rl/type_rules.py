"""Rules of what a key's value is: its type, null or not, and the words of a closed set."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import Any

from findings import Problem, Severity
from groundplan.nemo_rl.bounds_rules import MODEL
from groundplan.nemo_rl.config import Config, is_open
from groundplan.nemo_rl.config_rules import known_keys
from groundplan.nemo_rl.hydra import is_sweep
from groundplan.nemo_rl.places import given, place
from groundplan.nemo_rl.shape import shape_of
from groundplan.nemo_rl.stated import setting, shown, stated
from groundplan.nemo_rl.training import Training, check
from groundplan.nemo_rl.types import GROUP, TEXT, Choice, Types, fits, types_of

#: Groups whose own keys nobody reads while they are not enabled: their class then asks for `enabled: false` alone.
_SWITCHED = (
    "policy.dtensor_cfg",
    "policy.megatron_cfg",
    "policy.sequence_packing",
    "policy.dynamic_batching",
    "policy.dtensor_cfg.lora_cfg",
    "policy.megatron_cfg.peft",
    "policy.megatron_cfg.fp8_cfg",
)


@check("config-type")
def config_type(training: Training) -> Iterator[Problem]:
    """An override must be of the type that its key has: a number where NeMo RL counts, text where it reads text.

    Null is taken where the release takes it. v0.7.0 judges types itself, on the head, before it asks for a GPU, and
    takes "5" for a number; earlier releases judge nothing, and a wrong type shows where the value is used. The keys of
    a group that is not enabled are not read, and not judged.

    Source: NVIDIA-NeMo/RL, the configuration's classes at the release's tag and the defaults of
    examples/configs/grpo_math_1B.yaml; v0.7.0, `MasterConfig`, nemo_rl/algorithms/grpo.py line 236, and
    examples/run_grpo.py line 82.

    Mend: write a value of the type that the finding names.
    """
    known, types = known_keys(training), types_of(training.release)
    defaults = Config(known)
    for path, (at, prefix, value) in given(training).items():
        if is_sweep(value) or prefix == "~" or _unread(training.config, path):
            continue
        group = path not in known and any(k.startswith(path + ".") for k in known)
        if group and is_open(path, known):
            continue
        default = defaults.get(path, known.get(path)) if path in known else ""
        declared = path in known or path in types.declared
        wanted = GROUP if group else types.wanted(path, default) if declared else ""
        if value is None:
            wrong = bool(wanted) and not types.takes_null(path, known.get(path, ""), group)
        else:
            wrong = bool(wanted) and not fits(wanted, value, lax=types.enforced)
        if wrong:
            yield _wrong_type(training, at, path, value, wanted, types)


def _wrong_type(training: Training, at: Any, path: str, value: Any, wanted: str, types: Types) -> Problem:
    words = f"{wanted}, or null" if wanted == GROUP and types.takes_null(path, "", group=True) else wanted
    told = "a mapping" if isinstance(value, dict) else "null" if value is None else f"`{shown(value)}`"
    several = isinstance(value, str) and "," in value and wanted != TEXT
    hint = "a sweep over several values is not taken" if several else f"write {words}"
    default = known_keys(training).get(path)
    if default is not None:
        hint = f"set {setting(path, default)}, the default; or {hint}"
    head = f", on the head, before it asks for GPUs ({MODEL})" if types.enforced else ""
    message = f"`{path}` is {told} and must be {words} at NeMo RL {training.release.version}{head}"
    if types.enforced and path in _CONDITIONS:
        message += f" ({stated(training.release, _CONDITIONS[path])})"
    return Problem(at, message, hint, _severity(training))


@check("config-choice")
def config_choice(training: Training) -> Iterator[Problem]:
    """A key takes one of a closed set of words, and the value is another.

    NeMo RL looks each up in a list of its release: precisions, data sets, processors, environments, estimators. v0.7.0
    refuses some on the head; the others stop the job where the value is used, after the nodes have come up.

    Source: NVIDIA-NeMo/RL, at the line and the release that the finding names.

    Mend: use one of the words that the finding names.
    """
    config = training.config
    for key, choice in types_of(training.release).choices.items():
        for path in _places_of(config, key):
            value = config.values[path]  # not followed: a key that it refers to is judged itself
            if not isinstance(value, str) or "${" in value or _unread(config, path):
                continue
            if not _asked(training, key) or _taken(config, key, value, choice):
                continue
            yield _wrong_word(training, key, path, value, choice)


def _wrong_word(training: Training, key: str, path: str, value: str, choice: Choice) -> Problem:
    words = [word for word in choice.values if word is not None]
    condition = _CONDITIONS.get(key.replace("data.train.", "data."), "")
    told = stated(training.release, condition) if condition else choice.at
    message = f"`{path}` is `{value}`, which NeMo RL {training.release.version} does not know"
    default = known_keys(training).get(path)
    near = difflib.get_close_matches(value, words, n=1, cutoff=0.5) or [default if default in words else words[0]]
    others = f"; known: {', '.join(words[:_FEW])}{', ...' if len(words) > _FEW else ''}"
    hint = f"set {setting(path, near[0])}{others}"
    return Problem(place(training, path), f"{message} ({told})" if told else message, hint, _severity(training))


def _severity(training: Training) -> Severity | None:
    """A warning while what the release takes is not confirmed."""
    return Severity.WARNING if training.release.unconfirmed else None


#: So many words are named in a hint.
_FEW = 12
#: Key -> the condition that its words, or its type, are.
_CONDITIONS = {
    "policy.precision": "D1",
    "policy.megatron_cfg.recompute_granularity": "D6",
    "policy.megatron_cfg.attention_backend": "D7",
    "policy.generation.vllm_cfg.kv_cache_dtype": "F7",
    "loss_fn.truncated_importance_sampling_type": "H3",
    "grpo.adv_estimator.name": "H6",
    "data.dataset_name": "I4",
    "data.processor": "I7",
    "data.default.processor": "I7",
    "data.env_name": "I7",
    "data.default.env_name": "I7",
    "env.math.math_verify_impl": "I10",
    "env.math.verifier_type": "I10",
    "checkpointing.keep_top_k": "J3",
    "checkpointing.model_save_format": "J5",
    "checkpointing.pretrained_checkpoint.format": "J7",
    "policy.pretrained_checkpoint.format": "J7",
}

#: Words beside NeMo RL's own that are handed on and taken: vLLM's for its dtype.
_BESIDE = {"policy.generation.vllm_cfg.precision": ("auto", "half", "float")}
#: Keys that take a dotted path to a class of one's own as well, from v0.7.0 on.
_CLASSES = "data.train.dataset_name"
#: Keys that are looked up without regard to case.
_ANY_CASE = ("policy.sequence_packing.algorithm",)


#: Keys whose registry an entry script may add to: a name that has a group under `env` is one of its own (run_vlm_grpo).
_ENVIRONMENTS = ("data.env_name", "data.default.env_name")


def _taken(config: Config, key: str, value: str, choice: Choice) -> bool:
    if key in _ANY_CASE:
        return value.lower() in choice.values
    if key in _ENVIRONMENTS and config.has(f"env.{value}"):
        return True
    return value in choice.values or value in _BESIDE.get(key, ()) or (key == _CLASSES and "." in value)


def _places_of(config: Config, key: str) -> tuple[str, ...]:
    """Where the configuration has the key: a data set's name is looked up for training and for validation."""
    both = (key, key.replace("data.train.", "data.validation."))
    return tuple(path for path in dict.fromkeys(both) if path in config.values)


def _asked(training: Training, key: str) -> bool:
    """Whether somebody reads the key in this training."""
    for start, reads in _READ.items():
        if key.startswith(start):
            return reads(training)
    return True


def _generates_by_vllm(training: Training) -> bool:
    return training.config.text("policy.generation.backend") in ("vllm", "")


#: Beginning of a key -> who reads it.
_READ: dict[str, Callable[[Training], bool]] = {
    "policy.megatron_cfg.": lambda training: shape_of(training.config).backend == "megatron",
    "policy.generation.vllm_cfg.": _generates_by_vllm,
    "checkpointing.model_save_format": lambda training: (
        training.config.on("checkpointing.enabled") and training.config.get("policy.dtensor_cfg._v2") is True
    ),
    "loss_fn.reference_policy_kl_type": lambda training: (
        training.config.get("loss_fn.reference_policy_kl_penalty") not in (0, 0.0, None)
    ),
}


def _unread(config: Config, path: str) -> bool:
    """Whether the key lies in a group that is not enabled, so that nobody reads it."""
    return any(
        path.startswith(group + ".") and path != f"{group}.enabled" and config.get(f"{group}.enabled") is False
        for group in _SWITCHED
    )
