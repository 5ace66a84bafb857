"""The drift report of a site that runs: what was changed by hand, by value, and what the next apply makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from findings import Severity, writers
from plan_review import display, report
from plan_review.acceptance import Acceptance, accepted
from plan_review.assess import Assessment, Verdict
from plan_review.by_hand import Drifted, as_plans, drifted
from plan_review.configurations import KnownTypes
from plan_review.drift import differing
from plan_review.judgement import PlanFinding
from plan_review.markdown import escape
from plan_review.model import QUIET, Action, Plan, hidden

#: The rule of a normal review whose acceptances hold here too, and by which --fail-on names drift.
RULE = "changed-outside"

#: Values of one resource that a line names; the list below the findings has all.
_MOST = 3


@dataclass(frozen=True, slots=True)
class DriftReport:
    """`items` with the reason for which somebody accepted each (empty: nobody did); the two judgements.

    `done` judges what was done by hand as if it had been planned, `back` what the next apply does about it.
    """

    plans: tuple[Plan, ...]
    items: tuple[tuple[Drifted, str], ...]
    done: Assessment
    back: Assessment
    unused_acceptances: tuple[str, ...] = ()

    @property
    def open(self) -> list[Drifted]:
        """What nobody accepted; what was deleted first, then what rules call grave."""
        grave = {(e.stack, e.address) for e in self.done.counting if e.severity is Severity.ERROR}
        found = [item for item, reason in self.items if not reason]
        return sorted(
            found,
            key=lambda each: (
                each.done.action is not Action.DESTROY,
                (each.done.stack, each.done.address) not in grave,
            ),
        )


def drift_report(
    plans: Sequence[Plan],
    assess: Callable[[Sequence[Plan]], Assessment],
    known: KnownTypes,
    acceptances: Sequence[Acceptance] = (),
) -> DriftReport:
    """Judge what was changed by hand. `plans` are of `terraform plan -refresh-only`, read with their state."""
    items = drifted(plans, known)
    own = [each for each in acceptances if each.rule == RULE]
    named = [PlanFinding(RULE, Severity.WARNING, "", "", address=i.done.address, stack=i.done.stack) for i in items]
    judged, unused = accepted(named, own)
    pairs = tuple((item, finding.ignored or "") for item, finding in zip(items, judged, strict=True))
    left = [item for item, reason in pairs if not reason]
    return DriftReport(
        tuple(plans),
        pairs,
        assess(as_plans(plans, [item.done for item in left])),
        assess(as_plans(plans, [item.back for item in left if item.back])),
        unused,
    )


def headline(result: DriftReport) -> str:
    """``DRIFT, DANGEROUS: 1 deleted and 2 changed by hand in 2 of 6 stacks``."""
    found = result.open
    stacks = f"{len({each.done.stack for each in found})} of {display.count(len(result.plans), 'stack')}"
    taken = sum(bool(reason) for _, reason in result.items)
    more = f"; {taken} more accepted" if taken else ""
    if not found:
        return f"NO DRIFT: nothing was changed by hand in {display.count(len(result.plans), 'stack')}{more}"
    gone = sum(each.done.action is Action.DESTROY for each in found)
    said = [f"{gone} deleted"] * bool(gone) + [f"{len(found) - gone} changed"] * (gone < len(found))
    grave = ", DANGEROUS" if result.done.verdict is Verdict.DANGEROUS else ""
    return f"DRIFT{grave}: {' and '.join(said)} by hand in {stacks}{more}"


def fate(item: Drifted) -> str:
    """What the next apply does about it, as long as the configuration is that of the last one."""
    if item.back is None:
        if item.done.action is Action.DESTROY:
            return "the next apply leaves it so: the configuration does not have it any more"
        return "the next apply leaves it so: the configuration says the same"
    if item.back.action is Action.CREATE:
        return "the next apply makes it anew, empty"
    if item.back.action is Action.REPLACE:
        forced = display.listed([d.path for d in display.differences(item.back) if d.forces])
        return f"the next apply REPLACES it to put that back ({forced} cannot be changed in place)"
    return "the next apply puts it back, in place"


def what(item: Drifted) -> str:
    """``google_compute_firewall.f was changed: source_ranges: "10.0.0.0/8" -> "0.0.0.0/0"``."""
    if item.done.action is Action.DESTROY:
        return f"{_address(item)} was deleted"
    shown = differences(item)
    more = f" (and {len(shown) - _MOST} more)" if len(shown) > _MOST else ""
    return f"{_address(item)} was changed: {'; '.join(str(each) for each in shown[:_MOST])}{more}"


def differences(item: Drifted) -> list[display.Difference]:
    """(path, in the state, as it is) as a reader may see them."""
    done = item.done
    if done.action is Action.DESTROY:
        return []
    return [
        each
        for path, old, new in differing(done.type, done.before, done.after, done.written)
        for each in display.presented(done, path, old, new)
    ]


def _address(item: Drifted) -> str:
    return f"{display.plain(item.done.stack)}: {display.plain(item.done.address)}"


def commands(result: DriftReport) -> list[str]:
    """What to type, stack by stack; run in the folder of the synth output."""
    lines = []
    for stack in dict.fromkeys(each.done.stack for each in result.open):
        name = display.plain(stack)
        items = [each for each in result.open if each.done.stack == stack]
        if any(each.back for each in items):
            lines.append(
                f"{name}, to put it back: terraform -chdir=stacks/{name} plan -out plan.tfplan, review that plan, then "
                f"terraform -chdir=stacks/{name} apply plan.tfplan"
            )
            lines.append(
                f"{name}, to accept it: write what is there into the profile, groundplan synth, then "
                f"terraform -chdir=stacks/{name} plan shows no change of it; -refresh-only alone does not keep it"
            )
        if any(each.back is None for each in items):
            lines.append(f"{name}, to record it in the state: terraform -chdir=stacks/{name} apply -refresh-only")
    return lines


def caveats(result: DriftReport) -> list[str]:
    """What this report cannot know."""
    lines = [
        "Arguments that no configuration sets, and those under `ignore_changes`, are the cloud's to change; the next "
        "apply is told for the configuration of these plans."
    ]
    planned = [plan.stack for plan in result.plans if any(each.action not in QUIET for each in plan.changes)]
    if planned:
        names = display.listed([display.plain(each) for each in planned])
        lines.append(f"{names}: not of `plan -refresh-only`; what these plans would change is not in this report.")
    return lines


def as_text(result: DriftReport) -> str:
    """For a terminal."""
    return "\n".join(_text(result)).rstrip() + "\n"


def _text(result: DriftReport) -> Iterator[str]:
    yield _clean(result, headline(result))
    for number, item in enumerate(result.open, 1):
        yield _clean(result, f"{number:>2}. {what(item)}")
        yield f"    => {fate(item)}"
    yield from (f"    {display.plain(each)}" for each in result.unused_acceptances)
    yield ""
    for title, lines in _sections(result):
        yield title
        yield from (f"  {line}" for line in lines)
        yield ""
    yield from caveats(result)


def _sections(result: DriftReport) -> Iterator[tuple[str, list[str]]]:
    for title, lines in (
        ("What was done, judged as if it had been planned", _judged(result.done)),
        ("What the next apply does about it, judged", _judged(result.back)),
        ("What to do", commands(result)),
        ("Accepted", [f"{what(item)} (reason: {display.plain(why)})" for item, why in result.items if why]),
        ("Made from", [f"{name}: {value}" for name, value in report.provenance(result.done)]),
    ):
        if lines:
            yield title, [_clean(result, line) for line in lines]


def _judged(result: Assessment) -> list[str]:
    return [
        f"{each.severity}: {each.message}{f' => {each.consequence}' if each.consequence else ''} [{each.rule}]"
        for each in result.counting
    ]


def _clean(result: DriftReport, line: str) -> str:
    return display.without(line, hidden(result.plans))


def as_markdown(result: DriftReport) -> str:
    """For an issue or a comment."""
    lines = [f"## {escape(_clean(result, headline(result)))}", ""]
    lines += [
        f"{number}. {escape(_clean(result, what(item)))} **→ {escape(fate(item))}**"
        for number, item in enumerate(result.open, 1)
    ]
    for title, section in _sections(result):
        lines += ["", f"### {title}", "", *(f"- {escape(line)}" for line in section)]
    return "\n".join([*lines, "", *(f"_{escape(line)}_" for line in caveats(result)), ""])


def as_json(result: DriftReport) -> str:
    """For programs; `schema` grows when its shape changes."""
    return writers.as_json(
        {
            "schema": 1,
            result.done.provenance.tool: result.done.provenance.version,
            "headline": _clean(result, headline(result)),
            "verdict": str(result.done.verdict),
            "drift": [
                {
                    "stack": item.done.stack,
                    "address": item.done.address,
                    "type": item.done.type,
                    "what": "deleted" if item.done.action is Action.DESTROY else "changed",
                    "differences": [
                        {"path": d.path, "state": _clean(result, d.old), "now": _clean(result, d.new)}
                        for d in differences(item)
                    ],
                    "next_apply": str(item.back.action) if item.back else None,
                    "said": fate(item),
                    "accepted": reason or None,
                }
                for item, reason in result.items
            ],
            "findings": [writers.finding_data(each) for each in result.done.notices],
            "next_apply": [writers.finding_data(each) for each in result.back.notices],
            "commands": commands(result),
            "made_from": dict(report.provenance(result.done)),
            "accepted_without_effect": list(result.unused_acceptances),
            "caveats": caveats(result),
        }
    )


FORMATS = {"text": as_text, "markdown": as_markdown, "json": as_json}
