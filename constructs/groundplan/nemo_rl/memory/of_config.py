"""A job of the forecast from a composed NeMo RL configuration."""

from __future__ import annotations

from groundplan.nemo_rl.config import VLLM, Config
from groundplan.nemo_rl.memory.generation import Generation, generation
from groundplan.nemo_rl.memory.job import Job
from groundplan.nemo_rl.models import ModelShape
from groundplan.nemo_rl.shape import Shape

#: vLLM's share of the GPU where the configuration names none that can be.
UTILIZATION = 0.6


def job_of(config: Config, shape: Shape, model: ModelShape) -> Job:
    """What the configuration trains. The backend is one of the two, and there are training GPUs."""
    group = f"policy.{shape.backend}_cfg"
    megatron = shape.backend == "megatron"
    adapters = f"{group}.peft" if megatron else f"{group}.lora_cfg"
    batch, sequence = _tokens(config, shape)
    share = config.get(f"{group}.optimizer.optimizer_offload_fraction")
    offloaded = megatron and config.on(f"{group}.optimizer.optimizer_cpu_offload")
    kwargs = "policy.optimizer.kwargs"
    return Job(
        model=model,
        gpus=shape.training_gpus,
        backend=shape.backend,
        tp=shape.tp,
        pp=shape.pp,
        cp=shape.cp,
        ep=shape.ep,
        etp=shape.etp,
        micro_batch=batch,
        sequence=sequence,
        checkpointing=config.on(f"{group}.activation_checkpointing"),
        sequence_parallel=config.on(f"{group}.sequence_parallel"),
        micro_batches=max(shape.global_batch // max(shape.data_parallel, 1) // shape.micro_batch, 1),
        lora=config.count(f"{adapters}.dim", 8) if config.on(f"{adapters}.enabled") else 0,
        foreach=config.get(f"{kwargs}.foreach") is not False and not config.on(f"{kwargs}.fused"),
        cpu_offload=not megatron and config.on(f"{group}.cpu_offload"),
        optimizer_offload=(float(share) if isinstance(share, int | float) and 0 <= share <= 1 else 1.0)
        if offloaded
        else 0.0,
        logprob_chunk=config.count("policy.logprob_chunk_size", 0) if megatron else 0,
        distributed_optimizer=config.get(f"{group}.optimizer.use_distributed_optimizer") is not False,
        gradients_float32=config.on(f"{group}.distributed_data_parallel_config.grad_reduce_in_fp32"),
        colocated=shape.colocated,
    )


def _tokens(config: Config, shape: Shape) -> tuple[int, int]:
    """Sequences of a micro batch and their length: one of the packed length where sequences are packed."""
    for group in ("policy.sequence_packing", "policy.dynamic_batching"):
        tokens = config.count(f"{group}.train_mb_tokens", 0)
        if config.on(f"{group}.enabled") and tokens:
            return 1, tokens
    return shape.micro_batch, shape.sequence


def generation_of(config: Config, shape: Shape, model: ModelShape, memory: float) -> Generation:
    """vLLM on one of the generating GPUs, which has `memory` bytes."""
    share = config.get(f"{VLLM}.gpu_memory_utilization")
    utilization = float(share) if isinstance(share, int | float) and 0 < share <= 1 else UTILIZATION
    weight_bytes = 1 if config.get(f"{VLLM}.precision") == "fp8" else 2
    cache_bytes = 1 if config.text(f"{VLLM}.kv_cache_dtype").startswith("fp8") else 2
    ranks = shape.vllm_tp * shape.vllm_pp
    return generation(model, memory, utilization, ranks, shape.vllm_tp, weight_bytes, cache_bytes)
