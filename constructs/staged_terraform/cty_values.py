"""Values on the wire: cty values as msgpack, with unknowns, write-only and dynamic values.

In Python a value is what JSON would make of it; an unknown is :data:`UNKNOWN`; a value of dynamic type stays the pair
``[type as JSON bytes, value]`` that Terraform sends, so that it goes back as it came.
"""

from __future__ import annotations

from typing import Any, Final

import msgpack  # type: ignore[import-untyped]

Value = Any


class Unknown:
    """A value that is known only after apply."""

    _only: Unknown | None = None

    def __new__(cls) -> Unknown:
        """There is one: it is compared by identity."""
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __deepcopy__(self, memo: dict[int, Any]) -> Unknown:
        return self


UNKNOWN: Final = Unknown()


def decode(data: bytes) -> Value:
    """A msgpack value; refinements of unknowns are dropped. Empty bytes are null."""
    if not data:
        return None
    return msgpack.unpackb(data, raw=False, strict_map_key=False, ext_hook=lambda code, body: UNKNOWN)


def encode(value: Value) -> bytes:
    """The msgpack form of a value."""
    packed: bytes = msgpack.packb(value, default=_unknown, use_bin_type=True)
    return packed


def _unknown(value: object) -> msgpack.ExtType:
    if value is UNKNOWN:
        return msgpack.ExtType(0, b"\0")
    raise TypeError(f"{type(value).__name__} cannot go to Terraform")


def is_known(value: Value) -> bool:
    """No unknown anywhere inside."""
    if value is UNKNOWN:
        return False
    if isinstance(value, dict):
        return all(is_known(each) for each in value.values())
    if isinstance(value, list):
        return all(is_known(each) for each in value)
    return True
