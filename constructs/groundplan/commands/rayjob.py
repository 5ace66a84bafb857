"""``groundplan rayjob``: the job's Kubernetes objects as YAML, and where each value comes from."""

from __future__ import annotations

from pathlib import Path

import click
from pydantic import TypeAdapter, ValidationError

from findings import Finding, UserError
from findings.printing import write_text
from groundplan.kernel.settings import default_profile
from groundplan.site.check import check_profile, checked_site
from groundplan.site.profile import load_profile
from groundplan.site.resolve import Site
from groundplan.workload.spec import RayJobName


@click.command()
@click.argument("profile", required=False, type=click.Path(path_type=Path))
@click.option("--explain", is_flag=True, help="Say where each value comes from instead: recipe, release, machine, you.")
@click.option("--job", "name", metavar="NAME", help="Of several jobs, this one: its name in `workload.jobs`.")
@click.option("--resume-from", metavar="JOB", help="Go on from the checkpoints of this earlier RayJob of the site.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
def rayjob(profile: Path | None, explain: bool, name: str | None, resume_from: str | None, output: Path | None) -> None:
    """Print the Kubernetes objects of PROFILE's job, or jobs, as its workload stack applies them.

    They can be applied by kubectl as well, where namespace, claim and secrets are there already. With --resume-from
    they are those of the same profile with `workload.resume_from: JOB`, which Terraform applies; of several jobs --job
    says which.
    """
    from groundplan.emit.job_origins import explain_job
    from groundplan.emit.job_text import job_text

    file = profile or default_profile()
    site, _ = checked_site(file) if resume_from is None else _resumed(file, resume_from, name)
    if not site.has_job:
        raise UserError(f"{file}: site {site.name} has no job: `workload.mode` is none; set `job` or `cluster`")
    views = _views(site, name)
    text = "\n".join(explain_job(view) for view in views) if explain else job_text(site, views)
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)


def _views(site: Site, name: str | None) -> list[Site]:
    """The site as the job called `name` sees it; as every job does where none is named."""
    if name is None:
        return list(site.views)
    found = [view for view in site.views if site.parts and view.profile.workload.name == name]
    if not found:
        names = ", ".join(str(part.spec.name) for part in site.parts)
        known = f"its jobs are {names}" if names else "it has one job, and needs no --job"
        raise click.BadParameter(f"site {site.name} has no job {name!r}; {known}", param_hint="--job")
    return found


def _resumed(file: Path, job: str, name: str | None) -> tuple[Site, list[Finding]]:
    """The checked site of the profile with `workload.resume_from` set."""
    try:
        TypeAdapter(RayJobName).validate_python(job)
    except ValidationError:
        hint = "give a RayJob's name, as `kubectl get rayjobs` shows it"
        raise click.BadParameter(f"{job!r} is no name of a RayJob; {hint}", param_hint="--resume-from") from None
    profile, source = load_profile(file)
    workload = profile.workload.model_copy(update={"resume_from": job})
    if profile.workload.jobs:
        named = [entry.name for entry in profile.workload.jobs]
        if name not in named:
            hint = f"say which goes on with --job: {', '.join(named)}"
            raise click.BadParameter(f"the site has several jobs; {hint}", param_hint="--resume-from")
        entries = [e.model_copy(update={"resume_from": job}) if e.name == name else e for e in profile.workload.jobs]
        workload = profile.workload.model_copy(update={"jobs": entries})
    return check_profile(profile.model_copy(update={"workload": workload}), source, file.parent)
