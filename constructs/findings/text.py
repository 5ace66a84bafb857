"""Findings as text, in the manner of a good compiler: place, message, the line, a caret, the mend."""

from __future__ import annotations

from collections.abc import Iterable

import click

from findings import Finding, Location, Severity

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}

#: Columns of a source line that are shown; a longer line is cut around the caret.
_WIDTH = 120


def print_findings(findings: list[Finding]) -> None:
    """Print findings to standard error, and a last line that counts them."""
    for finding in findings:
        click.echo(format_finding(finding), err=True)
        click.echo(err=True)
    click.echo(summary(findings), err=True)


def format_finding(finding: Finding) -> str:
    """One finding: severity, rule, message; the file's line with a caret; the mend, or why it is ignored."""
    word = "ignored" if finding.ignored else str(finding.severity)
    colour = "cyan" if finding.ignored else _COLOURS[finding.severity]
    lines = [f"{click.style(f'{word}[{finding.rule}]', fg=colour, bold=True)}: {_printable(finding.message)}"]
    if finding.location:
        lines += _excerpt(finding.location)
    elif finding.where:
        lines.append(f"  --> {finding.where}")
    if finding.ignored:
        lines.append(f"  {click.style('reason', fg='cyan')}: {_printable(finding.ignored)}")
    elif finding.hint:
        lines.append(f"  {click.style('help', fg='cyan')}: {_printable(finding.hint)}")
    return "\n".join(lines)


def _excerpt(place: Location) -> list[str]:
    """File, line and column; the source line with a caret below the column."""
    lines = [f"  --> {place.file}:{place.line}:{place.column}"]
    if not place.text.strip():
        return lines
    number, margin = str(place.line), " " * len(str(place.line))
    column = min(place.column, len(place.text) + 1)
    cut = max(0, column - 1 - _WIDTH // 2) if len(place.text) > _WIDTH else 0
    text = _printable(place.text[cut : cut + _WIDTH])
    return [*lines, f" {margin} |", f" {number} | {text}", f" {margin} | {' ' * (column - 1 - cut)}^"]


def _printable(text: str) -> str:
    """`text` without line breaks and whatever else a terminal would act on."""
    return "".join(c if c.isprintable() else " " for c in text)


def summary(findings: Iterable[Finding]) -> str:
    """``2 errors, 1 warning``; those that the profile ignores are counted apart."""
    errors = warnings = ignored = 0
    for finding in findings:
        if finding.ignored:
            ignored += 1
        elif finding.severity is Severity.ERROR:
            errors += 1
        else:
            warnings += 1
    parts = [f"{n} {word}{'s' if n != 1 else ''}" for n, word in ((errors, "error"), (warnings, "warning")) if n]
    parts += [f"{ignored} ignored"] if ignored else []
    return ", ".join(parts) or "no findings"
