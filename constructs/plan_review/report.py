"""The words of a report, the same in every format: headline, counts, tables of capacity and changes, provenance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from findings import Finding
from plan_review import display
from plan_review.assess import Assessment, Verdict, approval
from plan_review.differences import UNKNOWN
from plan_review.display import Difference, count
from plan_review.model import QUIET, Action, Change, Plan, hidden

SAFE_MEANING = "nothing that exists is replaced, destroyed, disturbed, opened or left unprotected"

#: Reasons for which updates are safe, and acceptances, in the head of a report.
_HEAD = 5

_VERBS = {
    Action.REPLACE: "to replace",
    Action.DESTROY: "to destroy",
    Action.UPDATE: "to update",
    Action.CREATE: "to create",
    Action.FORGET: "to forget",
    Action.IMPORT: "to import",
    Action.MOVE: "to move",
    Action.NONE: "unchanged",
}


def headline(result: Assessment) -> str:
    """``DANGEROUS: 1 to replace, 48 unchanged in 6 stacks``."""
    said = [f"{result.counts[action]:,} {verb}" for action, verb in _VERBS.items() if result.counts.get(action)]
    stacks = count(len(result.plans), "stack")
    kind = " (simulated plans)" if any(plan.simulated for plan in result.plans) else ""
    if result.is_diff:
        kind = " (two outputs compared, without state)"
    return f"{result.verdict.upper()}: {', '.join(said) or 'no changes'} in {stacks}{kind}"


def no_trouble(result: Assessment) -> str:
    """The line that stands in place of notices when none counts."""
    if result.verdict is Verdict.ACCEPTED:
        return "What would need a decision was accepted, each finding by name:"
    changed = sum(amount for action, amount in result.counts.items() if action not in QUIET)
    if not changed:
        outputs = sum(len(plan.outputs) for plan in result.plans)
        return f"No resource changes; {display.count(outputs, 'output')} will." if outputs else "Nothing changes."
    if result.counts.get(Action.CREATE) == changed and not result.counts.get(Action.NONE):
        standing = sum(plan.standing or 0 for plan in result.plans)
        if standing:
            return f"Everything here is new; the state holds {count(standing, 'resource')} more, not shown by the plan."
        return "A first creation: everything is new, nothing that exists is touched."
    return f"{SAFE_MEANING[0].upper()}{SAFE_MEANING[1:]}."


def below(result: Assessment) -> list[str]:
    """Lines that stand below the findings, on top: what was accepted, why updates are safe, what nobody judged."""
    lines = [f"accepted: {each.text} (reason: {each.ignored})" for each in ignored(result)]
    lines = [*lines[:_HEAD], *([f"and {len(lines) - _HEAD} more accepted"] if len(lines) > _HEAD else [])]
    lines += result.unused_acceptances
    taken = [f"{each.address} from {each.imported}" for plan in result.plans for each in plan.changes if each.imported]
    if taken:
        lines.append(f"taken into the state (import): {display.listed(taken, _HEAD)}")
    if not result.counting:
        lines += result.harmless[:_HEAD]
        if len(result.harmless) > _HEAD:
            lines.append(f"and {len(result.harmless) - _HEAD} more such changes")
    if result.not_looked_at:
        lines.append(f"Not looked at, for no rule reads these types: {result.not_looked_at}")
    return [display.plain(display.without(line, hidden(result.plans))) for line in lines]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the change table."""

    change: Change
    address: str
    differences: tuple[Difference, ...]


def rows(plan: Plan) -> list[Row]:
    """The changes of a stack that a reader should see, the gravest first."""
    order = list(Action)
    shown = sorted(
        (each for each in plan.changes if each.action not in QUIET),
        key=lambda each: (order.index(each.action), each.type, each.address),
    )
    return [Row(each, _address(each), tuple(display.differences(each))) for each in shown]


def _address(change: Change) -> str:
    moved = f" (moved from {change.previous_address})" if change.previous_address else ""
    return display.plain(change.address + moved)


