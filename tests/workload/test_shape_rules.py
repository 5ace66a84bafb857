"""GRPO rules as tables: NVIDIA's shipped shapes pass; known-bad neighbours fail with the sum in the message."""

from __future__ import annotations

from typing import Any

import pytest

from findings import Severity
from workload.jobs import findings, site, slugs

MCORE = {"policy.dtensor_cfg.enabled": False, "policy.megatron_cfg.enabled": True, "policy.optimizer": None}


def dtensor(tp: int = 1, cp: int = 1) -> dict[str, Any]:
    return {"policy.dtensor_cfg.tensor_parallel_size": tp, "policy.dtensor_cfg.context_parallel_size": cp}


def megatron(tp: int = 1, pp: int = 1, cp: int = 1, ep: int = 1) -> dict[str, Any]:
    group = "policy.megatron_cfg"
    return MCORE | {
        f"{group}.tensor_model_parallel_size": tp,
        f"{group}.pipeline_model_parallel_size": pp,
        f"{group}.context_parallel_size": cp,
        f"{group}.expert_model_parallel_size": ep,
    }


def common(
    model: str, vllm_tp: int, prompts: int, gens: int, batch: int, sequence: int, micro: int = 1
) -> dict[str, Any]:
    return {
        "policy.model_name": model,
        "policy.generation.vllm_cfg.tensor_parallel_size": vllm_tp,
        "grpo.num_prompts_per_step": prompts,
        "grpo.num_generations_per_prompt": gens,
        "policy.train_global_batch_size": batch,
        "policy.train_micro_batch_size": micro,
        "policy.logprob_batch_size": micro,
        "policy.max_total_sequence_length": sequence,
    }


def sequence_parallel(padding: int) -> dict[str, Any]:
    """What a mixture of experts needs at TP 2 and more."""
    return {"policy.megatron_cfg.sequence_parallel": True, "policy.make_sequence_length_divisible_by": padding}


#: 94 layers: eleven in the first and the last stage, twelve in each other.
STAGES = {
    "policy.megatron_cfg.num_layers_in_first_pipeline_stage": 11,
    "policy.megatron_cfg.num_layers_in_last_pipeline_stage": 11,
}
SAVED = {"policy.dtensor_cfg.activation_checkpointing": True}
APART = {
    "policy.generation.colocated.enabled": False,
    "policy.generation.colocated.resources.num_nodes": 1,
    "policy.generation.colocated.resources.gpus_per_node": 8,
}
LLAMA, QWEN7, QWEN32 = "meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-32B"

#: nemo-kuberay.md 1.7: nodes and values of NVIDIA's own recipes.
SHIPPED: dict[str, tuple[int, dict[str, Any]]] = {
    "grpo_math_8B 1n": (1, dtensor() | common(LLAMA, 1, 64, 32, 512, 4096)),
    "grpo_math_8B_megatron 1n": (1, megatron(pp=2) | common(LLAMA, 1, 64, 32, 512, 4096)),
    "grpo-qwen2.5-math-1.5b 1n": (1, dtensor() | common("Qwen/Qwen2.5-Math-1.5B-Instruct", 1, 32, 16, 512, 512, 4)),
    "grpo-gemma3-1b 1n": (1, dtensor() | common("google/gemma-3-1b-it", 1, 32, 16, 512, 512, 4)),
    "grpo-llama3.1-8b 2n": (2, megatron(pp=2) | common(LLAMA, 1, 64, 32, 2048, 4096)),
    "grpo-llama3.1-8b 2n apart": (2, dtensor() | APART | common(LLAMA, 1, 64, 32, 512, 4096)),
    "grpo-qwen2.5-7b 4n megatron": (4, megatron(tp=2) | common(QWEN7, 4, 64, 32, 512, 4096)),
    "grpo-qwen3-30ba3b 4n": (4, megatron(ep=8) | common("Qwen/Qwen3-30B-A3B", 2, 64, 32, 2048, 4096)),
    "grpo-qwen3-30ba3b 8n": (
        8,
        megatron(tp=4, pp=4, ep=4) | sequence_parallel(4) | common("Qwen/Qwen3-30B-A3B", 4, 64, 32, 512, 4096),
    ),
    "grpo-qwen3-32b 4n": (4, megatron(tp=4, pp=4) | common("Qwen/Qwen3-32B", 4, 64, 32, 2048, 4096)),
    "grpo_math_70B 8n": (
        8,
        megatron(tp=4, pp=4) | common("meta-llama/Llama-3.3-70B-Instruct", 8, 64, 32, 512, 4096),
    ),
    "grpo-gemma3-27b 8n": (8, SAVED | dtensor(tp=8) | common("google/gemma-3-27b-it", 4, 64, 32, 512, 16384)),
    "grpo-qwen2.5-32b 32n": (32, SAVED | dtensor(tp=8) | common(QWEN32, 4, 64, 32, 512, 16384)),
    "grpo-qwen3-235b 16n": (
        16,
        megatron(tp=2, pp=8, cp=2, ep=16)
        | sequence_parallel(8)
        | STAGES
        | common("Qwen/Qwen3-235B-A22B", 16, 16, 32, 512, 8192),
    ),
}


