"""The report for a terminal: verdict, causes and consequences first, then what else a reviewer signs for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from findings import Finding
from plan_review import report
from plan_review.assess import Assessment

#: Findings in full before the rest is counted.
_MOST = 20

#: Up to so many findings have their consequence on a line of its own; more stand one a line, so that the first ten
#: lines hold nine of them.
_APART = 4

#: Changes and differences that a terminal shows; the HTML report has all.
_ROWS, _DIFFERENCES = 60, 6


def render(result: Assessment) -> str:
    """The whole report; ends with a line break."""
    return "\n".join(_lines(result)).rstrip() + "\n"


def _lines(result: Assessment) -> Iterator[str]:
    yield report.headline(result)
    counting = result.counting
    apart = len(counting) <= _APART
    for number, notice in enumerate(counting[:_MOST], 1):
        so = f" => {notice.consequence}" if notice.consequence else ""
        yield f"{number:>2}. {notice.message}{'' if apart else so}"
        if so and apart:
            yield f"   {so}"
    if len(counting) > _MOST:
        yield f"    and {len(counting) - _MOST} more"
    if not counting:
        yield report.no_trouble(result)
    yield from (f"    {line}" for line in report.below(result))
    yield ""
    yield from _section(
        "What to do", [f"{numbers}. {hint} [{rule}]" for numbers, rule, hint in report.mends(counting[:_MOST])]
    )
    yield from _section("Capacity", _capacity(result))
    yield from _section("Opens and grants", result.supplement.opened)
    yield from _section("Changes", _changes(result))
    yield from _section("Outputs", report.outputs(result))
    yield from _section("Changed outside Terraform", report.drifted(result))
    yield from _section("Already so before", [_short(each) for each in report.standing(result)])
    yield from _section("Ignored", [f"{_short(each)} (reason: {each.ignored})" for each in report.ignored(result)])
    yield from _section("To sign", [f"{what}: {value}" for what, value in report.to_sign(result)])
    yield from _section("Made from", [f"{what}: {value}" for what, value in report.provenance(result)])
    yield from report.caveats(result)


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield title
        yield from (f"  {line}" for line in lines)
        yield ""


def _short(notice: Finding) -> str:
    return f"[{notice.rule}] {notice.message}"


def _capacity(result: Assessment) -> list[str]:
    lines = [
        f"{what}: {before}" if before == after else f"{what}: {before} -> {after}"
        for what, before, after in result.supplement.capacity
    ]
    lines += [
        f"{name} {cidr}: {used} of {size} addresses" for name, cidr, used, size in result.supplement.ranges if used
    ]
    return [*lines, *result.supplement.cost]


def _changes(result: Assessment) -> list[str]:
    lines: list[str] = []
    left = _ROWS
    for plan in result.plans:
        lines.append(f"{plan.stack}: {report.tally(plan)}")
        table = report.rows(plan)
        for row in table[:left]:
            lines.append(f"  {row.change.action:<8} {row.address}")
            lines += [f"           {_mark(each.forces)}{each}" for each in row.differences[:_DIFFERENCES]]
            if len(row.differences) > _DIFFERENCES:
                lines.append(f"           and {len(row.differences) - _DIFFERENCES} more")
        if len(table) > left:
            lines.append(f"  and {len(table) - left} more; --format html shows all")
        left = max(0, left - len(table))
    return lines


def _mark(forces: bool) -> str:
    return "! " if forces else "  "
