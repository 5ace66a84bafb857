"""Notices: what a reviewer must know of a plan, each under a rule's name, with cause, consequence and mend.

A rule looks either at what changes (`on="changes"`) or at what stands before and after (`on="resources"`). The second
kind are policies: they run on both sides, and what was so already is told apart from what the plan brings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from findings import Finding, Severity
from plan_review import display


class Category(StrEnum):
    """What kind of trouble a notice is; `--fail-on` takes these words. The order is that of reports."""

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


@dataclass(frozen=True, slots=True)
class Notice:
    """A breach under its rule. `standing`: it was so before the plan; `ignored` is the reason to accept it."""

    rule: str
    severity: Severity
    category: Category
    stack: str
    address: str
    message: str
    consequence: str = ""
    hint: str = ""
    standing: bool = False
    ignored: str = ""

    @property
    def counts(self) -> bool:
        """Whether it weighs in the verdict."""
        return not self.standing and not self.ignored

    @property
    def finding(self) -> Finding:
        """The same as the one type that groundplan uses everywhere."""
        text = f"{self.message}; {self.consequence}" if self.consequence else self.message
        return Finding(self.rule, self.severity, text, self.hint, address=self.address, ignored=self.ignored)


Subject = Literal["changes", "resources"]
Check = Callable[[Any], Iterator[Breach]]


@dataclass(frozen=True, slots=True)
class PlanRule:
    """A named check of plans. Its docstring is its documentation."""

    slug: str
    severity: Severity
    category: Category
    check: Check
    on: Subject

    @property
    def documentation(self) -> str:
        return inspect.cleandoc(self.check.__doc__ or "")

    @property
    def summary(self) -> str:
        return " ".join(self.documentation.partition("\n\n")[0].split())

    def notices(self, subject: Any) -> Iterator[Notice]:
        """What the check says, masked: names and values in it come from the input."""
        for breach in self.check(subject):
            yield Notice(
                self.slug,
                breach.severity or self.severity,
                breach.category or self.category,
                breach.stack,
                display.plain(breach.address),
                display.plain(breach.message),
                display.plain(breach.consequence),
                display.plain(breach.hint),
            )


#: groundplan's own rules by slug, in order of registration.
PLAN_RULES: dict[str, PlanRule] = {}


def plan_rule(slug: str, severity: Severity, category: Category, on: Subject = "changes") -> Callable[[Check], Check]:
    """Register one of groundplan's own rules of plans. A slug that `check` has too means the same there."""

    def register(check: Check) -> Check:
        if slug in PLAN_RULES:
            raise ValueError(f"plan rule {slug} is registered twice")
        if not check.__doc__:
            raise ValueError(f"plan rule {slug} has no docstring")
        PLAN_RULES[slug] = PlanRule(slug, severity, category, check, on)
        return check

    return register


def in_order(notices: Sequence[Notice]) -> list[Notice]:
    """The gravest first, then by kind of trouble; of one rule in the order of the plans."""
    ranks = list(Category)
    return sorted(notices, key=lambda each: (each.severity is not Severity.ERROR, ranks.index(each.category)))
