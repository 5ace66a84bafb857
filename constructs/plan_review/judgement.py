"""Findings: what a reviewer must know of a plan, each under a rule's name, with cause, consequence and mend.

A rule looks either at what changes (`on="changes"`) or at what stands before and after (`on="resources"`). The second
kind are policies: they run on both sides, and what was so already is told apart from what the plan brings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from findings import RULES, Finding, Rule, Severity, Subject
from plan_review import display


class Category(StrEnum):
    """What kind of trouble a finding is; `--fail-on` takes these words. The order is that of reports."""

    CLAIM = "claim"
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
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True)
class Alike:
    """How many findings that are alike become one: those of one `key`.

    `noun` names the thing of one finding, `plural` what several are; `after` is the rest of the sentence of many, verb
    and all; `totals` are amounts to be added up, such as 16 of "B200 GPU". `across`: findings of several stacks too.
    """

    key: tuple[str, ...]
    noun: str
    plural: str
    after: str
    totals: tuple[tuple[str, int], ...] = ()
    across: bool = False


@dataclass(frozen=True, slots=True)
class Breach:
    """What a rule yields. `message` says what and why; `consequence` what that does; `hint` is the mend.

    `arguments` are the dotted paths of the resource that are judged hereby, with all below them (``*``: all of it): an
    update of any other argument, which no rule knows, is a decision of its own.
    """

    stack: str
    address: str
    message: str
    hint: str = ""
    consequence: str = ""
    severity: Severity | None = None
    category: Category | None = None
    arguments: tuple[str, ...] = ()
    alike: Alike | None = None


@dataclass(frozen=True, slots=True)
class PlanFinding(Finding):
    """A finding on plans; the fields beyond are those of its breach."""

    arguments: tuple[str, ...] = ()
    alike: Alike | None = None


#: What a check is given: all plans; the resources as they will be (and once more as they are); all plans with what
#: every other rule found; or all plans with what somebody claims that they do.
On = Literal["changes", "resources", "findings", "claims"]
Check = Callable[[Any], Iterator[Breach]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRule(Rule):
    """A rule on plans: its topic is the kind of trouble, and `on` says what its check is given."""

    on: On = "changes"

    def notices(self, subject: Any) -> Iterator[PlanFinding]:
        """What the check says, masked: names and values in it come from the input."""
        for breach in self.check(subject):
            yield PlanFinding(
                self.slug,
                breach.severity or self.severity,
                display.plain(breach.message),
                display.plain(breach.hint),
                address=display.plain(breach.address),
                stack=breach.stack,
                category=str(breach.category or self.topic),
                consequence=display.plain(breach.consequence),
                arguments=breach.arguments,
                alike=breach.alike,
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
