"""vLLM's side of a GPU: weights, room for the cache, and what stays when it sleeps. Not measured.

vLLM takes `gpu_memory_utilization` of the whole GPU: its weights, its working memory, and the rest as cache of keys
and values. Between generations it sleeps: the cache is dropped and the weights lie in host memory, while the CUDA
context and the captured graphs stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from groundplan.nemo_rl.memory.parameters import count
from groundplan.nemo_rl.models import ModelShape

#: Bytes that vLLM's context, graphs and working memory take while it generates, and what of them stays asleep.
WORKING, ASLEEP = 4e9, 3e9
#: Least share of vLLM's memory that must remain for its cache.
CACHE_SHARE = 0.1


@dataclass(frozen=True)
class Generation:
    """Bytes on one generating GPU; `budget` is what vLLM may take."""

    weights: float
    budget: float
    token: float
    """A token's keys and values."""

    @property
    def cache(self) -> float:
        """What is left for the cache; below 0 when the weights do not fit."""
        return self.budget - self.weights - WORKING

    @property
    def cached_tokens(self) -> int:
        """Tokens that the cache holds."""
        return max(int(self.cache / self.token), 0) if self.token else 0


def generation(
    model: ModelShape,
    memory: float,
    utilization: float,
    ranks: int,
    tp: int,
    weight_bytes: float = 2,
    cache_bytes: float = 2,
) -> Generation:
    """vLLM on a GPU of `memory` bytes, a model over `ranks` GPUs of which `tp` divide the heads."""
    attention = model.mixers.get("attention", model.layers) * tp / ranks
    if model.latent:
        elements = model.latent["kv"] + model.latent["rotary"]
    else:
        elements = 2 * max(model.kv_heads // tp, 1) * model.head_size
    return Generation(
        weights=count(model).total * weight_bytes / ranks,
        budget=memory * utilization,
        token=attention * elements * cache_bytes,
    )
