"""``groundplan synth``: write the Terraform of a site."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from findings.text import format_finding
from groundplan.kernel.settings import default_profile

if TYPE_CHECKING:
    from groundplan.emit.app import Output


@click.command()
@click.argument("profiles", nargs=-1, metavar="[PROFILE]...", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "--out",
    "out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("cdktf.out"),
    show_default=True,
    help="Folder to write to.",
)
@click.option("--strict", is_flag=True, help="Refuse the profile on warnings too.")
@click.option("--check", "compare", is_flag=True, help="Write nothing; exit 1 unless OUT already holds exactly this.")
@click.option("--replace", is_flag=True, help="Take away the stacks of another site that OUT holds.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors and warnings only.")
def synth(profiles: tuple[Path, ...], out: Path, strict: bool, compare: bool, replace: bool, quiet: bool) -> None:
    """Write the Terraform stacks of PROFILE, its run-book and its job.

    Without PROFILE, the one that GROUNDPLAN_PROFILE or the `profile` context of cdktf.json names is taken, else
    profile.yaml. Nothing is written when a rule refuses the profile. One folder holds one site: each further site gets
    a folder of its own.

    Several profiles, or a folder of them, are one fleet: they are checked against one another too, each is written to
    OUT/NAME by the name of its file, and one that is refused leaves the others alone.

    \b
    groundplan synth profiles/nemo-rl-b200.yaml
    groundplan synth profiles/smoke.yaml -o smoke
    groundplan synth profiles/nemo-rl-b200.yaml --check
    groundplan synth profiles/ -o sites
    """
    from groundplan.emit.app import synthesize
    from groundplan.emit.compare import differences

    started = time.perf_counter()
    if len(profiles) > 1 or (profiles and profiles[0].is_dir()):
        from groundplan.commands.fleet import profiles_in, synth_fleet

        files = profiles_in(profiles)
        if not synth_fleet(files, out, strict=strict, compare=compare, replace=replace, quiet=quiet):
            sys.exit(1)
        return
    profile = profiles[0] if profiles else default_profile()
    if compare:
        changed = differences(profile, out, strict=strict)
        for line in changed:
            click.echo(line, err=True)
        if changed:
            raise click.ClickException(f"{out} is not what {profile} gives; run groundplan synth {profile} -o {out}")
        if not quiet:
            click.echo(f"{out} is exactly what {profile} gives")
        return
    output = synthesize(profile, out, strict=strict, replace=replace)
    for finding in output.warnings:
        click.echo(format_finding(finding) + "\n", err=True)
    if not quiet:
        _report(output, out, time.perf_counter() - started)


def _report(output: Output, out: Path, seconds: float) -> None:
    width = max(len(stack.name) for stack in output.stacks)
    click.echo(f"{'stack':{width}}  resources  file")
    for stack in output.stacks:
        click.echo(f"{stack.name:{width}}  {stack.count:9}  {os.path.relpath(stack.file)}")
    total = sum(stack.count for stack in output.stacks)
    click.echo(f"\n{total} resources in {len(output.stacks)} stacks, {seconds:.1f} s")
    first = os.path.relpath(output.stacks[0].file.parent)
    click.echo(
        "\nNext:\n"
        f"  less {out / 'runbook.md'}    the order, day-2 work, and how to destroy\n"
        f"  terraform -chdir={first} init\n"
        f"  terraform -chdir={first} plan"
    )
