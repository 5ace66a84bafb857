"""Moments of a training step: what lies in GPU memory at each, by part."""

from __future__ import annotations

from dataclasses import dataclass

#: Bytes that cuBLAS, rotary tables and inputs take on every rank (measured: 0.05 to 0.1 GB).
SMALL = 0.07e9


@dataclass(frozen=True)
class Moment:
    """A point of the step with its parts in bytes."""

    name: str
    parts: dict[str, float]

    @property
    def bytes(self) -> float:
        """The sum of its parts."""
        return sum(self.parts.values())


def at(name: str, **parts: float) -> Moment:
    """A moment of the parts that are there; names with spaces in place of underscores."""
    return Moment(name, {key.replace("_", " "): size for key, size in parts.items() if size > 0})


def peak(moments: list[Moment]) -> Moment:
    """The moment that takes most."""
    return max(moments, key=lambda moment: moment.bytes)
