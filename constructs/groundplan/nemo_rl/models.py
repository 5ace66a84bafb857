"""The numbers of a model that decide whether a parallel size fits: ``catalog/models.yaml`` as a type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from groundplan.catalog import shipped


@dataclass(frozen=True)
class ModelShape:
    """Numbers of a model's config.json. `length` is its longest sequence in tokens; 0: not known.

    The fields from `parameters` on are for the memory forecast; ``catalog/models.yaml`` says what each is.
    """

    architecture: str
    heads: int
    kv_heads: int
    layers: int
    vocabulary: int
    length: int = 0
    experts: int = 0
    shared_experts: bool = False
    hybrid: bool = False
    parameters: int = 0
    hidden: int = 0
    head_size: int = 0
    intermediate: int = 0
    tied: bool = False
    window: int = 0
    active_experts: int = 0
    expert_width: int = 0
    shared_width: int = 0
    expert_hidden: int = 0
    dense_layers: int = 0
    latent: Mapping[str, int] = field(default_factory=dict)
    mixers: Mapping[str, int] = field(default_factory=dict)
    mamba: Mapping[str, int] = field(default_factory=dict)
    delta: Mapping[str, int] = field(default_factory=dict)


def model_shape(name: str) -> ModelShape | None:
    """The numbers of a Hugging Face model; None when they are not known."""
    entry: dict[str, Any] | None = shipped("models")["models"].get(name)
    return ModelShape(**entry) if entry is not None else None
