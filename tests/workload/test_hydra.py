"""Hydra itself composes what is written, against a struct of the release's keys, to the values that were meant."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from groundplan.nemo_rl.config import Config
from groundplan.nemo_rl.hydra import Override, unwritable_keys, value_text
from groundplan.nemo_rl.releases import config_keys
from workload.jobs import RECIPES, RELEASES, objects, site

pytest.importorskip("hydra", reason="hydra-core is not installed")

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

# NeMo RL's own resolvers.
OmegaConf.register_new_resolver("mul", lambda a, b: a * b, replace=True)


def struct(version: str, sets: dict[str, Any]) -> DictConfig:
    """The release's base config with what a recipe's file sets, closed as NeMo RL closes it."""
    config = OmegaConf.create({})
    for path, value in {**config_keys(version), **sets}.items():
        OmegaConf.update(config, path, value, force_add=True)
    OmegaConf.set_struct(config, True)
    return config


def composed(config: DictConfig, arguments: list[str]) -> DictConfig:
    """What NeMo RL does with its arguments (nemo_rl/utils/config.py, parse_hydra_overrides)."""
    parsed = OverridesParser.create().parse_overrides(overrides=arguments)
    assert not any(override.is_sweep_override() for override in parsed)
    ConfigLoaderImpl._apply_overrides_to_config(parsed, config)
    return config


def arguments_of(script: str) -> list[str]:
    """The trainer's overrides, as a shell splits the script."""
    command = next(
        line.strip() for line in script.replace("\\\n", " ").splitlines() if "python -u examples/run" in line
    )
    words = shlex.split(command.removesuffix("|| status=$?"))
    return words[words.index("--config") + 2 :]


def run(
    recipe: str, release: str, overrides: dict[str, Any] | None = None, nodes: int = 8
) -> tuple[DictConfig, Config]:
    """What Hydra makes of the script's arguments, and what groundplan says it will."""
    of = site(nodes=nodes, workload={"recipe": recipe, "release": release, "overrides": overrides or {}})
    assert of.job
    script = objects(of)["ConfigMap"]["data"]["train.sh"]
    return composed(struct(release, of.job.recipe.sets), arguments_of(script)), of.job.config


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_compose(recipe: str, release: str) -> None:
    config, planned = run(recipe, release)
    for path, value in planned.values.items():
        assert OmegaConf.select(config, path) is not None or value is None, path
    for path in ("policy.model_name", "cluster.num_nodes", "checkpointing.checkpoint_dir", "grpo.max_num_steps"):
        assert OmegaConf.select(config, path) == planned.get(path)


def test_the_tutorials_values() -> None:
    """Written out by hand from the tutorial's script."""
    config, _ = run("grpo-gemma3-27b-gsm8k", "v0.6.0")
    expected = {
        "policy.model_name": "google/gemma-3-27b-it",
        "cluster.num_nodes": 2,
        "cluster.gpus_per_node": 8,
        "grpo.max_num_steps": 10,
        "grpo.num_prompts_per_step": 16,
        "grpo.num_generations_per_prompt": 32,
        "policy.generation.colocated.enabled": False,
        "policy.generation.colocated.resources.num_nodes": 1,
        "policy.generation.colocated.resources.gpus_per_node": 8,
        "policy.generation.vllm_cfg.tensor_parallel_size": 8,
        "policy.generation.vllm_cfg.gpu_memory_utilization": 0.9,
        "policy.dtensor_cfg.tensor_parallel_size": 8,
        "logger.tensorboard_enabled": False,
        "logger.wandb_enabled": True,
        "checkpointing.metric_name": "val:accuracy",
        "data.train.dataset_name": "gsm8k",
        "data.validation": {"dataset_name": "gsm8k", "split": "test"},
    }
    for path, value in expected.items():
        assert OmegaConf.select(config, path) == value, path


@pytest.mark.parametrize("release", ["v0.4.0", "v0.5.0"])
def test_older_releases_read_files(release: str) -> None:
    config, _ = run("grpo-qwen2.5-1.5b-gsm8k-smoke", release)
    assert config.data.dataset_name == "ResponseDataset"
    assert config.data.train_data_path == "/data/datasets/gsm8k/train.jsonl"
    assert config.data.val_data_path == "/data/datasets/gsm8k/test.jsonl"
    assert (config.data.input_key, config.data.output_key) == ("question", "answer")


