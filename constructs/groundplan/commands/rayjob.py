"""``groundplan rayjob``: the job's Kubernetes objects as YAML, and where each value comes from."""

from __future__ import annotations

from pathlib import Path

import click

from findings.printing import write_text
from groundplan.kernel.settings import default_profile
from groundplan.site.check import checked_site


@click.command()
@click.argument("profile", required=False, type=click.Path(path_type=Path))
@click.option("--explain", is_flag=True, help="Say where each value comes from instead: recipe, release, machine, you.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
def rayjob(profile: Path | None, explain: bool, output: Path | None) -> None:
    """Print the Kubernetes objects of PROFILE's job, as its workload stack applies them.

    They can be applied by kubectl as well, where namespace, claim and secrets are there already.
    """
    from groundplan.emit.job_origins import explain_job
    from groundplan.emit.job_text import job_text

    site, _ = checked_site(profile or default_profile())
    text = explain_job(site) if explain else job_text(site)
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)
