"""Rules of modes that exclude each other, of data, of places on shared storage, and of keys."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, Severity
from groundplan.nemo_rl.bounds_rules import missing, unjudged
from groundplan.nemo_rl.config import VLLM
from groundplan.nemo_rl.mends import generating_gpus, generating_nodes
from groundplan.nemo_rl.places import place
from groundplan.nemo_rl.shape import Shape, shape_of
from groundplan.nemo_rl.stated import setting, shown, stated
from groundplan.nemo_rl.training import Training, check

_ASYNC = "grpo.async_grpo.enabled"
_PROMPTS = "grpo.num_prompts_per_step"
#: Rows of GSM8K's training split.
GSM8K_ROWS = 7473


@check("async-grpo")
def async_grpo(training: Training) -> Iterator[Problem]:
    """Asynchronous GRPO has terms of its own.

    It needs generation on GPUs of its own, vLLM's async engine and importance sampling correction, and takes no dynamic
    sampling, reward shaping, reward scaling or several data loaders.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/algorithms/grpo.py lines 3367, 3372 and 3421 (what it needs) and
    examples/run_grpo.py lines 174, 179 and 185 (what it excludes); docs/guides/async-grpo.md.

    Mend: set the key that the finding names, or turn `grpo.async_grpo.enabled` off.
    """
    if not training.config.on(_ASYNC):
        return
    config, off = training.config, setting(_ASYNC, False)
    told = f"({stated(training.release, 'G1')})"
    if shape_of(config).colocated:
        apart = "policy.generation.colocated.enabled"
        message = f"`{_ASYNC}` is true, and needs `{apart}` false: generation apart from training {told}"
        yield Problem(place(training, _ASYNC, apart), message, f"{_apart(shape_of(config))}, or {off}")
    for path in (f"{VLLM}.async_engine", "loss_fn.use_importance_sampling_correction"):
        if not config.on(path):
            message = f"`{path}` is {shown(config.get(path))}, and `{_ASYNC}` needs it true {told}"
            yield Problem(place(training, _ASYNC, path), message, f"set {setting(path, True)}")
    excluded = ["grpo.use_dynamic_sampling", "grpo.reward_shaping.enabled", "grpo.reward_scaling.enabled"]
    excluded += ["data.use_multiple_dataloader"] if training.release.since("v0.6.0") else []
    for path in excluded:
        if config.on(path):
            message = f"`{path}` is true, and `{_ASYNC}` excludes it ({stated(training.release, 'G2')})"
            yield Problem(place(training, path, _ASYNC), message, f"set {setting(path, False)}")


def _apart(shape: Shape) -> str:
    """What puts generation on GPUs of its own, so that everything divides."""
    group = "policy.generation.colocated"
    key, count = "gpus_per_node", generating_gpus(shape)
    if shape.policy_nodes > 1:
        key, count = "num_nodes", generating_nodes(shape)
    if count is None:
        return f"generate on GPUs of their own (`{group}.enabled: false`), with sizes and batches that fit the rest"
    whole = f" and `{group}.resources.gpus_per_node: {shape.gpus_per_node}`" if shape.policy_nodes > 1 else ""
    return f"set `{group}.enabled: false` and `{group}.resources.{key}: {count}`{whole}"


@check("fp8-generation")
def fp8_generation(training: Training) -> Iterator[Problem]:
    """Generation in FP8 has terms of its own.

    It needs importance sampling correction. An FP8 KV cache needs FP8 generation, Megatron without pipeline parallel,
    and no async engine.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/algorithms/grpo.py lines 999 to 1005 and
    nemo_rl/models/generation/vllm/quantization/fp8.py line 166; the KV cache is checked from v0.5.0 on.

    Mend: set the key that the finding names, or leave `precision` and `kv_cache_dtype` as the recipe has them.
    """
    config, shape = training.config, shape_of(training.config)
    precision, cache = f"{VLLM}.precision", f"{VLLM}.kv_cache_dtype"
    fp8 = config.get(precision) == "fp8"
    correction = "loss_fn.use_importance_sampling_correction"
    if fp8 and not config.on(correction):
        message = f"`{correction}` is {shown(config.get(correction))}, and `{precision}` fp8 needs it true"
        at = place(training, precision, correction)
        told = stated(training.release, "F6")
        yield Problem(at, f"{message} ({told})", f"set {setting(correction, True)}")
    value = config.get(cache)
    if not (isinstance(value, str) and value.startswith("fp8")) or not training.release.since("v0.5.0"):
        return
    reasons = {
        f"`{precision}` fp8": fp8,
        "`policy.megatron_cfg.enabled` true": shape.backend == "megatron",
        "pipeline parallel 1": shape.pp == 1,
        f"`{VLLM}.async_engine` false": not config.on(f"{VLLM}.async_engine"),
    }
    for reason in (reason for reason, given in reasons.items() if not given):
        message = f"`{cache}` is {value}, and needs {reason} ({stated(training.release, 'F7')})"
        yield Problem(place(training, cache), message, f"set {setting(cache, 'auto')}")


@check("validation-set")
def validation_set(training: Training) -> Iterator[Problem]:
    """Validation needs a validation set.

    GSM8K's own is its test split; none is split off its training data.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/algorithms/grpo.py line 409 (v0.6.0: 361, v0.5.0: 279, v0.4.0: 273) and
    nemo_rl/data/datasets/response_datasets.

    Mend: add `data.validation: {dataset_name: gsm8k, split: test}`, or set `grpo.val_period: -1`.
    """
    if missing(training):
        return
    config = training.config
    period = config.get("grpo.val_period")
    asked = {"grpo.val_period": period} if isinstance(period, int) and period > 0 else {}
    switches = ("grpo.val_at_start", "grpo.val_at_end") if training.release.since("v0.6.0") else ("grpo.val_at_start",)
    asked |= {path: True for path in switches if config.on(path)}
    if asked and not _validates(training):
        at = place(training, "data.validation", "data.val_data_path", "grpo.val_period", "data.train.dataset_name")
        off = {"grpo.val_period": -1, "grpo.val_at_start": False, "grpo.val_at_end": False}
        hint = f"set {' and '.join(setting(key, off[key]) for key in asked)}"
        if training.release.gsm8k == "built-in":
            hint = f"add `data.validation: {{dataset_name: gsm8k, split: test}}`, or {hint}"
        told = ", and ".join(f"`{key}` is {shown(value)}" for key, value in asked.items())
        message = f"{told}: there is no validation set (`data.validation`) ({stated(training.release, 'I1')})"
        yield Problem(at, message, hint)


def _validates(training: Training) -> bool:
    config = training.config
    if config.has("data.validation") or config.has("data.val_data_path"):
        return True
    if training.release.gsm8k == "built-in":
        several = config.get("data.train")
        if isinstance(several, list):  # several data sets, each of which may be split
            return any(isinstance(each, dict) and (each.get("split_validation_size") or 0) > 0 for each in several)
        split = config.get("data.train.split_validation_size")
        named = config.text("data.train.dataset_name").lower()
        return named != "gsm8k" and isinstance(split, int | float) and split > 0
    # Before v0.6.0 the built-in data sets bring a validation split of their own; a file brings none.
    return config.text("data.dataset_name") != "ResponseDataset"


@check("sampling")
def sampling(training: Training) -> Iterator[Problem]:
    """A step takes no more prompts than the data set has, and batch_multiplier is for dynamic sampling alone.

    The data loader drops the last, partial batch: with more prompts a step than rows there is no step at all, and the
    job ends as if it had succeeded.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/algorithms/grpo.py lines 344 and 363 (v0.6.0: 293 and 312); the rows of
    GSM8K's training split by its data set card, openai/gsm8k on Hugging Face.

    Mend: use fewer prompts a step; set `grpo.batch_multiplier: 1`, or turn `grpo.use_dynamic_sampling` on.
    """
    if unjudged(training):
        return
    key, dynamic = "grpo.batch_multiplier", "grpo.use_dynamic_sampling"
    prompts = shape_of(training.config).prompts
    if training.recipe.dataset == "gsm8k" and prompts > GSM8K_ROWS:
        message = f"`{_PROMPTS}` {prompts} is more than the {GSM8K_ROWS} rows of GSM8K's training split"
        hint = f"set {setting(_PROMPTS, GSM8K_ROWS)}, or fewer: the last, partial batch of an epoch is dropped"
        yield Problem(place(training, _PROMPTS), f"{message} ({stated(training.release, 'A12')})", hint)
    multiplier = training.config.get(key, 1)
    if multiplier != 1 and not training.config.on(dynamic):
        off = f"and `{dynamic}`, which it needs, is {shown(training.config.get(dynamic))}"
        message = f"`{key}` is {multiplier}, {off} ({stated(training.release, 'A9')})"
        hint = f"set {setting(key, 1)}, or {setting(dynamic, True)}"
        yield Problem(place(training, key, dynamic), message, hint)


@check("shared-folders")
def shared_folders(training: Training) -> Iterator[Problem]:
    """Checkpoints and logs go to a file system that all nodes share.

    NeMo RL takes plain paths alone: ``gs://`` becomes a folder of that name in the container. A path outside the mount
    is on one node's disk and goes with its pod; on several nodes each would save a part of the checkpoint to its own.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/utils/checkpoint.py and nemo_rl/utils/logger.py (both folders are plain paths
    of the file system); docs/design-docs/checkpointing.md.

    Mend: leave the key out, which puts the folder on the shared volume, or name a folder under the mount.
    """
    if missing(training):
        return
    for path in ("checkpointing.checkpoint_dir", "logger.log_dir"):
        folder = training.config.text(path)
        if path.startswith("checkpointing") and not training.config.on("checkpointing.enabled"):
            continue
        if not training.shares(folder):
            severity = None if path.startswith("checkpointing") else Severity.WARNING
            message = f"{path} `{folder}` is not under {training.mount_path}, where the shared volume is mounted"
            yield Problem(place(training, path), message, f"use a folder such as {training.folder}", severity)


@check("wandb-key")
def wandb_key(training: Training) -> Iterator[Problem]:
    """Logging to Weights & Biases needs its API key.

    NeMo RL logs from the driver, which runs on the head; without a key it stops, for there is no terminal to ask at.

    Source: Weights & Biases documentation, "Environment variables" (WANDB_API_KEY); NVIDIA-NeMo/RL,
    nemo_rl/utils/logger.py.

    Mend: add `secrets: {wandb: {variable: true}}`, or set `logger.wandb_enabled: false`.
    """
    if training.config.on("logger.wandb_enabled") and not training.wandb_key:
        message = "logger.wandb_enabled is true, and `secrets.wandb` names no API key"
        yield Problem(place(training, "logger.wandb_enabled"), message, "add `secrets: {wandb: {variable: true}}`")


@check("gated-model")
def gated_model(training: Training) -> Iterator[Problem]:
    """A gated model needs a Hugging Face token whose owner accepted its licence.

    Other models fare better with one, for many pods ask at once and unnamed callers are limited.

    Source: Hugging Face documentation, "Gated models"; NVIDIA-NeMo/RL PR 2272 (error 429, when many workers ask at
    once).

    Mend: accept the licence on Hugging Face, and add `secrets: {hugging_face: {variable: true}}`.
    """
    if training.hugging_face_token:
        return
    if training.model.gated:
        message = f"{training.model.name} is a gated model, and `secrets.hugging_face` names no token"
        hint = "accept its licence on Hugging Face and add `secrets: {hugging_face: {variable: true}}`"
        yield Problem(place(training, "policy.model_name"), message, hint)