def job(nodes: int, overrides: dict[str, Any], machine: str = "h200", **workload: Any) -> Any:
    recipe = {"recipe": "grpo-qwen2.5-1.5b-gsm8k-smoke", "nodes": nodes, "overrides": overrides}
    return site(machine, nodes=nodes, workload=recipe | workload)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("release", ["v0.6.0", "v0.7.0"])
def test_shipped_shapes_pass(name: str, release: str) -> None:
    nodes, overrides = SHIPPED[name]
    found = findings(job(nodes, overrides, release=release))
    assert [f for f in found if f.rule != "cuda-driver"] == []


#: base recipe, change, rule, words of the message (the sum).
NEIGHBOURS: list[tuple[str, dict[str, Any], str, str]] = [
    ("grpo_math_8B 1n", {"policy.megatron_cfg.enabled": True}, "training-backend", "both are true"),
    ("grpo_math_8B 1n", {"policy.dtensor_cfg.enabled": False}, "training-backend", "both are false"),
    (
        "grpo_math_8B 1n",
        dtensor(tp=3),
        "model-parallel",
        "1 x 8 = 8 training GPUs is not divisible by `policy.dtensor_cfg.tensor_parallel_size` 3 x",
    ),
    (
        "grpo-qwen3-32b 4n",
        megatron(tp=8, pp=8),
        "model-parallel",
        "`policy.megatron_cfg.pipeline_model_parallel_size` 8 x `policy.megatron_cfg.context_parallel_size` 1 = 64",
    ),
    (
        "grpo-qwen3-30ba3b 4n",
        megatron(ep=64),
        "model-parallel",
        "expert_model_parallel_size` 64 x `policy.megatron_cfg.expert_tensor_parallel_size` 1 = 64",
    ),
    (
        "grpo_math_8B 1n",
        {"policy.train_global_batch_size": 511},
        "batch-size",
        "data parallel = 8 / (1 x 1 x 1) = 8; `policy.train_global_batch_size` 511 is not divisible by 8",
    ),
    (
        "grpo-llama3.1-8b 2n apart",
        {"policy.train_global_batch_size": 511},
        "batch-size",
        "data parallel = 8 / (1 x 1 x 1) = 8 (of 16 GPUs, 8 generate)",
    ),
    (
        "grpo_math_8B 1n",
        {"grpo.num_prompts_per_step": 60},
        "batch-size",
        "32 = 1920 samples are not divisible by `policy.train_global_batch_size` 512",
    ),
    (
        "grpo_math_8B 1n",
        {"grpo.num_prompts_per_step": 1, "grpo.num_generations_per_prompt": 12, "policy.train_global_batch_size": 12},
        "batch-size",
        "12 samples are not divisible by 8",
    ),
    (
        "grpo_math_8B 1n",
        {"policy.generation.vllm_cfg.tensor_parallel_size": 3},
        "generation-parallel",
        "8 generating GPUs are not divisible by `policy.generation.vllm_cfg.tensor_parallel_size` 3 x",
    ),
    (
        "grpo_math_8B 1n",
        {"policy.generation.vllm_cfg.pipeline_parallel_size": 2},
        "generation-parallel",
        "pipeline_parallel_size` is 2, which needs `policy.generation.vllm_cfg.async_engine` true",
    ),
    (
        "grpo-qwen3-30ba3b 4n",
        {"policy.generation.vllm_cfg.expert_parallel_size": 3},
        "generation-parallel",
        "expert_parallel_size` is 3, which is no multiple of `policy.generation.vllm_cfg.tensor_parallel_size` 2",
    ),
    (
        "grpo-qwen3-30ba3b 4n",
        {"policy.generation.vllm_cfg.expert_parallel_size": 8, "policy.generation.vllm_cfg.async_engine": True},
        "generation-parallel",
        "excludes `policy.generation.vllm_cfg.async_engine` true",
    ),
    ("grpo_math_8B 1n", {"policy.dynamic_batching.enabled": True}, "sequence-batching", "are both true"),
    (
        "grpo-qwen3-235b 16n",
        {"policy.sequence_packing.enabled": False},
        "sequence-batching",
        "`policy.sequence_packing.enabled` is false, and `policy.megatron_cfg.context_parallel_size` 2 needs it true",
    ),
    (
        "grpo-qwen3-32b 4n",
        {"policy.sequence_packing.enabled": False, "policy.dynamic_batching.enabled": True},
        "sequence-batching",
        "needs pipeline parallel 1, and it is 4",
    ),
    (
        "grpo-gemma3-27b 8n",
        {"policy.logprob_batch_size": 2},
        "logprob-micro-batch",
        "`policy.logprob_batch_size` is 2: at TP 8 it must be `policy.train_micro_batch_size` 1",
    ),
    (
        "grpo_math_8B 1n",
        {"policy.generation.colocated.enabled": False},
        "generation-split",
        "gpus_per_node` is null; on one node it must be 1 to 7 of 8 GPUs",
    ),
    (
        "grpo_math_8B 1n",
        {"policy.generation.colocated.enabled": False, "policy.generation.colocated.resources.gpus_per_node": 8},
        "generation-split",
        "is 8; on one node it must be 1 to 7",
    ),
    (
        "grpo_math_8B 1n",
        {
            "policy.generation.colocated.enabled": False,
            "policy.generation.colocated.resources": {"gpus_per_node": 4, "num_nodes": 2},
        },
        "generation-split",
        "num_nodes` is 2; on one node it must be null or 1",
    ),
    (
        "grpo-llama3.1-8b 2n apart",
        {"policy.generation.colocated.resources.num_nodes": 2},
        "generation-split",
        "num_nodes` is 2; it must be 1 to 1 of 2 nodes",
    ),
    (
        "grpo-llama3.1-8b 2n apart",
        {"policy.generation.colocated.resources.num_nodes": None},
        "generation-split",
        "num_nodes` is null; it must be 1 to 1 of 2 nodes",
    ),
    (
        "grpo-llama3.1-8b 2n apart",
        {"policy.generation.colocated.resources.gpus_per_node": 4},
        "generation-split",
        "gpus_per_node` is 4; on several nodes it must be `cluster.gpus_per_node`, 8",
    ),
    ("grpo_math_8B 1n", {"grpo.async_grpo.enabled": True}, "async-grpo", "false: generation apart from training"),
    (
        "grpo-llama3.1-8b 2n apart",
        {"grpo.async_grpo.enabled": True, "loss_fn.use_importance_sampling_correction": True},
        "async-grpo",
        "`policy.generation.vllm_cfg.async_engine` is false, and `grpo.async_grpo.enabled` needs it true",
    ),
    (
        "grpo-llama3.1-8b 2n apart",
        {"grpo.async_grpo.enabled": True, "grpo.use_dynamic_sampling": True},
        "async-grpo",
        "`grpo.use_dynamic_sampling` is true, and `grpo.async_grpo.enabled` excludes it",
    ),
    (
        "grpo_math_8B 1n",
        {"policy.generation.vllm_cfg.precision": "fp8"},
        "fp8-generation",
        "`loss_fn.use_importance_sampling_correction` is false, and `policy.generation.vllm_cfg.precision` fp8",
    ),
    (
        "grpo_math_8B 1n",
        {"policy.generation.vllm_cfg.kv_cache_dtype": "fp8"},
        "fp8-generation",
        "kv_cache_dtype` is fp8, and needs `policy.megatron_cfg.enabled`",
    ),
    (
        "grpo_math_8B 1n",
        {"data.validation": None},
        "validation-set",
        "`grpo.val_period` is 10: there is no validation set",
    ),
    (
        "grpo_math_8B 1n",
        {"data.validation": None, "grpo.val_period": -1, "grpo.val_at_start": True},
        "validation-set",
        "`grpo.val_at_start` is true: there is no validation set",
    ),
    ("grpo_math_8B 1n", {"grpo.num_prompts_per_step": 7474}, "sampling", "7474 is more than the 7473 rows"),
    (
        "grpo_math_8B 1n",
        {"grpo.batch_multiplier": 2},
        "sampling",
        "is 2, and `grpo.use_dynamic_sampling`, which it needs, is false",
    ),
    (
        "grpo_math_8B 1n",
        {"cluster.num_nodes": 2},
        "cluster-shape",
        "`cluster.num_nodes` 2 x 8 = 16 GPUs, and 1 workers have 8",
    ),
    (
        "grpo_math_8B 1n",
        {"cluster.gpus_per_node": 4},
        "cluster-shape",
        "`cluster.gpus_per_node` is 4, and each worker has 8 GPUs",
    ),
    (
        "grpo_math_8B 1n",
        {"checkpointing.checkpoint_dir": "results/grpo"},
        "shared-folders",
        "`results/grpo` is not under /data",
    ),
    (
        "grpo_math_8B 1n",
        {"checkpointing.checkpoint_dir": "gs://bucket/x"},
        "shared-folders",
        "`gs://bucket/x` is not under /data",
    ),
    ("grpo_math_8B 1n", {"checkpointing.checkpoint_dir": "/database/x"}, "shared-folders", "is not under /data"),
]


