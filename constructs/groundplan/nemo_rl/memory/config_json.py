"""A model by its own ``config.json``, as Hugging Face's Transformers writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from findings import UserError
from groundplan.nemo_rl.models import ModelShape

#: Largest file that is read; a config.json has some kilobytes.
LIMIT = 1_000_000


def read(file: Path) -> ModelShape:
    """The numbers of a config.json. Raises UserError when it cannot be read, or a number is missing."""
    try:
        if file.stat().st_size > LIMIT:
            raise UserError(f"{file} is no config.json: it has more than {LIMIT} bytes")
        data = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UserError(f"{file} is not valid JSON") from None
    if not isinstance(data, dict):
        raise UserError(f"{file} must hold a mapping, as a model's config.json does")
    return shape(data, str(file))


def shape(data: Mapping[str, Any], where: str) -> ModelShape:
    """The numbers of a parsed config.json; of a model that sees, its text part's."""
    text = data.get("text_config")
    part: Mapping[str, Any] = {**data, **text} if isinstance(text, dict) else data

    def number(*keys: str, needed: bool = False) -> int:
        for key in keys:
            value = part.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40:
                return value
        if needed:
            raise UserError(f"{where}: `{keys[0]}` is missing, or no whole number")
        return 0

    heads = number("num_attention_heads", needed=True)
    hidden = number("hidden_size", needed=True)
    if not heads or not hidden:
        raise UserError(f"{where}: `hidden_size` and `num_attention_heads` must be above 0")
    named = data.get("architectures")
    architecture = str(named[0]) if isinstance(named, list) and named else ""
    experts = number("num_experts", "num_local_experts", "n_routed_experts")
    width = number("moe_intermediate_size", "intermediate_size") if experts else 0
    latent = {
        "q": number("q_lora_rank"),
        "kv": number("kv_lora_rank"),
        "plain": number("qk_nope_head_dim"),
        "rotary": number("qk_rope_head_dim"),
        "value": number("v_head_dim"),
    }
    shared = number("shared_expert_intermediate_size") or number("n_shared_experts") * width
    return ModelShape(
        architecture=architecture,
        heads=heads,
        kv_heads=number("num_key_value_heads") or heads,
        layers=number("num_hidden_layers", needed=True),
        vocabulary=number("vocab_size", needed=True),
        length=number("max_position_embeddings"),
        hidden=hidden,
        head_size=number("head_dim") or hidden // heads,
        intermediate=number("intermediate_size", needed=True),
        tied=_tied(part, architecture),
        window=number("sliding_window") if part.get("use_sliding_window", True) is not False else 0,
        experts=experts,
        shared_experts=bool(shared),
        active_experts=number("num_experts_per_tok") if experts else 0,
        expert_width=width,
        shared_width=shared if experts else 0,
        dense_layers=number("first_k_dense_replace") if experts else 0,
        latent=latent if latent["kv"] else {},
    )


def _tied(part: Mapping[str, Any], architecture: str) -> bool:
    """Whether the output layer is the embedding: Gemma's files leave it out, for it is their default."""
    value = part.get("tie_word_embeddings")
    return value if isinstance(value, bool) else architecture.startswith("Gemma")
