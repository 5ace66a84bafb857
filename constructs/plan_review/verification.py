"""Whether plans are those of a report that somebody signed; and if not, what differs. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plan_review import display, report
from plan_review.approval import Approval, from_data
from plan_review.model import Plan, hidden
from plan_review.reading import UnusableInput

#: Differences of one plan that are named.
_MOST = 5


@dataclass(frozen=True, slots=True)
class SignedReport:
    """What is needed of a JSON report: its approval, verdict, and (action, differences) by address of each stack."""

    approval: Approval
    verdict: str
    headline: str
    changes: dict[str, dict[str, tuple[str, tuple[str, ...]]]]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A plan that is not in the report, and the first things in which it differs from the report's."""

    stack: str
    file: str
    lines: tuple[str, ...]


def read_report(file: Path) -> SignedReport:
    """Read a report of `--format json`. Raises UnusableInput when it is none, or was altered."""
    make = "make one with `groundplan review PLANS --format json -o report.json`"
    try:
        document = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UnusableInput(f"{file}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UnusableInput(f"{file} is not JSON; {make}") from None
    if not isinstance(document, dict) or not {"verdict", "stacks", "made_from"} <= set(document):
        raise UnusableInput(f"{file} is no report of a review; {make}")
    if not document.get("approval"):
        raise UnusableInput(f"{file} carries no approval (a diff's report, or an older one's); {make}")
    approval = from_data(document["approval"])
    if approval is None:
        raise UnusableInput(f"{file} was altered: its approval digest is not that of the inputs it lists; review again")
    try:
        changes = {str(stack["stack"]): dict(map(_as_reported, stack["changes"])) for stack in document["stacks"]}
    except (KeyError, TypeError):
        raise UnusableInput(f"{file} was altered: its stacks have another form; review again") from None
    return SignedReport(approval, str(document["verdict"]), str(document.get("headline", "")), changes)


def mismatches(plans: Sequence[Plan], signed: SignedReport) -> list[Mismatch]:
    """The plans that are not in the report, in the order given."""
    reviewed = {content for _, content, _ in signed.approval.plans}
    return [
        Mismatch(plan.stack, plan.file, tuple(_differences(plan, signed)))
        for plan in plans
        if plan.content not in reviewed
    ]


def matching(plans: Sequence[Plan], signed: SignedReport) -> list[str]:
    """The stacks of the report that the plans are, by the report's names."""
    contents = {plan.content for plan in plans}
    return [stack for stack, content, _ in signed.approval.plans if content in contents]


def _differences(plan: Plan, signed: SignedReport) -> list[str]:
    now = {
        display.without(row.address, hidden([plan])): (str(row.change.action), tuple(map(str, row.differences)))
        for row in report.rows(plan)
    }
    name = _closest(plan, now, signed)
    if name is None:
        return [f"the report has no such stack; it is of {display.listed(sorted(signed.changes), _MOST)}"]
    then = signed.changes[name]
    lines = []
    for address in sorted({*now, *then}):
        (was, old), (is_now, new) = then.get(address, ("", ())), now.get(address, ("", ()))
        if was == is_now and old == new:
            continue
        if not was or not is_now:
            lines.append(f"{is_now or was} of {address} is {'new' if is_now else 'no longer planned'}")
        elif was != is_now:
            lines.append(f"{address}: {was} in the report, {is_now} now")
        else:
            other = next((each for each in new if each not in old), None)
            gone = next((each for each in old if each not in new), None)
            lines.append(f"{address}: now {other}" if other else f"{address}: no longer {gone}")
    if not lines:
        lines = [
            "the same resources change in the same way as far as a report shows: a hidden or long value, an unchanged "
            "resource, the configuration, a variable or Terraform's version differs"
        ]
    return [*lines[:_MOST], *([f"and {len(lines) - _MOST} more"] if len(lines) > _MOST else [])]


def _closest(plan: Plan, now: dict[str, Any], signed: SignedReport) -> str | None:
    """The report's stack that the plan is of: by name, by the addresses in common, or the only one."""
    if plan.stack in signed.changes:
        return plan.stack
    shared = {stack: len(set(now) & set(changes)) for stack, changes in signed.changes.items()}
    best = max(shared, key=lambda stack: shared[stack], default=None)
    if best is not None and (shared[best] or len(shared) == 1):
        return best
    return None


def _as_reported(change: dict[str, Any]) -> tuple[str, tuple[str, tuple[str, ...]]]:
    shown = (display.Difference(e["path"], e["old"], e["new"]) for e in change["differences"])
    return str(change["address"]), (str(change["action"]), tuple(map(str, shown)))
