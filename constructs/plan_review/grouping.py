"""Findings in the order of a report: many that are alike as one, and one line of each kind before the second of any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from findings import Severity
from plan_review.display import count
from plan_review.drift import without_indices
from plan_review.judgement import Category, PlanFinding


def grouped(found: Sequence[PlanFinding]) -> list[PlanFinding]:
    """Those that are alike as one finding, at the address of the first."""
    groups: dict[tuple[object, ...], list[PlanFinding]] = {}
    for number, each in enumerate(found):
        key: tuple[object, ...] = (number,)
        if each.alike:
            stack = "" if each.alike.across else each.stack
            key = (each.rule, each.severity, each.category, each.ignored, each.standing, stack, each.alike.key)
        groups.setdefault(key, []).append(each)
    return [_one(members) for members in groups.values()]


def _one(members: list[PlanFinding]) -> PlanFinding:
    first, alike = members[0], members[0].alike
    if len(members) == 1 or alike is None:
        return first
    message = f"{alike.noun} and {len(members) - 1:,} more {alike.plural}{alike.after}"
    consequence = first.consequence
    if any(each.consequence != consequence for each in members):
        consequence += "; the others likewise"
    sums: Counter[str] = Counter()
    for each in members:
        sums.update(dict(each.alike.totals) if each.alike else {})
    if sums:
        consequence += f"; {' and '.join(_total(amount, what) for what, amount in sums.items() if amount)} in all"
    return replace(first, message=message, consequence=consequence)


def _total(amount: int, what: str) -> str:
    return f"{amount:,} {what}" if what.endswith("GiB") else count(amount, what)


def in_order(found: Sequence[PlanFinding]) -> list[PlanFinding]:
    """What no claim says; then the gravest; then by kind of trouble, the first of each rule, kind and type ahead."""
    ranks = list(Category)
    seen: Counter[tuple[object, ...]] = Counter()
    keys = []
    ordered = sorted(
        found, key=lambda each: (each.severity is not Severity.ERROR, ranks.index(Category(each.category)))
    )
    for each in ordered:
        kind = (each.rule, each.severity, each.category, each.standing, bool(each.ignored), _type(each.address))
        keys.append(seen[kind])
        seen[kind] += 1
    ordered = [each for _, each in sorted(zip(keys, ordered, strict=True), key=lambda pair: pair[0])]
    return sorted(ordered, key=lambda each: each.category != Category.CLAIM)


def _type(address: str) -> str:
    """The type in an address: of ``module.a["x.y"].google_b.c``, ``google_b``."""
    return without_indices(address.partition(" (")[0]).rpartition(".")[0].rpartition(".")[2]
