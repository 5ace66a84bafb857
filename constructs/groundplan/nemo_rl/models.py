"""The numbers of a model that decide whether a parallel size fits: ``catalog/models.yaml`` as a type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from groundplan.catalog import shipped


@dataclass(frozen=True)
class ModelShape:
    """Numbers of a model's config.json. `length` is its longest sequence in tokens; 0: not known."""

    architecture: str
    heads: int
    kv_heads: int
    layers: int
    vocabulary: int
    length: int = 0
    experts: int = 0
    shared_experts: bool = False
    hybrid: bool = False


def model_shape(name: str) -> ModelShape | None:
    """The numbers of a Hugging Face model; None when they are not known."""
    entry: dict[str, Any] | None = shipped("models")["models"].get(name)
    return ModelShape(**entry) if entry is not None else None