@pytest.mark.parametrize(("base", "change", "rule", "words"), NEIGHBOURS)
def test_neighbours_fail_with_the_sum(base: str, change: dict[str, Any], rule: str, words: str) -> None:
    nodes, overrides = SHIPPED[base]
    found = [f for f in findings(job(nodes, overrides | change)) if f.rule == rule]
    assert found, slugs(job(nodes, overrides | change))
    assert any(words in f.message for f in found), [f.message for f in found]
    assert all(f.severity is Severity.ERROR and f.hint for f in found)
    assert all(f.path[0] == "workload" for f in found)


def test_the_issues_own_example() -> None:
    """16 GPUs at TP 8 are two copies; 511 does not divide over them."""
    change = dtensor(tp=8) | {"policy.train_global_batch_size": 511}
    found = findings(job(2, SHIPPED["grpo_math_8B 1n"][1] | change))
    assert any(
        "data parallel = 16 / (8 x 1 x 1) = 2; `policy.train_global_batch_size` 511 is not divisible by 2" in f.message
        for f in found
    )


def test_the_bypass_of_nvidias_own_launches() -> None:
    nodes, overrides = SHIPPED["grpo-gemma3-27b 8n"]
    different = overrides | {"policy.logprob_batch_size": 2}
    assert "logprob-micro-batch" in slugs(job(nodes, different))
    for text in ("1", "true", "0"):  # NeMo RL asks whether there is any
        bypass = {"NRL_IGNORE_TP_ACCURACY_CHECK": text}
        assert "logprob-micro-batch" not in slugs(job(nodes, different, environment=bypass))
    assert "logprob-micro-batch" in slugs(job(nodes, different, environment={"NRL_IGNORE_TP_ACCURACY_CHECK": ""}))
    one_batch = {"loss_fn.force_on_policy_ratio": True, "policy.train_global_batch_size": 2048}
    assert "logprob-micro-batch" not in slugs(job(nodes, different | one_batch))


