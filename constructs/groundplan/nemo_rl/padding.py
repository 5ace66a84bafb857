"""What packed sequences are padded to, with Megatron."""

from __future__ import annotations

from groundplan.nemo_rl.conditions import Facts

PAD = "policy.make_sequence_length_divisible_by"


def pad_unit(facts: Facts, *, sequence: bool) -> int:
    """Tokens that a packed sequence's padding must be a multiple of, with or without sequence parallel."""
    shape = facts.shape
    return (2 * shape.cp if shape.cp > 1 else 1) * (shape.tp if shape.tp > 1 and sequence else 1)


def padding(facts: Facts, *, sequence: bool) -> str:
    """What a hint adds so that the padding fits as well; nothing when it does."""
    now, unit = facts.number(PAD), pad_unit(facts, sequence=sequence)
    if not facts.megatron or not facts.packed or now is None or now % unit == 0 or not facts.since("v0.6.0"):
        return ""
    return f" and `{PAD}: {unit}`"