@pytest.mark.parametrize(
    ("overrides", "path", "value"),
    [
        ({"grpo.max_num_steps": 300}, "grpo.max_num_steps", 300),
        ({"grpo": {"seed": 7, "val_period": -1}}, "grpo.val_period", -1),
        ({"policy.optimizer.kwargs.lr": 1e-6}, "policy.optimizer.kwargs.lr", 1e-6),
        ({"policy.optimizer.kwargs.betas": [0.9, 0.95]}, "policy.optimizer.kwargs.betas", [0.9, 0.95]),
        ({"logger.wandb.name": "run-1,2 (a: b)"}, "logger.wandb.name", "run-1,2 (a: b)"),
        ({"logger.wandb.name": 'it\'s "x" \\'}, "logger.wandb.name", 'it\'s "x" \\'),
        ({"logger.wandb.name": "true"}, "logger.wandb.name", "true"),
        ({"logger.wandb.name": "10"}, "logger.wandb.name", "10"),
        ({"logger.wandb.name": ""}, "logger.wandb.name", ""),
        ({"logger.wandb.name": "$HOME `id` $(id)"}, "logger.wandb.name", "$HOME `id` $(id)"),
        (
            {"policy.generation.stop_strings": ["</s>", "a,b", "[x]"]},
            "policy.generation.stop_strings",
            ["</s>", "a,b", "[x]"],
        ),
        ({"policy.generation.vllm_kwargs": {"seed": 3}}, "policy.generation.vllm_kwargs.seed", 3),
        (
            {"policy.generation.vllm_kwargs.hf": {"a": {"b": [1, {"c": None}]}}},
            "policy.generation.vllm_kwargs.hf.a.b",
            [1, {"c": None}],
        ),
        ({"data.validation": {"dataset_name": "gsm8k", "split": "test"}}, "data.validation.split", "test"),
        ({"data.validation": None}, "data.validation", None),
        ({"+policy.brand_new.key": 5}, "policy.brand_new.key", 5),
        ({"++policy.brand_new": "x"}, "policy.brand_new", "x"),
        ({"policy.max_total_sequence_length": 2048}, "policy.generation.max_new_tokens", 2048),
        (
            {"policy.generation.max_new_tokens": "${policy.max_total_sequence_length}"},
            "policy.generation.max_new_tokens",
            1024,
        ),
        (
            {"policy.tokenizer.chat_template_kwargs": {"enable_thinking": False}},
            "policy.tokenizer.chat_template_kwargs.enable_thinking",
            False,
        ),
    ],
)
def test_the_users_values_arrive(overrides: dict[str, Any], path: str, value: Any) -> None:
    config, planned = run("grpo-qwen2.5-1.5b-gsm8k-smoke", "v0.6.0", overrides)
    assert OmegaConf.select(config, path) == value
    assert planned.get(path, value) == value


def test_a_key_is_deleted() -> None:
    config, planned = run("grpo-qwen2.5-1.5b-gsm8k-smoke", "v0.6.0", {"~grpo.seed": None})
    assert "seed" not in config.grpo
    assert not planned.has("grpo.seed")


def test_a_null_group_is_filled_again() -> None:
    """The recipe drops the optimizer, the user sets one of its keys."""
    config, _ = run("grpo-qwen3-32b-megatron", "v0.6.0", {"policy.optimizer.kwargs.lr": 1e-6})
    assert config.policy.optimizer.kwargs.lr == 1e-6


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        10**12,
        1e-8,
        0.1,
        float("inf"),
        True,
        None,
        [],
        {},
        "x",
        "a b",
        "null",
        "1e5",
        "-",
        "a=b",
        "x;y",
        "é",
        "a\\",
        '\\"',
        "'",
        '"',
        "{a}",
        "${",
        "%",
        "~",
        "a:",
        ":a",
        "[1,2",
        "choice(1,2)",
        "a\tb",
    ],
)
def test_any_value_survives(value: Any) -> None:
    text = Override("a", value, "++", "user").text
    (parsed,) = OverridesParser.create().parse_overrides([text])
    assert not parsed.is_sweep_override()
    assert parsed.value() == value
    nested = {"k": [value, {"b": value}]}
    (parsed,) = OverridesParser.create().parse_overrides([f"a={value_text(nested)}"])
    assert parsed.value() == nested


@pytest.mark.parametrize(
    ("key", "back"), [("a-b", "a-b"), ("_c.d", "_c.d"), (7, 7), ("1", None), ("null", None), ("x:y", None)]
)
def test_keys_of_a_mapping_survive_or_are_found(key: Any, back: Any) -> None:
    """Hydra's own parser reads the written key back, or `unwritable_keys` names it beforehand."""
    assert unwritable_keys({key: 1}) == ([] if back is not None else [str(key)])
    if back is not None:
        (parsed,) = OverridesParser.create().parse_overrides([f"a={value_text({key: 1})}"])
        assert parsed.value() == {back: 1}
