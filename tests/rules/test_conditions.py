"""NeMo RL's conditions: for each one a configuration that breaks it, by release, and a near twin that does not."""

from __future__ import annotations

from rules.support import Case
from rules.test_job import APART, LLAMA, TOKEN, UNPACKED, VLLM, at, over

MEGATRON, QWEN, GEMMA = "grpo-llama3.1-8b-megatron", "grpo-qwen3-32b-megatron", "grpo-gemma3-27b-gsm8k"
M, D, G = "policy.megatron_cfg", "policy.dtensor_cfg", "policy.generation"
MOE = {"policy.model_name": "Qwen/Qwen3-30B-A3B"}
TP_TWO = {f"{M}.tensor_model_parallel_size": 2, f"{M}.pipeline_model_parallel_size": 1}
CP_TWO = {f"{D}.context_parallel_size": 2, **UNPACKED}
ASYNC = {
    **APART,
    f"{G}.colocated.resources.num_nodes": 1,
    f"{VLLM}.async_engine": True,
    "loss_fn.use_importance_sampling_correction": True,
}
GYM = {"++env.should_use_nemo_gym": True, f"{VLLM}.async_engine": True, f"++{VLLM}.expose_http_server": True}
REWARD = {
    "++env.reward_model.enabled": True,
    "++env.reward_model.reward_model_cfg.enabled": True,
    "++env.reward_model.reward_model_cfg.reward_model_type": "bradley_terry",
    "++env.reward_model.dtensor_cfg.enabled": True,
    "++env.reward_model.resources.gpus_per_node": 4,
}
TRUNCATED = "loss_fn.truncated_importance_sampling"
CORRECTED = {"loss_fn.use_importance_sampling_correction": True}


def case(
    name: str, rule: str, key: str, wrong: dict, right: dict, recipe: str = "", says: str = "", **workload
) -> Case:
    """Condition `name` is broken at `key` by `wrong`; `right` are the same keys as they pass."""
    severity = workload.pop("severity", "error")
    base, key = workload.pop("base", {}), workload.pop("where", key)
    chosen = {"recipe": recipe} if recipe else {}
    trips, passes = (over({**base, **keys}, **chosen, **workload) for keys in (wrong, right))
    words = (f"condition {name} of NeMo RL", workload.get("release", "v0.6.0"), *([says] if says else []))
    return Case(rule, {**trips, **TOKEN}, {**passes, **TOKEN}, at(key), words, severity)


def of(rule: str, rows: list[tuple]) -> list[Case]:
    return [case(name, rule, key, wrong, right, **more) for name, key, wrong, right, more in rows]


def _row(name: str, key: str, wrong: object, right: object, **more) -> tuple:
    return (name, key, {key: wrong}, {key: right}, more)


_LOADERS = {"data.use_multiple_dataloader": True}
_DYNAMIC = {"grpo.use_dynamic_sampling": True}
_OPTIMIZER = f"{M}.optimizer"

