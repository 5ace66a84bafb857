"""Cost, from a dated price file that the user gives; groundplan knows no price itself.

::

    date: 2026-11-30          # when the prices were taken
    currency: USD
    source: contract 4711     # where from; printed with every sum
    gpus:                     # by accelerator, for one GPU-hour; covers the whole node
      nvidia-b200: 1.00
    machines:                 # by machine type, for one node-hour; for nodes whose GPUs have no price of their own
      n2-highmem-80: 1.00
    lustre:                   # by throughput in MB/s per TiB, for one GiB and month
      500: 0.10
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import yaml

from findings import UserError
from groundplan.on_plans.capacity import HOURS_PER_MONTH, pools
from plan_review import values
from plan_review.model import Resources

_SECTIONS = ("gpus", "machines", "lustre")


@dataclass(frozen=True)
class Prices:
    """A price file."""

    date: str
    currency: str
    source: str
    gpus: dict[str, Decimal]
    machines: dict[str, Decimal]
    lustre: dict[str, Decimal]


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a month with every pool at its most nodes, before and after; `missing` are things without a price."""

    before: Decimal
    after: Decimal
    currency: str
    date: str
    source: str
    missing: tuple[str, ...]


def load_prices(file: Path) -> Prices:
    """Read a price file. Raises UserError, one line, when a price or the date is wrong."""
    try:
        data = yaml.safe_load(file.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"price file {file}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError):
        raise UserError(f"price file {file} is not YAML") from None
    if not isinstance(data, dict):
        raise UserError(f"price file {file} must be a mapping with date, currency, source and prices")
    unknown = sorted(str(key) for key in data if key not in ("date", "currency", "source", *_SECTIONS))
    if unknown:
        raise UserError(f"price file {file}: unknown key {unknown[0]}; known: {', '.join(_SECTIONS)}")
    date = data.get("date")
    if isinstance(date, str):
        try:
            date = datetime.date.fromisoformat(date)
        except ValueError:
            date = None
    if not isinstance(date, datetime.date):
        raise UserError(f"price file {file}: `date` must be the day of the prices, such as 2026-11-30")
    for key in ("currency", "source"):
        if not isinstance(data.get(key), str) or not data[key].strip():
            raise UserError(f"price file {file}: `{key}` is missing")
    found = {section: _prices(file, section, data.get(section) or {}) for section in _SECTIONS}
    return Prices(date.isoformat(), data["currency"].strip(), data["source"].strip(), **found)


def _prices(file: Path, section: str, entries: Any) -> dict[str, Decimal]:
    if not isinstance(entries, dict):
        raise UserError(f"price file {file}: `{section}` must be a mapping of names to prices")
    found = {}
    for name, price in entries.items():
        try:
            value = Decimal(str(price))
        except InvalidOperation:
            value = Decimal(-1)
        if isinstance(price, bool) or not value.is_finite() or value < 0:
            raise UserError(f"price file {file}: `{section}.{name}` must be a number of at least 0")
        found[str(name)] = value
    return found


def cost(prices: Prices, old: Resources, new: Resources) -> Cost:
    """What both sides cost a month."""
    missing: set[str] = set()
    was, becomes = _month(prices, old, missing), _month(prices, new, missing)
    return Cost(was, becomes, prices.currency, prices.date, prices.source, tuple(sorted(missing)))


def _month(prices: Prices, resources: Resources, missing: set[str]) -> Decimal:
    total = Decimal(0)
    for pool in pools(resources):
        if pool.gpu in prices.gpus:
            total += pool.gpus * HOURS_PER_MONTH * prices.gpus[pool.gpu]
        elif pool.machine_type in prices.machines:
            total += pool.most * HOURS_PER_MONTH * prices.machines[pool.machine_type]
        elif pool.most:
            missing.add(pool.gpu or pool.machine_type or "nodes of unknown machine type")
    for instance in resources.of("google_lustre_instance"):
        tier, size = instance.text("per_unit_storage_throughput"), values.number(instance.get("capacity_gib")) or 0
        if tier in prices.lustre:
            total += size * prices.lustre[tier]
        elif size:
            missing.add(f"Lustre at {tier} MB/s per TiB")
    return total


def money(amount: Decimal, currency: str) -> str:
    """``USD 12,345``; cents only below a hundred."""
    return f"{currency} {amount:,.2f}" if abs(amount) < 100 else f"{currency} {amount:,.0f}"
