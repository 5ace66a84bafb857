"""``groundplan check``: say everything that is wrong with profiles."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import click

from findings import UNREADABLE
from findings.printing import print_report
from findings.redaction import printable_report
from groundplan.commands.fleet import profiles_in
from groundplan.kernel.settings import default_profile
from groundplan.site.check import Checked, check_files, has_errors


def _day(context: click.Context, parameter: click.Parameter, value: str | None) -> date | None:
    try:
        return date.fromisoformat(value) if value else None
    except ValueError:
        raise click.BadParameter(f"{value} is not a day such as 2026-12-01") from None


@click.command()
@click.argument("profiles", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
    help="How findings are printed: for people, for programs, as annotations of a pull request, for code scanning.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to this file.")
@click.option("--strict", is_flag=True, help="Exit 1 on warnings too.")
@click.option(
    "--as-of", callback=_day, metavar="DATE", help="Judge what expires by this day; without it nothing expires."
)
def check(profiles: tuple[Path, ...], format_: str, output: Path | None, strict: bool, as_of: date | None) -> None:
    """Say everything that is wrong with PROFILES, and exit 1 if that is more than warnings.

    Each profile is checked on its own; several also against one another, for clashes between sites of one project or
    network. A folder stands for the profiles in it, `-` for standard input. Without PROFILES, the one that
    GROUNDPLAN_PROFILE or the `profile` context of cdktf.json names is taken, else profile.yaml.

    A rule can be ignored in the profile: `ignore: [{rule: RULE, reason: why}]`. It stays in the report.

    \b
    groundplan check profiles/nemo-rl-b200.yaml
    groundplan check profiles/ --strict
    groundplan check profiles/*.yaml --format sarif > groundplan.sarif
    """
    files = profiles_in(profiles or (default_profile(),))
    results = check_files(files, as_of)
    if format_ == "text" and output is None:
        _print_text(results)
    else:
        print_report(_render(format_, results), "groundplan check", output)
    findings = [finding for result in results for finding in result.findings]
    if any(finding.rule == UNREADABLE for finding in findings):
        sys.exit(2)
    if has_errors(findings, strict=strict):
        sys.exit(1)


def _render(format_: str, results: Sequence[Checked]) -> str:
    if format_ == "text":
        return click.unstyle("".join(f"{text}\n" for text, _ in _text(results)))
    from groundplan.emit import check_reports as reports  # only for programs' formats

    write = {"json": reports.as_json, "github": reports.as_github, "sarif": reports.as_sarif}[format_]
    return write(results)


def _print_text(results: Sequence[Checked]) -> None:
    for text, mistaken in _text(results):
        click.echo(text, err=mistaken)


def _text(results: Sequence[Checked]) -> Iterator[tuple[str, bool]]:
    """The report for people, part by part, and whether a part is about a file that cannot be read.

    Findings are what `check` is asked for; such a file is a mistake in the asking, and is told on standard error.
    """
    from findings.text import format_finding, summary

    for result in results:
        for finding in result.findings:
            yield printable_report(format_finding(finding))[0] + "\n", finding.rule == UNREADABLE
    findings = [finding for result in results for finding in result.findings]
    if findings and len(results) > 1:
        for result in results:
            yield f"{result.file}: {summary(result.findings)}", False
    what = results[0].file if len(results) == 1 else f"{len(results)} profiles"
    ok = "" if has_errors(findings) else "ok, "
    yield f"{what}: {ok}{summary(findings)}", False
