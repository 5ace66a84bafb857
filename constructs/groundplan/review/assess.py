"""From plans to a judgement: every rule over them, the verdict, the quantities. Pure functions."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from findings import Severity
from groundplan.review import capacity, display, model
from groundplan.review.grants import Grant, grants
from groundplan.review.judgement import PLAN_RULES as PLAN_RULES  # registered by the imports above
from groundplan.review.judgement import Category, Notice, PlanRule, in_order
from groundplan.review.model import QUIET, Action, Plan, Resources
from groundplan.review.prices import Cost, Prices, cost

for _name in (
    "destruction",
    "secrecy",
    "openings",
    "exposure",
    "grants",
    "protection",
    "shapes",
    "operations",
    "doubts",
    "images",
):
    importlib.import_module(f"groundplan.review.{_name}")


class Verdict(StrEnum):
    """What a reviewer has to do. The gravest notice that counts decides."""

    SAFE = "safe"
    DECISION = "needs a decision"
    DANGEROUS = "dangerous"


@dataclass(frozen=True)
class Provenance:
    """What the report stands on beyond the plans: the profile, when one was given. Names and hashes, no times."""

    groundplan: str
    profile: str = ""
    profile_digest: str = ""
    compared: tuple[str, str] = ("", "")
    """The two sides of a `diff`; empty for a review of plans."""


@dataclass(frozen=True)
class Assessment:
    """Everything that a report says."""

    plans: tuple[Plan, ...]
    notices: tuple[Notice, ...]
    verdict: Verdict
    capacity: capacity.Capacity
    granted: tuple[Grant, ...]
    withdrawn: tuple[Grant, ...]
    provenance: Provenance
    old: Resources
    new: Resources
    cost: Cost | None = None
    unknown_ignores: tuple[str, ...] = ()
    counts: dict[Action, int] = field(default_factory=dict)

    @property
    def counting(self) -> list[Notice]:
        """Notices that weigh in the verdict."""
        return [each for each in self.notices if each.counts]

    @property
    def is_diff(self) -> bool:
        return any(plan.configuration for plan in self.plans)

    @property
    def changed_stacks(self) -> int:
        return sum(any(c.action not in QUIET for c in plan.changes) for plan in self.plans)

    def has(self, category: Category) -> bool:
        return any(each.category is category for each in self.counting)


def assess(
    plans: Sequence[Plan],
    *,
    provenance: Provenance,
    prices: Prices | None = None,
    ignores: Mapping[str, str] | None = None,
    policies: Iterable[PlanRule] = (),
) -> Assessment:
    """Judge plans. `ignores` are rules with the reason to accept them; `policies` are the user's own rules."""
    old, new = model.before(plans), model.after(plans)
    rules = [*PLAN_RULES.values(), *policies]
    found: list[Notice] = []
    for rule in rules:
        found += rule.notices(plans) if rule.on == "changes" else _resource_notices(rule, old, new)
    reasons = ignores or {}
    hidden = model.hidden(plans)
    notices = tuple(
        replace(
            each,
            address=display.without(each.address, hidden),
            message=display.without(each.message, hidden),
            consequence=display.without(each.consequence, hidden),
            ignored=reasons.get(each.rule, ""),
        )
        for each in in_order(found)
    )
    was, becomes = grants(old), grants(new)
    return Assessment(
        plans=tuple(plans),
        notices=notices,
        verdict=_verdict(notices),
        capacity=capacity.capacity(old, new),
        granted=_added(was, becomes),
        withdrawn=_added(becomes, was),
        provenance=provenance,
        old=old,
        new=new,
        cost=cost(prices, old, new) if prices else None,
        unknown_ignores=tuple(sorted(set(reasons) - {rule.slug for rule in rules})),
        counts=dict(Counter(change.action for plan in plans for change in plan.changes)),
    )


def _resource_notices(rule: PlanRule, old: Resources, new: Resources) -> list[Notice]:
    """What a policy says of what will be; `standing` when it says the same of what is."""
    already = {(each.stack, each.address, each.message) for each in rule.notices(old)}
    return [replace(each, standing=(each.stack, each.address, each.message) in already) for each in rule.notices(new)]


def _added(old: Sequence[Grant], new: Sequence[Grant]) -> tuple[Grant, ...]:
    known = {(each.member, each.role, each.scope, each.on) for each in old}
    return tuple(each for each in new if (each.member, each.role, each.scope, each.on) not in known)


def _verdict(notices: Sequence[Notice]) -> Verdict:
    counting = [each for each in notices if each.counts]
    if any(each.severity is Severity.ERROR for each in counting):
        return Verdict.DANGEROUS
    return Verdict.DECISION if counting else Verdict.SAFE
