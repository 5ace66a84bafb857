"""The report as a comment on a pull request: GitHub's Markdown, within its limit, the most important first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from findings import Finding
from plan_review import report
from plan_review.assess import Assessment, Verdict

#: GitHub refuses longer comments. Counted in bytes, so that no way of counting exceeds it.
LIMIT = 65_536

_CUT = "\n\n_The report is longer than a comment may be; `--format html` has all of it._\n"

_SIGNS = {Verdict.SAFE: "🟢", Verdict.ACCEPTED: "🟡", Verdict.DECISION: "🟡", Verdict.DANGEROUS: "🔴"}

_NOTICES = 40


def render(result: Assessment) -> str:
    """The report in at most LIMIT bytes: sections are left out or cut from the end."""
    text = ""
    for section in _sections(result):
        room = LIMIT - len(_CUT.encode()) - len(text.encode())
        if len(section.encode()) + 1 > room:
            return text + _shortened(section, room) + _CUT
        text += section + "\n"
    return text


def _shortened(section: str, room: int) -> str:
    """As many whole lines as fit, with what must be closed closed; nothing of a picture or of what barely fits."""
    closing = "\n</details>\n" if section.startswith("<details>") else ""
    kept: list[str] = []
    size = len(closing)
    for line in section.splitlines():
        size += len(line.encode()) + 1
        if size > room:
            break
        kept.append(line)
    if section.startswith("```") or len(kept) < 8:
        return ""
    return "\n".join(kept) + closing


def _sections(result: Assessment) -> Iterator[str]:
    yield "\n".join(_head(result))
    mends = report.mends(result.counting[:_NOTICES])
    if mends:
        lines = [f"- {numbers}: {escape(hint)} `{rule}`" for numbers, rule, hint in mends]
        yield "\n".join(["### What to do", "", *lines, ""])
    yield from _table("### Capacity", ("", "before", "after"), _bold(result.supplement.capacity))
    if result.supplement.cost:
        yield "\n".join([*(f"- {escape(line)}" for line in result.supplement.cost), ""])
    yield from _list("### Opens and grants", [_code(line) for line in result.supplement.opened])
    drawing = result.supplement.mermaid()
    if drawing:
        yield f"```mermaid\n{drawing}\n```\n"
    yield from _changes(result)
    use = _table("", ("range", "CIDR", "used", "of"), result.supplement.ranges)
    yield from (_details("Addresses", each) for each in use)
    yield from _list("### Changed outputs", [_code(line) for line in report.outputs(result)])
    yield from _list("### Changed outside Terraform", [_code(line) for line in report.drifted(result)])
    yield from _list("### Already so before", [_notice(each) for each in report.standing(result)])
    yield from _list(
        "### Ignored", [f"{_notice(each)} (reason: {escape(each.ignored)})" for each in report.ignored(result)]
    )
    signed = [f"{escape(what)}: {_code(value)}" for what, value in report.to_sign(result)]
    yield from _list("### To sign", signed)
    made = "\n".join(f"- {escape(what)}: {_code(value)}" for what, value in report.provenance(result))
    yield _details("Made from", made)
    yield "\n".join(f"_{escape(line)}_\n" for line in report.caveats(result))


def _head(result: Assessment) -> Iterator[str]:
    verdict, _, counts = report.headline(result).partition(": ")
    yield f"## {_SIGNS[result.verdict]} {verdict.capitalize()}: {escape(counts)}"
    yield ""
    counting = result.counting
    for number, notice in enumerate(counting[:_NOTICES], 1):
        so = f" **→ {escape(notice.consequence)}**" if notice.consequence else ""
        yield f"{number}. {escape(notice.message)}{so}"
    if len(counting) > _NOTICES:
        yield f"\n… and {len(counting) - _NOTICES} more"
    if not counting:
        yield report.no_trouble(result)
    yield ""
    lines = [f"- {escape(line)}" for line in report.below(result)]
    yield from [*lines, ""] if lines else []


def _bold(table: Sequence[tuple[str, str, str]]) -> list[tuple[str, ...]]:
    return [(what, before, after if before == after else f"**{after}**") for what, before, after in table]


def _table(title: str, head: tuple[str, ...], table: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if not table:
        return
    lines = [title, ""] if title else []
    lines += [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for row in table:
        cells = [cell if cell.startswith("**") else escape(cell) for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    yield "\n".join([*lines, ""])


def _list(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield "\n".join([title, "", *(f"- {line}" for line in lines), ""])


def _changes(result: Assessment) -> Iterator[str]:
    yield "### Changes\n"
    for plan in result.plans:
        lines = []
        for row in report.rows(plan):
            lines.append(f"- **{row.change.action}** {_code(row.address)}")
            lines += [f"  - {_code(str(each))}" + (" **forces it**" if each.forces else "") for each in row.differences]
        title = f"<b>{_html(plan.stack)}</b>: {report.tally(plan)}"
        yield _details(title, "\n".join(lines)) if lines else f"{escape(plan.stack)}: {report.tally(plan)}\n"


def _details(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>\n"


def _notice(notice: Finding) -> str:
    return f"`{notice.rule}` {escape(notice.message)}"


def escape(text: str) -> str:
    """Text as Markdown shows it: no markup, no mention of people, no HTML."""
    text = text.replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;")
    text = re.sub(r"^>", r"\\>", text)
    text = re.sub(r"([*`|~\[\]])", r"\\\1", text)
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)
    return text.replace("@", "&#64;")


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    """A code span that no backtick in the text can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"
