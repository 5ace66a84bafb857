"""What is trained, on what, and how: everything that the forecast rests on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from groundplan.nemo_rl.models import ModelShape


@dataclass(frozen=True, kw_only=True)
class Job:
    """One training. Sizes in GPUs, sequences and tokens; Adam in float32 moments unless `adam` is off."""

    model: ModelShape
    gpus: int
    backend: str = "dtensor"
    """``dtensor`` or ``megatron``."""
    tp: int = 1
    pp: int = 1
    cp: int = 1
    ep: int = 1
    etp: int = 1
    micro_batch: int = 1
    sequence: int = 4096
    checkpointing: bool = False
    sequence_parallel: bool = False
    micro_batches: int = 1
    """Micro batches of one optimizer step: from the second on, gradients lie beside the forward pass."""
    lora: int = 0
    """Rank of the adapters; 0 trains all parameters."""
    foreach: bool = True
    """AdamW works on all parameters at once, torch's default on GPUs; else one after another."""
    cpu_offload: bool = False
    """Master weights, gradients and moments lie in host memory (DTensor)."""
    optimizer_offload: float = 0.0
    """Share of the optimizer's states in host memory (Megatron)."""
    logprob_chunk: int = 0
    """Tokens of which log-probabilities are made at a time; 0: all."""
    distributed_optimizer: bool = True
    """Megatron spreads the optimizer's states over the copies of the model."""
    gradients_float32: bool = False
    """Megatron's gradient buffer is float32."""
    colocated: bool = False
    """vLLM sleeps on the same GPU."""
    frozen_router: bool = False

    @property
    def tokens(self) -> int:
        """Tokens of one micro batch on one rank."""
        return max(self.micro_batch * self.sequence // self.cp, 1)

    @property
    def data_parallel(self) -> int:
        """Copies of the model; at least 1."""
        return max(self.gpus // (self.tp * self.pp * self.cp), 1)

    def but(self, **changes: Any) -> Job:
        """The same with other values."""
        return replace(self, **changes)
