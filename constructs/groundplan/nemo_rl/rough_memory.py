"""Will the model fit? Estimates of GPU memory, in GB (10^9 bytes) per GPU, rough on purpose and shown in full.

Training holds weights, gradients and Adam's two moments. DTensor (FSDP2) keeps all four in 32 bits, 16 bytes a
parameter, spread over all training GPUs. Megatron keeps 16-bit weights and 32-bit gradients of its own part, 6 bytes a
parameter over TP x PP (experts: EP x ETP x PP), and 12 bytes of optimizer state spread over all. The parameters of a
mixture that one token does not pass are taken for its experts'. Activations follow from tokens, width
and depth of a dense transformer of that size (width^3 = parameters / 0.12, depth = width / 100); with checkpointing one
layer at a time. Logits are tokens x vocabulary, three 32-bit copies. vLLM holds 16-bit weights within its share of the
memory, and a cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from groundplan.nemo_rl.config import Config
from groundplan.nemo_rl.shape import Shape

#: Words of a large vocabulary.
VOCABULARY = 152_000
#: Bytes that one token leaves in one layer, per unit of width, when activations are kept (16-bit, flash attention).
KEPT, CHECKPOINTED = 34, 2
#: GB that CUDA, NCCL and the allocator take.
OVERHEAD_GB = 6.0
#: Billions of parameters of one DTensor rank above which a report tells of a silent end: 32B at TP 1 on 16 B200, in
#: v0.5.0's time (NVIDIA-NeMo/RL#1974). NVIDIA could not repeat it, and ships 128B at TP 1 from v0.7.0 on.
DTENSOR_LIMIT = 16.0
#: Least share of vLLM's memory that must remain for its cache.
CACHE_SHARE = 0.1


@dataclass(frozen=True)
class Fit:
    """Estimates in GB per GPU. `training` is the sum of its three parts and the overhead."""

    states: float
    activations: float
    logits: float
    generation: float
    generation_budget: float

    @property
    def training(self) -> float:
        """GB on a training GPU."""
        return self.states + self.activations + self.logits + OVERHEAD_GB

    @property
    def sum(self) -> str:
        """The sum, for a message."""
        return (
            f"weights, gradients and optimizer {self.states:.0f} + activations {self.activations:.0f}"
            f" + logits {self.logits:.0f} + CUDA {OVERHEAD_GB:.0f} = {self.training:.0f} GB"
        )


def estimate(billions: float, active: float, shape: Shape, config: Config, memory_gb: int) -> Fit:
    """GB per GPU that a model of that many billions of parameters, and active ones, will need."""
    width = (active * 1e9 / 0.12) ** (1 / 3)
    depth = width / 100
    tokens = shape.micro_batch * shape.sequence / shape.cp
    saved = config.on(f"policy.{shape.backend}_cfg.activation_checkpointing")
    layers = CHECKPOINTED * depth + KEPT if saved else KEPT * depth
    share = config.get("policy.generation.vllm_cfg.gpu_memory_utilization")
    width_bytes = 1 if config.get("policy.generation.vllm_cfg.precision") == "fp8" else 2
    return Fit(
        states=_states(billions, min(active, billions), shape),
        activations=tokens * width * layers / shape.tp / 1e9,
        logits=tokens * VOCABULARY * 4 * 3 / shape.tp / 1e9,
        generation=billions * width_bytes / (shape.vllm_tp * shape.vllm_pp),
        generation_budget=memory_gb * (share if isinstance(share, int | float) and 0 < share <= 1 else 0.6),
    )


def rank_billions(billions: float, active: float, shape: Shape) -> float:
    """Billions of parameters that one rank is given: experts by expert parallel size, the rest by tensor parallel."""
    experts = (billions - active) / (shape.ep * (shape.etp if shape.backend == "megatron" else shape.tp))
    return active / shape.tp + experts


def _states(billions: float, active: float, shape: Shape) -> float:
    gpus = max(shape.training_gpus, 1)
    if shape.backend == "megatron":
        return rank_billions(billions, active, shape) / shape.pp * 6 + billions * 12 / gpus
    return billions * 16 / gpus
