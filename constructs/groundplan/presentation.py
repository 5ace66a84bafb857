"""Findings as text, in the manner of a good compiler: place, message, the line, a caret, the mend."""

from __future__ import annotations

import click

from groundplan.findings import Finding, Severity

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


def print_findings(findings: list[Finding]) -> None:
    """Print findings to standard error, and a last line that counts them."""
    for finding in findings:
        click.echo(format_finding(finding), err=True)
        click.echo(err=True)
    click.echo(summary(findings), err=True)


def format_finding(finding: Finding) -> str:
    """One finding: severity, rule, message; the file's line with a caret; the mend."""
    head = click.style(f"{finding.severity}[{finding.rule}]", fg=_COLOURS[finding.severity], bold=True)
    lines = [f"{head}: {finding.message}"]
    place = finding.location
    if place:
        lines.append(f"  --> {place.file}:{place.line}:{place.column}")
        if place.text.strip():
            number = str(place.line)
            margin = " " * len(number)
            text = place.text.expandtabs(1)
            lines += [f" {margin} |", f" {number} | {text}", f" {margin} | {' ' * (place.column - 1)}^"]
    if finding.hint:
        lines.append(f"  {click.style('help', fg='cyan')}: {finding.hint}")
    return "\n".join(lines)


def summary(findings: list[Finding]) -> str:
    """``2 errors, 1 warning``."""
    errors = sum(f.severity is Severity.ERROR for f in findings)
    warnings = len(findings) - errors
    parts = [f"{n} {word}{'s' if n != 1 else ''}" for n, word in ((errors, "error"), (warnings, "warning")) if n]
    return ", ".join(parts) or "no findings"
