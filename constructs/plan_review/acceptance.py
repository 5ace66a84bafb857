"""What a reviewer accepts: a rule at an address, with the reason. It never covers more than it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from findings import Severity
from plan_review.judgement import Category, PlanFinding

#: Kinds of trouble in which something goes.
_LOSSES = frozenset({Category.DATA, Category.REPLACE, Category.DESTROY})


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One acceptance. `address` may be a pattern (``*`` and ``?``), with ``STACK:`` before it to name a stack.

    Without an address (a profile's old entries) it covers warnings alone, and of those none by which something is lost.
    """

    rule: str
    address: str
    reason: str

    def covers(self, finding: PlanFinding) -> bool:
        """Whether it accepts the finding."""
        if self.rule != finding.rule:
            return False
        names = {finding.address, f"{finding.stack}:{finding.address}"} if finding.address else {finding.stack}
        if _is_loss(finding):  # only an acceptance that names the very resource covers it
            return self.address in names
        if not self.address:
            return finding.severity is not Severity.ERROR and finding.category not in _LOSSES
        return self.address in names or any(fnmatchcase(name, _pattern(self.address)) for name in names)

    def __str__(self) -> str:
        return f"{self.rule}@{self.address}" if self.address else self.rule


def _is_loss(finding: PlanFinding) -> bool:
    """Whether something is lost that another apply does not bring back."""
    return finding.category == Category.DATA or (finding.category in _LOSSES and finding.severity is Severity.ERROR)


def _pattern(address: str) -> str:
    """A shell pattern in which brackets are those of addresses."""
    return address.replace("[", "[[]")


def accepted(
    found: Sequence[PlanFinding], acceptances: Sequence[Acceptance]
) -> tuple[list[PlanFinding], tuple[str, ...]]:
    """The findings with the reason of the acceptance that covers each; and what the acceptances did not cover."""
    used: set[Acceptance] = set()
    made = []
    for each in found:
        holds = next((one for one in acceptances if one.covers(each)), None)
        if holds:
            used.add(holds)
        made.append(replace(each, ignored=holds.reason) if holds else each)
    return made, tuple(dict.fromkeys(_unused(one, found) for one in acceptances if one not in used))


def _unused(acceptance: Acceptance, found: Sequence[PlanFinding]) -> str:
    lost = next((each for each in found if each.rule == acceptance.rule and _is_loss(each)), None)
    if lost and (not acceptance.address or fnmatchcase(lost.address, _pattern(acceptance.address))):
        return f"{acceptance}: not accepted, for what is lost must be named: write {lost.rule}@{lost.address}"
    if not acceptance.address and any(each.rule == acceptance.rule for each in found):
        return f"{acceptance}: not accepted, for what is grave, or goes, must be named by its address"
    return f"{acceptance}: nothing is accepted by it"


def parse(text: str) -> Acceptance | None:
    """``RULE@ADDRESS=REASON``; None when a part is missing. An address may hold ``=`` in its brackets."""
    rule, at, rest = text.partition("@")
    depth = 0
    for position, character in enumerate(rest):
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == "=" and depth <= 0:
            address, reason = rest[:position].strip(), rest[position + 1 :].strip()
            break
    else:
        return None
    rule = rule.strip()
    return Acceptance(rule, address, reason) if at and rule and "=" not in rule and address and reason else None
