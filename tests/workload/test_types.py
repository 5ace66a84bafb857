"""Types, null and closed sets of values, by release: as NeMo RL judges them, or as it fails on them."""

from __future__ import annotations

from typing import Any

import pytest

from groundplan.nemo_rl.releases import Release, config_keys
from groundplan.nemo_rl.types import fits, types_of
from workload.jobs import RELEASES, findings, site

SMOKE = "grpo-qwen2.5-1.5b-gsm8k-smoke"
MEGATRON = "grpo-llama3.1-8b-megatron"


def release(version: str, keys_of: str = "") -> Release:
    return Release(version=version, image="i", ray="2.0", cuda="12.9", script="s", gsm8k="built-in", keys_of=keys_of)


def said(version: str, recipe: str = SMOKE, **overrides: Any) -> list[str]:
    """What config-type and config-choice say; keys with ``__`` for dots."""
    plain = {path.replace("__", "."): value for path, value in overrides.items()}
    found = findings(site(workload={"recipe": recipe, "release": version, "overrides": plain}))
    return [finding.message for finding in found if finding.rule in ("config-type", "config-choice")]


@pytest.mark.parametrize("version", RELEASES)
def test_every_release_has_its_types(version: str) -> None:
    types, keys = types_of(release(version)), config_keys(version)
    assert types.enforced is (version == "v0.7.0")
    assert {key for key, value in keys.items() if value is None} <= types.nullable | types.unchecked
    assert len(types.choices) > 10
    for key, choice in types.choices.items():
        default = keys.get(key)
        reference = isinstance(default, str) and "${" in default
        assert default is None or reference or default in choice.values or isinstance(default, list), (key, default)


@pytest.mark.parametrize(
    ("key", "taken", "refused"),
    [
        ("checkpointing__keep_top_k", ("v0.4.0", "v0.5.0", "v0.6.0"), ("v0.7.0",)),
        ("checkpointing__model_save_format", RELEASES, ()),
        ("policy__scheduler", RELEASES, ()),
        ("loss_fn__ratio_clip_c", RELEASES, ()),
        ("grpo__max_val_samples", ("v0.7.0",), ("v0.6.0",)),
        ("logger__wandb", ("v0.6.0",), ("v0.7.0",)),
        ("policy__generation__vllm_cfg__kv_cache_dtype", ("v0.7.0",), ()),
        ("grpo__num_prompts_per_step", (), RELEASES),
    ],
)
def test_null_by_release(key: str, taken: tuple[str, ...], refused: tuple[str, ...]) -> None:
    for version in taken:
        assert said(version, **{key: None}) == [], version
    for version in refused:
        (message,) = said(version, **{key: None})
        assert "is null and must be " in message and f"at NeMo RL {version}" in message


def test_a_refused_null_is_mended_by_what_the_hint_says() -> None:
    workload = {"recipe": SMOKE, "release": "v0.7.0", "overrides": {"checkpointing.keep_top_k": None}}
    (found,) = [each for each in findings(site(workload=workload)) if each.rule == "config-type"]
    assert found.hint == "set `checkpointing.keep_top_k: 3`, the default; or write a number"


@pytest.mark.parametrize(
    ("wanted", "value", "strict", "lax"),
    [
        ("a whole number", "5", False, True),
        ("a whole number", "5.5", False, False),
        ("a whole number", 5.0, False, True),
        ("a whole number", True, False, True),
        ("a number", "1e-8", False, True),
        ("a number", "small", False, False),
        ("true or false", "yes", False, True),
        ("true or false", 1, False, True),
        ("true or false", 2, False, False),
        ("text", 5, False, False),
        ("a list", (1,), False, False),
        ("a list", "${policy.x}", True, True),
    ],
)
def test_what_pydantic_takes(wanted: str, value: Any, strict: bool, lax: bool) -> None:
    assert fits(wanted, value) is strict
    assert fits(wanted, value, lax=True) is lax


