"""Findings: what a reviewer must know of a plan, each under a rule's name, with cause, consequence and mend.

A rule looks either at what changes (`on="changes"`) or at what stands before and after (`on="resources"`). The second
kind are policies: they run on both sides, and what was so already is told apart from what the plan brings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from findings import RULES, Finding, Rule, Severity, Subject
from plan_review import display


class Category(StrEnum):
    """What kind of trouble a finding is; `--fail-on` takes these words. The order is that of reports."""

    DATA = "data"
    REPLACE = "replace"
    DESTROY = "destroy"
    SECRET = "secret"
    OPEN = "open"
    UNPROTECT = "unprotect"
    REFUSED = "refused"
    CAPACITY = "capacity"
    DISTURB = "disturb"
    POLICY = "policy"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Breach:
    """What a rule yields. `message` says what and why; `consequence` what that does; `hint` is the mend."""

    stack: str
    address: str
    message: str
    hint: str = ""
    consequence: str = ""
    severity: Severity | None = None
    category: Category | None = None


#: What a check is given: all plans, or the resources as they will be (and once more as they are).
On = Literal["changes", "resources"]
Check = Callable[[Any], Iterator[Breach]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRule(Rule):
    """A rule on plans: its topic is the kind of trouble, and `on` says what its check is given."""

    on: On = "changes"

    def notices(self, subject: Any) -> Iterator[Finding]:
        """What the check says, masked: names and values in it come from the input."""
        for breach in self.check(subject):
            yield Finding(
                self.slug,
                breach.severity or self.severity,
                display.plain(breach.message),
                display.plain(breach.hint),
                address=display.plain(breach.address),
                stack=breach.stack,
                category=str(breach.category or self.topic),
                consequence=display.plain(breach.consequence),
            )


def new_rule(slug: str, severity: Severity, category: Category, check: Check, on: On) -> PlanRule:
    """A rule on plans that is not registered: a policy of the user's."""
    return PlanRule(slug, severity, check, str(category), Subject.PLAN, on=on)


def plan_rules() -> dict[str, PlanRule]:
    """The registered rules on plans by slug, in order of registration."""
    return {slug: entry for slug, entry in RULES.of(Subject.PLAN).items() if isinstance(entry, PlanRule)}


def plan_rule(slug: str, severity: Severity, category: Category, on: On = "changes") -> Callable[[Check], Check]:
    """Register a rule on plans. A slug that `check` has too means the same there."""

    def register(check: Check) -> Check:
        RULES.add(new_rule(slug, severity, category, check, on))
        return check

    return register


def in_order(found: Sequence[Finding]) -> list[Finding]:
    """The gravest first, then by kind of trouble; of one rule in the order of the plans."""
    ranks = list(Category)
    return sorted(found, key=lambda each: (each.severity is not Severity.ERROR, ranks.index(Category(each.category))))
