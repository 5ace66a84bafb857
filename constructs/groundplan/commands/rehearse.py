"""``groundplan rehearse``: the command. Thin: it synthesizes, rehearses, and prints."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from findings import RULES, Location, Subject, writers
from findings.printing import print_report
from groundplan import __version__
from groundplan.kernel.folders import made
from groundplan.kernel.settings import default_profile
from groundplan.site.stacks import STACKS
from staged_terraform import OptionalPackageMissing, require_optional_packages

if TYPE_CHECKING:
    from staged_terraform import Report

_UNTIL = ("validate", "plan", "apply", "destroy")


def _completed_stacks(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in STACKS if name.startswith(incomplete)]


@click.command("rehearse")
@click.argument("profile", required=False, type=click.Path(path_type=Path))
@click.option("--until", type=click.Choice(_UNTIL), default="destroy", show_default=True, help="The last step to take.")
@click.option(
    "--stack",
    default="",
    metavar="STACK",
    shell_complete=_completed_stacks,
    help="Stop after this stack (network, storage, cluster, ...).",
)
@click.option(
    "--fault", "faults", multiple=True, metavar="KIND[:TYPE]", help="Play a fault, then recover; TYPE may be `each`."
)
@click.option("--existing", multiple=True, metavar="TYPE/NAME", help="Something outside the site that exists already.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to this file.")
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="Keep plans and report in this folder.")
@click.option(
    "--from",
    "previous",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A synth output to build first: what is planned is the upgrade from it.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "github", "sarif")),
    default="text",
    show_default=True,
    help="How it is told: for people, for programs, as annotations of a pull request, for code scanning.",
)
@click.pass_context
def rehearse(
    context: click.Context,
    profile: Path | None,
    until: str,
    stack: str,
    faults: tuple[str, ...],
    existing: tuple[str, ...],
    keep: Path | None,
    previous: Path | None,
    form: str,
    output: Path | None,
) -> None:
    """Take a site through the real Terraform on simulated providers: no cloud, no credentials, no network.

    PROFILE is a profile (default: as for `groundplan synth`), or the folder of a synth output. The stacks are
    validated, planned and applied in order in one simulated cloud, planned again (nothing may be left to change), and
    destroyed. Your state and folders are not touched.

    Faults: quota, stock-out, reservation-not-found, timeout, api-disabled, drift, normalise, interrupt, kill, lock,
    failed-install; api-401, api-503, api-reset (of the Kubernetes API, when a stack that stands is refreshed).
    """
    profile = profile or default_profile()
    try:
        require_optional_packages()
    except OptionalPackageMissing as problem:
        _refuse(context, str(problem))
    # Only now: these need the extra's packages.
    from groundplan.emit.rehearsal import rehearse as rehearsed
    from staged_terraform import Fault, NoStacks, Options, Progress, StackMissing, TerraformMissing, WheelMissing
    from staged_terraform import executable as terraform

    try:
        terraform()
        for each in faults:
            Fault.parse(each)
        named = frozenset(_existing(each) for each in existing)
        with (
            made(keep) if keep else nullcontext(),  # said now, not after the rehearsal, when it cannot be
            tempfile.TemporaryDirectory(prefix="groundplan-synth-") as folder,
            Progress() as progress,
        ):
            folders, outside = _synth_output(profile, Path(folder))
            options = Options(
                until=until,  # type: ignore[arg-type]
                stack=stack,
                faults=faults,
                previous=previous,
                existing=named | outside,
                keep=keep,
            )
            report = rehearsed(folders, options, progress)
    except (TerraformMissing, WheelMissing, NoStacks, StackMissing, ValueError) as problem:
        _refuse(context, str(problem))
    print_report(_render(form, report, profile), "groundplan rehearse", output)
    context.exit(0 if report.ok else 1)


def _render(form: str, report: Report, profile: Path) -> str:
    """The report in the form asked for; findings stand at the profile, for that is what can be mended."""
    from staged_terraform import text

    if form == "text":
        return text(report) + "\n"
    if form == "json":
        return writers.as_json(report.to_json())
    placed = [replace(each, location=Location(str(profile), 1, 1)) for each in report.findings]
    if form == "github":
        return writers.as_github(placed)
    return writers.as_sarif("groundplan", __version__, placed, RULES.of(Subject.REHEARSAL))


def _refuse(context: click.Context, line: str) -> None:
    click.echo(f"groundplan rehearse: {line}", err=True)
    context.exit(2)


def _existing(text: str) -> tuple[str, str]:
    kind, slash, name = text.partition("/")
    if not slash or not kind or not name:
        raise ValueError(f"--existing {text}: write TYPE/NAME, for example google_compute_network/shared")
    return kind, name.rpartition("/")[2]


def _synth_output(profile: Path, folder: Path) -> tuple[Path, frozenset[tuple[str, str]]]:
    """The synth output to rehearse, and what exists beside it: the folder given, or one made from the profile."""
    if profile.is_dir():
        return profile, frozenset()
    from groundplan.emit.app import synthesize  # jinja2 and all rules, which a folder does not need
    from groundplan.emit.rehearsal import outside_of

    out = folder / "out"
    return out, outside_of(synthesize(profile, out).site)