def test_keys_that_are_null_by_default_have_a_declared_type() -> None:
    assert "must be a list" in said("v0.7.0", policy__generation__stop_token_ids=5)[0]
    assert "must be a whole number" in said("v0.7.0", policy__generation__top_k="many")[0]
    assert said("v0.7.0", policy__generation__top_k="5") == []


def test_a_group_that_is_off_is_not_judged() -> None:
    assert said("v0.7.0", policy__megatron_cfg__pipeline_dtype=5) == []
    assert said("v0.7.0", policy__megatron_cfg__peft__dropout_position="middle") == []
    assert "must be text" in said("v0.7.0", MEGATRON, policy__megatron_cfg__pipeline_dtype=5)[0]


@pytest.mark.parametrize(
    ("version", "recipe", "key", "wrong", "right"),
    [
        ("v0.6.0", SMOKE, "policy__precision", "bf16", "bfloat16"),
        ("v0.5.0", SMOKE, "data__processor", "vlm_hf_data_processor", "math_data_processor"),
        ("v0.6.0", SMOKE, "data__default__env_name", "maths", "math"),
        ("v0.6.0", SMOKE, "grpo__adv_estimator__name", "opd", "reinforce_plus_plus"),
        ("v0.7.0", SMOKE, "grpo__adv_estimator__name", "ppo", "opd"),
        ("v0.7.0", SMOKE, "data_plane__backend", "mooncake", "mooncake_cpu"),
        ("v0.7.0", SMOKE, "policy__sequence_packing__algorithm", "best_fit", "FIRST_FIT_SHUFFLE"),
        ("v0.7.0", SMOKE, "data__train__dataset_name", "gsm", "my_data.sets.Mine"),
        ("v0.7.0", SMOKE, "policy__generation__vllm_cfg__precision", "int8", "half"),
        ("v0.6.0", MEGATRON, "policy__megatron_cfg__moe_token_dispatcher_type", "deepep", "flex"),
        ("v0.4.0", SMOKE, "policy__generation__backend", "megatron", "vllm"),
    ],
)
def test_closed_sets_of_values(version: str, recipe: str, key: str, wrong: str, right: str) -> None:
    (message,) = said(version, recipe, **{key: wrong})
    assert message.startswith(f"`{key.replace('__', '.')}` is `{wrong}`, which NeMo RL {version} does not know")
    assert said(version, recipe, **{key: right}) == []


def test_an_environment_of_ones_own_has_a_group() -> None:
    own = {"data__default__env_name": "clevr-cogent", "+env__clevr-cogent": {"num_workers": 8}}
    assert said("v0.6.0", **own) == []


def test_a_release_counts_by_its_number() -> None:
    assert release("v0.6.0").since("v0.6.0")
    assert release("v0.10.0").since("v0.6.0")
    assert not release("v0.5.0").since("v0.6.0")
    assert release("v0.6.1").since("v0.6.0")
    assert not release("nightly", keys_of="v0.5.0").since("v0.6.0")
    assert release("nightly").since("v0.6.0")


@pytest.mark.parametrize("recipe", ["grpo-llama3.1-8b-megatron", "grpo-qwen3-32b-megatron"])
def test_a_recipe_is_what_the_file_of_its_release_says(recipe: str) -> None:
    for version, batch in (("v0.6.0", 512), ("v0.7.0", 2048), ("v0.8.0", 2048)):
        job = site(workload={"recipe": recipe, "release": version}).job
        assert job is not None
        assert job.config.get("policy.train_global_batch_size") == batch
        assert job.config.on("loss_fn.force_on_policy_ratio") is (batch == 2048)
        assert not [f for f in findings(site(workload={"recipe": recipe, "release": version})) if f.severity == "error"]


def test_what_is_set_at_a_release_without_sure_keys_is_set_or_added() -> None:
    job = site(workload={"release": "v0.8.0"}).job
    assert job is not None
    assert {override.prefix for override in job.overrides} <= {"++", "~"}
