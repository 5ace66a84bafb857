"""``groundplan rehearse``: the command. Thin: it synthesizes, rehearses, and prints."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click

from staged_terraform import OptionalPackageMissing, require_optional_packages

_UNTIL = ("validate", "plan", "apply", "destroy")


@click.command("rehearse")
@click.argument("profile", type=click.Path(exists=True, path_type=Path))
@click.option("--until", type=click.Choice(_UNTIL), default="destroy", show_default=True, help="The last step to take.")
@click.option("--stack", default="", metavar="STACK", help="Stop after this stack (network, storage, cluster, ...).")
@click.option(
    "--fault", "faults", multiple=True, metavar="KIND[:TYPE]", help="Play a fault, then recover; TYPE may be `each`."
)
@click.option("--existing", multiple=True, metavar="TYPE/NAME", help="Something outside the site that exists already.")
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="Keep plans and report in this folder.")
@click.option(
    "--from",
    "previous",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A synth output to build first: what is planned is the upgrade from it.",
)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.pass_context
def rehearse(
    context: click.Context,
    profile: Path,
    until: str,
    stack: str,
    faults: tuple[str, ...],
    existing: tuple[str, ...],
    keep: Path | None,
    previous: Path | None,
    form: str,
) -> None:
    """Take a site through the real Terraform on simulated providers: no cloud, no credentials, no network.

    PROFILE is a profile, or the folder of a synth output. The stacks are validated, planned and applied in order in
    one simulated cloud, planned again (nothing may be left to change), and destroyed. Your state and folders are not
    touched.

    Faults: quota, stock-out, reservation-not-found, timeout, api-disabled, drift, normalise, interrupt, kill, lock.
    """
    try:
        require_optional_packages()
    except OptionalPackageMissing as problem:
        _refuse(context, str(problem))
    # Only now: these need the extra's packages.
    from groundplan.emit.rehearsal import rehearse as rehearsed
    from staged_terraform import Fault, NoStacks, Options, Progress, StackMissing, TerraformMissing, WheelMissing
    from staged_terraform import executable as terraform
    from staged_terraform import text as summary

    try:
        terraform()
        for each in faults:
            Fault.parse(each)
        outside = frozenset(_existing(each) for each in existing)
        options = Options(
            until=until,  # type: ignore[arg-type]
            stack=stack,
            faults=faults,
            previous=previous,
            existing=outside,
            keep=keep,
        )
        with tempfile.TemporaryDirectory(prefix="groundplan-synth-") as folder, Progress() as progress:
            report = rehearsed(_synth_output(profile, Path(folder)), options, progress)
    except (TerraformMissing, WheelMissing, NoStacks, StackMissing, ValueError) as problem:
        _refuse(context, str(problem))
    click.echo(json.dumps(report.to_json(), indent=2) if form == "json" else summary(report))
    context.exit(0 if report.ok else 1)


def _refuse(context: click.Context, line: str) -> None:
    click.echo(f"groundplan rehearse: {line}", err=True)
    context.exit(2)


def _existing(text: str) -> tuple[str, str]:
    kind, slash, name = text.partition("/")
    if not slash or not kind or not name:
        raise ValueError(f"--existing {text}: write TYPE/NAME, for example google_compute_network/shared")
    return kind, name.rpartition("/")[2]


def _synth_output(profile: Path, folder: Path) -> Path:
    """The synth output to rehearse: the folder given, or one synthesized from the profile."""
    if profile.is_dir():
        return profile
    from groundplan.emit.app import synthesize  # jinja2 and all rules, which a folder does not need

    out = folder / "out"
    synthesize(profile, out)
    return out