def test_async_grpo_whole() -> None:
    nodes, overrides = SHIPPED["grpo-llama3.1-8b 2n apart"]
    whole = {
        "grpo.async_grpo.enabled": True,
        "policy.generation.vllm_cfg.async_engine": True,
        "loss_fn.use_importance_sampling_correction": True,
    }
    assert "async-grpo" not in slugs(job(nodes, overrides | whole))


def test_a_finding_points_at_the_override() -> None:
    (found,) = [f for f in findings(job(1, {"policy": {"train_global_batch_size": 511}})) if f.rule == "batch-size"][:1]
    assert found.path == ("workload", "overrides", "policy", "train_global_batch_size")


@pytest.mark.parametrize("machine", ["b200", "h200"])
def test_32b_at_tp_1_is_warned_of(machine: str) -> None:
    """NVIDIA-NeMo/RL#1974: 32B with DTensor at TP 1 on 16 B200 died in training without an error."""
    found = findings(job(2, dtensor() | common(QWEN32, 1, 64, 32, 512, 4096), machine))
    (fit,) = [f for f in found if f.rule == "model-fit"]
    assert fit.severity is Severity.WARNING
    assert "32.8B" in fit.message


def test_the_estimate_shows_its_parts() -> None:
    """70B with DTensor on one node: 70.6 x 16 / 8 = 141 GB of states alone, an error."""
    found = findings(job(1, dtensor(tp=8) | common("meta-llama/Llama-3.3-70B-Instruct", 8, 64, 32, 512, 4096)))
    (fit,) = [f for f in found if f.rule == "model-fit"]
    assert fit.severity is Severity.ERROR
    assert "weights 35 + optimizer 71 + gradients 35 + " in fit.message
    assert "a GPU of a3-ultragpu-8g has 141 GB" in fit.message


