"""The review of groundplan's plans: the generic one with our rules, words, prices and order of stacks."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from groundplan.on_plans import words
from groundplan.on_plans.capacity import Capacity, capacity
from groundplan.on_plans.grants import Grant, grants
from groundplan.on_plans.mermaid import mermaid
from groundplan.on_plans.prices import Cost, Prices, cost
from groundplan.on_plans.provider_facts import known
from groundplan.on_plans.svg import svg
from groundplan.on_plans.topology import topology
from groundplan.site.stacks import rank
from plan_review import assess as generic
from plan_review import display, model
from plan_review.acceptance import Acceptance
from plan_review.assess import Assessment, Provenance, Supplement, Verdict
from plan_review.claims import Claim
from plan_review.folders import compare_folders
from plan_review.judgement import PlanRule, plan_rules
from plan_review.model import Plan, Resources

__all__ = ["Assessment", "Provenance", "Verdict", "assess", "compare_outputs", "plan_rules"]

# The one place that collects the rules on plans. The order is that of reports within one kind of trouble, so that no
# import block, which is sorted, could say it.
for _name in (
    "openings",
    "reach",
    "exposure",
    "grants",
    "protection",
    "shapes",
    "operations",
    "in_place",
    "queues",
    "images",
    "safe_updates",
    "claims",
):
    importlib.import_module(f"groundplan.on_plans.{_name}")


def assess(
    plans: Sequence[Plan],
    *,
    provenance: Provenance,
    prices: Prices | None = None,
    acceptances: Sequence[Acceptance] = (),
    claims: Sequence[Claim] = (),
    policies: Iterable[PlanRule] = (),
) -> Assessment:
    """Judge plans. `acceptances` say what somebody accepts, and why; `claims` what the change is meant to do.

    `policies` are the user's own rules.
    """

    def supplement(plans: Sequence[Plan], old: Resources, new: Resources) -> Supplement:
        return _supplement(plans, old, new, prices)

    return generic.assess(
        plans,
        provenance=provenance,
        acceptances=acceptances,
        claims=claims,
        policies=policies,
        supplement=supplement,
    )


def compare_outputs(old: Path, new: Path, names: tuple[str, str] = ("", "")) -> list[Plan]:
    """Two synth outputs as plans, in the order of a site's stacks. Raises UnusableInput."""
    return compare_folders(old, new, names, known=known, order=rank)


def _supplement(plans: Sequence[Plan], old: Resources, new: Resources, prices: Prices | None) -> Supplement:
    found = capacity(old, new)
    was, becomes = grants(old), grants(new)
    granted, withdrawn = _added(was, becomes), _added(becomes, was)
    sum_ = cost(prices, old, new) if prices else None
    hidden = model.hidden(plans)
    return Supplement(
        capacity=words.capacity_rows(found),
        ranges=words.range_rows(found),
        cost=words.cost_lines(sum_) if sum_ else (),
        opened=words.opened(plans, granted, withdrawn),
        mermaid=lambda: mermaid(topology(plans)),
        svg=lambda: svg(topology(plans)),
        data=lambda: {
            **_capacity(found),
            "cost": _cost(sum_),
            "grants": [_grant(each, hidden) for each in granted],
            "withdrawn": [_grant(each, hidden) for each in withdrawn],
        },
    )


def _added(old: Sequence[Grant], new: Sequence[Grant]) -> tuple[Grant, ...]:
    known = {(each.member, each.role, each.scope, each.on) for each in old}
    return tuple(each for each in new if (each.member, each.role, each.scope, each.on) not in known)


def _capacity(found: Capacity) -> dict[str, Any]:
    return {
        "capacity": [
            {
                "kind": line.kind,
                "name": line.name,
                "source": line.detail,
                "before": line.before,
                "after": line.after,
                "unit": line.unit,
            }
            for line in found.lines
        ],
        "ranges": [
            {"name": r.name, "cidr": r.cidr, "size": r.size, "before": r.before, "after": r.after} for r in found.ranges
        ],
    }


def _grant(grant: Grant, hidden: tuple[str, ...]) -> dict[str, str]:
    said = {"member": grant.member, "role": grant.role, "on": grant.on, "address": grant.resource.address}
    return {key: display.plain(display.without(text, hidden)) for key, text in said.items()}


def _cost(cost: Cost | None) -> dict[str, Any] | None:
    if cost is None:
        return None
    return {
        "before": str(cost.before),
        "after": str(cost.after),
        "currency": cost.currency,
        "date": cost.date,
        "source": cost.source,
        "without_price": list(cost.missing),
    }
