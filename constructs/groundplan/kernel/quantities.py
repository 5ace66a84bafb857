"""Kubernetes quantities as numbers."""

from __future__ import annotations

import re
from decimal import Decimal

_UNITS = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([EPTGMk]i?|Ki|m)?")

MIB = 1 << 20
GIB = 1 << 30


def parse_bytes(quantity: str) -> int:
    """``240Gi`` -> bytes, rounded up. Raises ValueError on anything that is no quantity."""
    found = _QUANTITY.fullmatch(quantity)
    if not found:
        raise ValueError(f"{quantity!r} is no Kubernetes quantity")
    number, unit = Decimal(found.group(1)), found.group(2) or ""
    if unit == "m":
        value = number / 1000
    elif unit in _BINARY:
        value = number * (1 << _BINARY[unit])
    else:
        value = number * 10 ** _UNITS[unit]
    return int(value.to_integral_value(rounding="ROUND_CEILING"))


def show(size: int) -> str:
    """Bytes for a reader: in GiB, to a tenth."""
    return f"{size / GIB:.1f} GiB".replace(".0 GiB", " GiB")