def test_vllm_needs_room_for_its_cache() -> None:
    """70B at TP 1: 141 GB of weights in 0.6 x 141 = 85 GB."""
    found = findings(job(8, megatron(tp=4, pp=4) | common("meta-llama/Llama-3.3-70B-Instruct", 1, 64, 32, 512, 4096)))
    (fit,) = [f for f in found if f.rule == "model-fit"]
    assert "70.6B / (TP 1 x PP 1) = 141 GB of weights per GPU, of 85 GB" in fit.message


TEACHERS = "on_policy_distillation.non_colocated_teachers"


def test_teachers_have_nodes_of_their_own() -> None:
    """Two aliases of one checkpoint are one teacher, unless they are not to be put together."""
    nodes, overrides = SHIPPED["grpo-qwen3-32b 4n"]
    teachers = {
        "+on_policy_distillation.enabled": True,
        "+on_policy_distillation.teacher_model_by_agent_name.math": "a/b",
        "+on_policy_distillation.teacher_model_by_agent_name.code": "a/b",
        f"+{TEACHERS}.enabled": True,
        f"+{TEACHERS}.default_teacher_cfg.num_nodes": 2,
    }

    def errors(nodes: int, overrides: dict[str, Any]) -> set[str]:
        return {f.rule for f in findings(job(nodes, overrides, release="v0.7.0")) if f.severity is Severity.ERROR}

    assert errors(nodes + 2, overrides | teachers) == set()
    assert errors(nodes + 1, overrides | teachers) == {"model-parallel"}
    apart = {"+on_policy_distillation.deduplicate_shared_teacher_checkpoints": False}
    assert errors(nodes + 4, overrides | teachers | apart) == set()
    own = {f"+{TEACHERS}.teacher_overrides.code.num_nodes": 1}
    assert errors(nodes + 3, overrides | teachers | apart | own) == set()