CASES = [
    *of(
        "step-batches",
        [
            _row("A5", "policy.logprob_batch_size", 3, 2, base=UNPACKED),
            _row("A7", "loss_fn.force_on_policy_ratio", True, False, base={"grpo.num_prompts_per_step": 64}),
            _row("A10", "++data.num_prompts_per_dataloader", 5, 4, base=_LOADERS),
            _row("A11", "grpo.dynamic_sampling_max_gen_batches", 0, 10, base=_DYNAMIC),
            _row("A12", "grpo.batch_multiplier", 300, 2, base=_DYNAMIC, says="7473 rows"),
            _row("I2", "grpo.max_val_samples", 128, 256, says="accuracy is 0.0"),
            _row("I2", "grpo.val_batch_size", 512, 256, says="accuracy is 0.0", release="v0.7.0"),
        ],
    ),
    *of(
        "parallel-fit",
        [
            _row("B3", f"{M}.expert_model_parallel_size", 2, 1, recipe=MEGATRON, says="no experts"),
            _row(
                "B4",
                f"{M}.sequence_parallel",
                False,
                True,
                recipe=MEGATRON,
                base={**MOE, **TP_TWO, "policy.make_sequence_length_divisible_by": 2},
            ),
            _row("B5", f"{M}.sequence_parallel", True, False, recipe=MEGATRON),
            _row(
                "B6",
                f"{M}.tensor_model_parallel_size",
                8,
                4,
                recipe=MEGATRON,
                base={
                    "policy.model_name": "Qwen/Qwen2.5-7B",
                    f"{M}.pipeline_model_parallel_size": 1,
                    "policy.logprob_batch_size": 1,
                },
            ),
            _row(
                "B7",
                f"{M}.pipeline_model_parallel_size",
                8,
                4,
                recipe=MEGATRON,
                base={"policy.model_name": "Qwen/Qwen2.5-7B"},
            ),
            _row("B8", f"{D}.tensor_parallel_size", 4, 2, says="2 KV heads"),
            _row("B9", f"++{D}.expert_parallel_size", 3, 2),
            _row("B9", f"++{D}.dp_replicate_size", 3, 2, release="v0.7.0"),
            _row(
                "B10",
                f"{D}.sequence_parallel",
                True,
                False,
                base={
                    "policy.model_name": "microsoft/phi-4",
                    f"{D}.tensor_parallel_size": 2,
                    f"{D}._v2": False,
                    "checkpointing.model_save_format": None,
                },
                says="Phi3ForCausalLM",
            ),
            _row("B12", "cluster.segment_size", 3, 2, release="v0.7.0", nodes=2),
            _row("F4", f"{VLLM}.tensor_parallel_size", 8, 4, says="12 attention heads"),
        ],
    ),
    *of(
        "sequence-fit",
        [
            _row("C4", f"{D}.context_parallel_size", 2, 1, base={"policy.sequence_packing.enabled": True}),
            _row(
                "C5",
                f"{D}.sequence_parallel",
                True,
                False,
                base={**CP_TWO, f"{D}.tensor_parallel_size": 2},
            ),
            _row("C6", f"{D}.context_parallel_size", 2, 1, recipe=GEMMA, says="Gemma 3"),
            _row(
                "C7",
                f"{D}.context_parallel_size",
                2,
                1,
                base={**UNPACKED, "policy.model_name": "Qwen/Qwen2.5-VL-3B-Instruct"},
            ),
            _row(
                "C8",
                "policy.sequence_packing.enabled",
                True,
                False,
                base={"policy.model_name": "Qwen/Qwen2.5-VL-3B-Instruct"},
            ),
            _row(
                "C9",
                "policy.make_sequence_length_divisible_by",
                2,
                4,
                recipe=QWEN,
                nodes=2,
                base={f"{M}.pipeline_model_parallel_size": 2},
            ),
            _row("C10", "policy.sequence_packing.train_mb_tokens", 512, 1024, severity="warning"),
            _row(
                "C12",
                f"++{D}.automodel_kwargs.attn_implementation",
                "sdpa",
                "flash_attention_2",
                release="v0.7.0",
            ),
            _row(
                "C13",
                "policy.max_total_sequence_length",
                4094,
                4096,
                recipe=MEGATRON,
                severity="warning",
                base={f"{M}.context_parallel_size": 2, "policy.make_sequence_length_divisible_by": 4},
            ),
        ],
    ),
    *of(
        "backend-options",
        [
            _row("D2", f"{_OPTIMIZER}.bf16", False, True, recipe=MEGATRON),
            _row("D3", f"{_OPTIMIZER}.optimizer_cpu_offload", True, False, recipe=MEGATRON),
            _row(
                "D4", f"{M}.defer_fp32_logits", False, True, recipe=MEGATRON, base={"policy.logprob_chunk_size": 1024}
            ),
            _row(
                "D5",
                f"{M}.fp8_cfg.enabled",
                True,
                False,
                recipe=MEGATRON,
                base={f"~{M}.fp8_cfg.fp8_recipe": None},
                where=f"~{M}.fp8_cfg.fp8_recipe",
                release="v0.7.0",
            ),
            _row(
                "D6",
                f"{M}.recompute_modules",
                ["attention"],
                ["core_attn"],
                recipe=MEGATRON,
                release="v0.7.0",
                base={f"{M}.recompute_granularity": "selective"},
            ),
            _row("D8", f"{M}.moe_enable_deepep", True, False, recipe=MEGATRON, base=MOE),
            _row("D9", f"{M}.moe_router_load_balancing_type", "aux_loss", "none", recipe=MEGATRON, base=MOE),
            _row("D10", "policy.draft.enabled", True, False),
            _row("D11", "++policy.hf_config_overrides.rope_scaling.rope_type", "yarn", "linear"),
            _row(
                "D12",
                "policy.scheduler",
                [{"kwargs": {}}],
                [{"name": "torch.optim.lr_scheduler.ConstantLR", "kwargs": {}}],
            ),
            _row(
                "E1",
                f"{D}.lora_cfg.enabled",
                True,
                False,
                base={f"{D}._v2": False, "checkpointing.model_save_format": None},
            ),
            _row(
                "E2",
                f"{D}.lora_cfg.use_triton",
                True,
                False,
                base={f"{D}.lora_cfg.enabled": True, f"{D}.tensor_parallel_size": 2},
            ),
            _row("E3", f"{M}.peft.dim", None, 8, recipe=MEGATRON, base={f"{M}.peft.enabled": True}),
        ],
    ),
    *of(
        "generation-options",
        [
            _row("F5", f"{G}.top_k", 0, 50),
            _row("F5", f"{G}.top_p", 0.95, 0.99, release="v0.5.0"),
            _row("F9", f"{VLLM}.max_model_len", 200000, 131072, recipe=LLAMA, says="131072"),
            _row("F12", "++env.reward_model.resources.gpus_per_node", 8, 4, base=REWARD),
            _row(
                "F13",
                f"{G}.backend",
                "megatron",
                "vllm",
                recipe=MEGATRON,
                base={**APART, f"{G}.colocated.resources.num_nodes": 1},
            ),
            _row("F14", f"{G}.backend", "sglang", "vllm", base={**APART, f"{G}.colocated.resources.gpus_per_node": 4}),
            _row("F15", f"{VLLM}.vllm_metrics_logger_interval", 0, 0.5, base={f"{VLLM}.async_engine": True}),
            _row("F16", "++policy.router_replay.enabled", True, False, release="v0.7.0"),
            _row(
                "G3",
                "data_plane.enabled",
                True,
                False,
                recipe=MEGATRON,
                release="v0.7.0",
                base={**ASYNC, **MOE, "grpo.async_grpo.enabled": True, "++policy.router_replay.enabled": True},
            ),
        ],
    ),
    *of(
        "loss-options",
        [
            _row("H1", "loss_fn.sequence_level_importance_ratios", True, False),
            _row("H2", "loss_fn.ratio_clip_c", 1, 3),
            _row("H3", f"{TRUNCATED}_ratio", 0, 2, base=CORRECTED),
            _row("H3", f"{TRUNCATED}_type", "tis", None, release="v0.7.0", base=CORRECTED, says="above 0"),
            _row("H4", "loss_fn.use_cispo", True, False, release="v0.7.0", base={"loss_fn.ratio_clip_c": 3}),
            _row("H5", "++grpo.skip_reference_policy_logprobs_calculation", True, False),
            _row(
                "H7", "grpo.reward_shaping.overlong_buffer_penalty", -1, 1, base={"grpo.reward_shaping.enabled": True}
            ),
            _row("H8", "grpo.invalid_tool_call_advantage", -1.0, None, release="v0.7.0"),
        ],
    ),
    *of(
        "data-options",
        [
            _row(
                "I5",
                "++data.train.subset",
                "main",
                None,
                base={"data.train.dataset_name": "ResponseDataset", "++data.train.data_path": "/data/x.jsonl"},
            ),
            (
                "I3",
                "~data.use_multiple_dataloader",
                {"~data.use_multiple_dataloader": None},
                {"data.use_multiple_dataloader": False},
                {},
            ),
            _row("I6", "data.default.prompt_file", "/prompts/cot.txt", "/data/cot.txt", severity="warning"),
            _row("I7", "data.default.env_name", "code", "math"),
            _row("I8", "policy.tokenizer.chat_template_kwargs", "enable_thinking", None),
            _row("I10", "env.math.num_workers", 0, 8),
            _row("I11", "++env.reward_model.reward_model_cfg.reward_model_type", "other", "bradley_terry", base=REWARD),
            _row("I12", f"++{VLLM}.expose_http_server", False, True, base=GYM),
        ],
    ),
    *of(
        "checkpoint-options",
        [
            _row("J1", "checkpointing.metric_name", "accuracy", "val:accuracy"),
            _row("J1", "checkpointing.metric_name", "val:reward", "val:avg_length"),
            _row("J2", "grpo.val_period", -1, 10, severity="warning"),
            _row("J3", "checkpointing.keep_top_k", 0, 1),
            _row("J4", "checkpointing.checkpoint_must_save_by", "03:45:00", "00:03:45:00"),
            _row("J5", f"{D}._v2", False, True),
            _row("J5", "checkpointing.model_save_format", "safetensors", None, recipe=GEMMA, release="v0.5.0"),
            _row(
                "J7",
                "++policy.pretrained_checkpoint.path",
                None,
                "/data/x",
                recipe=MEGATRON,
                release="v0.7.0",
                base={"++policy.pretrained_checkpoint.format": "megatron_lm"},
            ),
        ],
    ),
    Case(
        "tokenizer-model",
        over({"policy.tokenizer.name": "meta-llama/Llama-3.1-8B-Instruct"}),
        over({"policy.tokenizer.name": "Qwen/Qwen2.5-1.5B-Instruct"}),
        at("policy.tokenizer.name"),
        ("vocabulary of 128256", "`policy.tokenizer.name: Qwen/Qwen2.5-1.5B`"),
    ),
    Case(
        "first-worker",
        over({f"{D}._v2": False, "checkpointing.model_save_format": None}, release="v0.8.0"),
        over({f"{D}._v2": False, "checkpointing.model_save_format": None}, release="v0.7.0"),
        at(f"{D}._v2"),
        ("v0.8.0", "PR 4207", f"`{D}._v2: true`"),
        "warning",
    ),
    Case(
        "checkpoint-deadline",
        over({"checkpointing.checkpoint_must_save_by": "01:00:00:00"}),
        over({"checkpointing.checkpoint_must_save_by": "00:23:30:00"}),
        at("checkpointing.checkpoint_must_save_by"),
        ("deadline_hours 24", "00:23:00:00"),
        "warning",
    ),
]
