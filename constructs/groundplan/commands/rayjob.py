"""``groundplan rayjob``: the job's Kubernetes objects as YAML, and where each value comes from."""

from __future__ import annotations

from pathlib import Path

import click
from pydantic import TypeAdapter, ValidationError

from findings import Finding
from findings.printing import write_text
from groundplan.kernel.settings import default_profile
from groundplan.site.check import check_profile, checked_site
from groundplan.site.profile import load_profile
from groundplan.site.resolve import Site
from groundplan.workload.spec import RayJobName


@click.command()
@click.argument("profile", required=False, type=click.Path(path_type=Path))
@click.option("--explain", is_flag=True, help="Say where each value comes from instead: recipe, release, machine, you.")
@click.option("--resume-from", metavar="JOB", help="Go on from the checkpoints of this earlier RayJob of the site.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
def rayjob(profile: Path | None, explain: bool, resume_from: str | None, output: Path | None) -> None:
    """Print the Kubernetes objects of PROFILE's job, as its workload stack applies them.

    They can be applied by kubectl as well, where namespace, claim and secrets are there already. With --resume-from
    they are those of the same profile with `workload.resume_from: JOB`, which Terraform applies.
    """
    from groundplan.emit.job_origins import explain_job
    from groundplan.emit.job_text import job_text

    file = profile or default_profile()
    site, _ = checked_site(file) if resume_from is None else _resumed(file, resume_from)
    text = explain_job(site) if explain else job_text(site)
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)


def _resumed(file: Path, job: str) -> tuple[Site, list[Finding]]:
    """The checked site of the profile with `workload.resume_from` set."""
    try:
        TypeAdapter(RayJobName).validate_python(job)
    except ValidationError:
        hint = "give a RayJob's name, as `kubectl get rayjobs` shows it"
        raise click.BadParameter(f"{job!r} is no name of a RayJob; {hint}", param_hint="--resume-from") from None
    profile, source = load_profile(file)
    workload = profile.workload.model_copy(update={"resume_from": job})
    return check_profile(profile.model_copy(update={"workload": workload}), source, file.parent)
