"""From plans to a judgement: every rule over them, the verdict, the quantities. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from findings import Finding, Severity
from plan_review import (  # noqa: F401  (they register the rules of any plan)
    completeness,
    destruction,
    display,
    model,
    openness,
    outside,
    secrecy,
    unjudged,
)
from plan_review.acceptance import Acceptance, accepted
from plan_review.approval import Approval
from plan_review.claims import Claim
from plan_review.grouping import grouped, in_order
from plan_review.judgement import Category, PlanFinding, PlanRule, plan_rules
from plan_review.model import QUIET, Action, Plan, Resources


class Verdict(StrEnum):
    """What a reviewer has to do. The gravest notice that counts decides; accepted: all that would count is."""

    SAFE = "safe"
    ACCEPTED = "accepted"
    DECISION = "needs a decision"
    DANGEROUS = "dangerous"


@dataclass(frozen=True)
class Provenance:
    """What the report stands on beyond the plans: the profile, when one was given. Names and hashes, no times."""

    version: str
    profile: str = ""
    profile_digest: str = ""
    compared: tuple[str, str] = ("", "")
    """The two sides of a `diff`; empty for a review of plans."""
    inputs: tuple[tuple[str, str], ...] = ()
    """(kind and name, SHA-256) of further files that decide the verdict: policies, prices."""
    tool: str = "groundplan"
    """The program that makes the report, of which `version` is told."""


def _nothing() -> str:
    return ""


@dataclass(frozen=True)
class Supplement:
    """What a product says beyond findings: rows and lines as they are shown, pictures and JSON made when asked for."""

    capacity: Sequence[tuple[str, str, str]] = ()
    """(what, before, after)"""
    ranges: Sequence[tuple[str, str, str, str]] = ()
    """(range, CIDR, used, of)"""
    cost: Sequence[str] = ()
    opened: Sequence[str] = ()
    mermaid: Callable[[], str] = _nothing
    svg: Callable[[], str] = _nothing
    data: Callable[[], dict[str, Any]] = dict
    """Further keys of the JSON report."""


#: From the plans, and the resources before and after.
Supplements = Callable[[Sequence[Plan], Resources, Resources], Supplement]


@dataclass(frozen=True)
class Assessment:
    """Everything that a report says."""

    plans: tuple[Plan, ...]
    notices: tuple[Finding, ...]
    verdict: Verdict
    provenance: Provenance
    old: Resources
    new: Resources
    supplement: Supplement = field(default_factory=Supplement)
    acceptances: tuple[str, ...] = ()
    """Every acceptance that was given, in words."""
    claims: tuple[str, ...] = ()
    """What the change is meant to do, in words."""
    unused_acceptances: tuple[str, ...] = ()
    """Each acceptance that covers nothing, with the reason."""
    harmless: tuple[str, ...] = ()
    """Why what is updated is safe, where a table says so."""
    not_looked_at: str = ""
    """Types, with counts, that no rule reads."""
    counts: dict[Action, int] = field(default_factory=dict)

    @property
    def counting(self) -> list[Finding]:
        """Findings that weigh in the verdict."""
        return [each for each in self.notices if each.counts]

    @property
    def is_diff(self) -> bool:
        return any(plan.configuration for plan in self.plans)

    @property
    def changed_stacks(self) -> int:
        return sum(any(c.action not in QUIET for c in plan.changes) for plan in self.plans)

    def has(self, category: Category) -> bool:
        return any(each.category == category for each in self.counting)


def approval(result: Assessment) -> Approval | None:
    """What a signature on the report binds; none where two configurations are compared, for nothing is applied."""
    if result.is_diff:
        return None
    made_from = result.provenance
    profile = [("profile", made_from.profile_digest)] if made_from.profile_digest else []
    return Approval(
        tuple((plan.stack, plan.content, plan.planned_at) for plan in result.plans),
        (*profile, *made_from.inputs),
        result.acceptances,
        result.claims,
    )


def assess(
    plans: Sequence[Plan],
    *,
    provenance: Provenance,
    acceptances: Sequence[Acceptance] = (),
    claims: Sequence[Claim] = (),
    policies: Iterable[PlanRule] = (),
    supplement: Supplements | None = None,
) -> Assessment:
    """Judge plans by every registered rule.

    `acceptances` say what somebody accepts, and why; `claims` what the change is meant to do; `policies` are the user's
    own rules; `supplement` is what the product says beyond them.
    """
    old, new = model.before(plans), model.after(plans)
    rules = [*plan_rules().values(), *policies]
    found = _judged(rules, plans, old, new)
    if claims:
        found += [each for rule in rules if rule.on == "claims" for each in rule.notices((plans, claims))]
    hidden = model.hidden(plans)
    judged, unused = accepted(found, acceptances)
    notices = tuple(
        replace(
            each,
            address=display.without(each.address, hidden),
            message=display.without(each.message, hidden),
            consequence=display.without(each.consequence, hidden),
        )
        for each in in_order(grouped(judged))
    )
    return Assessment(
        plans=tuple(plans),
        notices=notices,
        verdict=_verdict(notices),
        provenance=provenance,
        old=old,
        new=new,
        supplement=supplement(plans, old, new) if supplement else Supplement(),
        acceptances=tuple(display.plain(f"{each}: {each.reason}") for each in acceptances),
        claims=tuple(display.plain(each.text) for each in claims),
        unused_acceptances=unused,
        harmless=tuple(unjudged.harmless(plans)),
        not_looked_at=unjudged.not_looked_at(plans),
        counts=dict(Counter(change.action for plan in plans for change in plan.changes)),
    )


def _judged(rules: Sequence[PlanRule], plans: Sequence[Plan], old: Resources, new: Resources) -> list[PlanFinding]:
    """What every rule finds; last what no rule knows."""
    found: list[PlanFinding] = []
    for rule in rules:
        if rule.on == "changes":
            found += rule.notices(plans)
        elif rule.on == "resources":
            found += _resource_notices(rule, old, new)
    spoken = tuple(found)
    for rule in rules:
        if rule.on == "findings":
            found += rule.notices((plans, spoken))
    return found


def _resource_notices(rule: PlanRule, old: Resources, new: Resources) -> list[PlanFinding]:
    """What a policy says of what will be; `standing` when it says the same of what is."""
    already = {(each.stack, each.address, each.message) for each in rule.notices(old)}
    return [replace(each, standing=(each.stack, each.address, each.message) in already) for each in rule.notices(new)]


def _verdict(notices: Sequence[Finding]) -> Verdict:
    counting = [each for each in notices if each.counts]
    if any(each.severity is Severity.ERROR for each in counting):
        return Verdict.DANGEROUS
    if counting:
        return Verdict.DECISION
    return Verdict.ACCEPTED if any(each.ignored and not each.standing for each in notices) else Verdict.SAFE
