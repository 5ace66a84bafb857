"""Rules of single values: what NeMo RL counts from one upwards, shares between nothing and all, keys it cannot miss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from findings import Problem, ProfilePath, Severity
from groundplan.catalog import shipped
from groundplan.nemo_rl.config import VLLM, Config
from groundplan.nemo_rl.config_rules import known_keys
from groundplan.nemo_rl.places import CONFIG, OVERRIDES, given, place, written, written_twice
from groundplan.nemo_rl.releases import GRPO
from groundplan.nemo_rl.shape import shape_of, sizes_of
from groundplan.nemo_rl.stated import setting, stated
from groundplan.nemo_rl.training import Training, check

#: Where v0.7.0 has its own model of the configuration, by which it judges types and keys first of all.
MODEL = "nemo_rl/algorithms/grpo.py:236, examples/run_grpo.py:82"
_SHARE = f"{VLLM}.gpu_memory_utilization"
#: Above it CUDA graphs and NCCL find no room beside vLLM.
_SHARE_WARNED = 0.95


@check("config-bounds")
def config_bounds(training: Training) -> Iterator[Problem]:
    """A value is out of the range that NeMo RL or vLLM can work with.

    Steps, lengths, batches, prompts and parallel sizes count from 1: with 0 a training ends at once, or divides by
    it at its first step. `gpu_memory_utilization` is a share of the GPU, between 0 and 1; above 0.95 is a warning.

    Source: NVIDIA-NeMo/RL, nemo_rl/algorithms/grpo.py at the tags; vLLM documentation, "Engine Arguments".

    Mend: a value within the range.
    """
    if missing(training):
        return
    for path in _counted(training.config):
        value = training.config.get(path)
        follows = isinstance(training.config.values.get(path), str)  # another key's value, which is judged itself
        if _number(value) and value < 1 and not follows:
            hint = f"set {setting(path, 1)}, or more"
            yield Problem(place(training, path), f"`{path}` is {value} and must be at least 1", hint)
    share = training.config.get(_SHARE)
    if not _number(share) or training.config.text("policy.generation.backend") not in ("vllm", ""):
        return
    if not 0 < share < 1:
        message = f"`{_SHARE}` is {share} and must be between 0 and 1"
        yield Problem(place(training, _SHARE), message, f"set {setting(_SHARE, 0.6)}")
    elif share > _SHARE_WARNED:
        message = f"`{_SHARE}` is {share}: above {_SHARE_WARNED} CUDA and NCCL find no room beside vLLM"
        yield Problem(place(training, _SHARE), message, f"set {setting(_SHARE, 0.9)}, or less", Severity.WARNING)


@check("vllm-length", Severity.WARNING)
def vllm_length(training: Training) -> Iterator[Problem]:
    """vLLM's max_model_len is below policy.max_total_sequence_length.

    Generation then stops at the smaller number, and prompts that are longer are refused by vLLM.

    Source: NVIDIA-NeMo/RL, examples/configs/grpo_math_1B.yaml, where the one refers to the other.

    Mend: leave max_model_len to follow max_total_sequence_length.
    """
    path, whole = f"{VLLM}.max_model_len", "policy.max_total_sequence_length"
    length, total = training.config.get(path), training.config.get(whole)
    if _number(length) and _number(total) and 1 <= length < total:
        hint = f"set `{path}: {total}`"
        yield Problem(place(training, path, whole), f"`{path}` {length} is below {whole} {total}", hint)


@check("config-needed")
def config_needed(training: Training) -> Iterator[Problem]:
    """An override takes away a key that NeMo RL cannot do without.

    ``~policy.model_name``, ``policy: null`` and the like stop the job at its start, after the nodes have come up. While
    one is missing the shape of the training is not judged.

    Source: NVIDIA-NeMo/RL, nemo_rl/algorithms/grpo.py and the configuration's TypedDicts (`needed` of the catalog).

    Mend: take the override out.
    """
    told = f"({stated(training.release, 'F8')})"
    for path, (at, written_) in missing(training).items():
        of_generation = f" {told}" if path.startswith("policy.generation") else ""
        known = known_keys(training)
        hint = f"leave it out, or set {setting(path, known[path])}" if path in known else f"take {written_} out"
        yield Problem(at, f"{written_}: NeMo RL cannot do without `{path}`{of_generation}", hint)


@check("config-required")
def config_required(training: Training) -> Iterator[Problem]:
    """A key is missing that the release's own model of the configuration asks for.

    v0.7.0 builds that model on the head, before it asks Ray for a GPU, and stops on what it lacks. The keys of a group
    count while the group is enabled.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/algorithms/grpo.py line 236 (MasterConfig) and the classes that it names
    (`required` of the catalog, which says how they were read); examples/run_grpo.py line 82.

    Mend: give the key a value; its default is what the finding names.
    """
    gone, own = missing(training), given(training)
    for key in _required(training):
        if key in training.config.values or training.config.has(key) or any(_covers(path, key) for path in gone):
            continue
        at = next((at for path, (at, _, _) in own.items() if _covers(path, key)), place(training))
        known = known_keys(training)
        below = {key: known[key]} if key in known else {k: v for k, v in known.items() if k.startswith(key + ".")}
        usual = " and ".join(setting(path, value) for path, value in below.items())
        refuses = f"NeMo RL {training.release.version} refuses that on the head, before it asks for GPUs"
        message = f"`{key}` is not set, and {refuses} ({MODEL})"
        yield Problem(at, message, f"set {usual}, the default" if usual else "give it a value")


def _required(training: Training) -> Iterator[str]:
    groups: dict[str, list[str]] = shipped("nemo_rl")["required"].get(training.release.version, {})
    for group, keys in groups.items():
        if not group or training.config.on(f"{group}.enabled"):
            yield from (f"{group}.{key}" if group else key for key in keys)


def _covers(path: str, key: str) -> bool:
    return key == path or key.startswith(path + ".")


@check("config-twice")
def config_twice(training: Training) -> Iterator[Problem]:
    """One configuration key is written twice, in two spellings: dotted and nested, or with and without a prefix.

    Which of them holds would depend on their order.

    Source: groundplan's own limit: a mapping in YAML has no order that a reader could rely on.

    Mend: keep one of the two spellings.
    """
    for path, first, second in written_twice(training.overrides):
        places = f"as {_spelled(first)} and as {_spelled(second)}"
        yield Problem(second, f"workload.overrides: `{path}` is written twice, {places}", "keep one of them")


def missing(training: Training) -> dict[str, tuple[ProfilePath, str]]:
    """Needed key that an override takes away -> its place, and the override as it is written."""
    defaults = training.release.since("v0.7.0")  # the class of loss_fn has them
    needed = [key for key in shipped("nemo_rl")["needed"] if not (defaults and key.startswith("loss_fn."))]
    found: dict[str, tuple[ProfilePath, str]] = {}
    if training.release.algorithm != GRPO:
        return found
    if training.file_name:
        lost = [key for key in needed if key not in training.config.values and not training.config.has(key)]
        found = dict.fromkeys(lost, (CONFIG, f"`{training.file_name}`"))
    for path, (at, prefix, value) in written(training.overrides).items():
        # A leaf set to null is of the wrong type, which config-type says.
        group = path not in training.release.keys and path not in training.recipe.sets
        if prefix != "~" and not (value is None and group):
            continue
        if any(_covers(path, key) and not training.config.has(key) for key in needed):
            found[path] = (at, f"`~{path}`" if prefix == "~" else f"`{prefix}{path}: null`")
    return found


def unjudged(training: Training) -> bool:
    """Whether the shape cannot be told, because a number that it rests on is missing or none: other rules say so."""
    values = (training.config.get(path) for path in sizes_of(shape_of(training.config)))
    wrong = any(v is not None and (not isinstance(v, int) or isinstance(v, bool) or v < 1) for v in values)
    return wrong or bool(missing(training))


def _counted(config: Config) -> list[str]:
    paths = ["grpo.max_num_steps", "policy.max_total_sequence_length", "policy.generation.max_new_tokens"]
    if config.on("checkpointing.enabled"):
        paths.append("checkpointing.save_period")
    return [*paths, *(path for path in sizes_of(shape_of(config)) if path not in paths)]


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _spelled(at: ProfilePath) -> str:
    return " > ".join(f"`{key}`" for key in at[len(OVERRIDES) :])