def tally(plan: Plan) -> str:
    """``1 to replace, 13 unchanged``; or that both sides are the same."""
    if plan.identical:
        return "byte-identical"
    counts = {action: sum(each.action is action for each in plan.changes) for action in _VERBS}
    said = [f"{amount:,} {_VERBS[action]}" for action, amount in counts.items() if amount]
    return ", ".join(said) or "no resources"


def provenance(result: Assessment) -> list[tuple[str, str]]:
    """(what, value): enough to find every input again."""
    found = [(result.provenance.tool, result.provenance.version)]
    if result.provenance.profile:
        found.append(("profile", f"{result.provenance.profile} sha256:{result.provenance.profile_digest}"))
    if result.provenance.compared[0]:
        found.append(("compared", " with ".join(result.provenance.compared)))
    terraform = sorted({plan.terraform for plan in result.plans if plan.terraform})
    if terraform:
        found.append(("terraform", ", ".join(terraform)))
    providers = sorted({each for plan in result.plans for each in plan.providers})
    found += [(f"provider {name}", version or "no constraint") for name, version in providers]
    charts = sorted({each for plan in result.plans for each in plan.charts})
    found += [(f"chart {chart}", f"{version} (release {release})") for release, chart, version in charts]
    for plan in result.plans:
        found.append((f"stack {plan.stack}", f"{plan.file} sha256:{plan.digest[:16]}" if plan.digest else plan.file))
    return [(display.plain(what), display.plain(value)) for what, value in found]


def to_sign(result: Assessment) -> list[tuple[str, str]]:
    """(what, value): what a signature on this report stands for. Empty where nothing is to be applied."""
    signed = approval(result)
    if signed is None:
        return []
    found = [("approval", signed.digest)]
    times = sorted({at for _, _, at in signed.plans if at})
    if times:
        found.append(("planned at", times[0] if len(times) == 1 else f"{times[0]} to {times[-1]}"))
    found += [("accepted", each) for each in signed.accepted]
    found += [("claimed", each) for each in signed.claims]
    return [(what, display.plain(value)) for what, value in found]


def mends(notices: list[Finding]) -> list[tuple[str, str, str]]:
    """(numbers of the notices, rule, mend): the same mend of one rule once."""
    found: dict[tuple[str, str], list[int]] = {}
    for number, each in enumerate(notices, 1):
        if each.hint:
            found.setdefault((each.rule, each.hint), []).append(number)
    return [(_numbers(numbers), rule, hint) for (rule, hint), numbers in found.items()]


def _numbers(numbers: list[int]) -> str:
    """``1-3, 5``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def standing(result: Assessment) -> list[Finding]:
    """What was so before the plan."""
    return [each for each in result.notices if each.standing and not each.ignored]


def ignored(result: Assessment) -> list[Finding]:
    """What somebody accepted, with the reason."""
    return [each for each in result.notices if each.ignored]


def drifted(result: Assessment) -> list[str]:
    """Resources that were changed outside Terraform."""
    return [display.plain(each.address) for plan in result.plans for each in plan.drift]


def outputs(result: Assessment) -> list[str]:
    """Changed outputs, hidden ones without value."""
    return [
        f"{display.plain(plan.stack)} {display.plain(name)}: {display.show(old, name)} -> {_new(new, name)}"
        if (old, new) != (None, None)
        else f"{display.plain(plan.stack)} {display.plain(name)}: {display.HIDDEN} or known after apply"
        for plan in result.plans
        for name, old, new in plan.outputs
    ]


def _new(value: Any, name: str) -> str:
    return UNKNOWN if value is UNKNOWN else display.show(value, name)


def caveats(result: Assessment) -> list[str]:
    """What this report cannot know."""
    lines = []
    if result.is_diff:
        lines.append(
            "Compared without state: drift, values that only the cloud knows, and what forces replacement beyond the "
            "catalog's facts are not seen."
        )
    if any(plan.simulated for plan in result.plans):
        lines.append("The plans are simulated: made by `groundplan rehearse`, not against a cloud.")
    return lines
