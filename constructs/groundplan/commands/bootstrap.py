"""``groundplan bootstrap``: what an administrator applies once, before a site."""

from __future__ import annotations

from pathlib import Path

import click

from findings import UnavailableError
from groundplan.kernel.settings import default_profile
from groundplan.site.check import checked_site


@click.command()
@click.argument("profile", required=False, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("bootstrap"),
    show_default=True,
    help="Folder to write to.",
)
@click.option("--github", default="", metavar="OWNER/REPOSITORY", help="Repository whose workflows plan and apply.")
@click.option(
    "--kubectl",
    "people",
    multiple=True,
    metavar="MEMBER",
    help="Who may use kubectl in the cluster: user:NAME@DOMAIN or group:NAME@DOMAIN. Repeatable.",
)
def bootstrap(profile: Path | None, output: Path, github: str, people: tuple[str, ...]) -> None:
    """Write one more stack, for an administrator to apply once before the site of PROFILE.

    It holds the APIs, the state bucket of `backend.gcs`, an account that applies and one that only plans, with their
    roles, and Workload Identity Federation for GitHub Actions (--github) or for Terraform Cloud (`backend.cloud`).
    There is no key in it.

    \b
    groundplan bootstrap profiles/my-site.yaml --github my-organization/my-site --kubectl group:research@example.com
    terraform -chdir=bootstrap/stacks/my-site-bootstrap init
    """
    from groundplan.emit.bootstrap_values import bootstrap_of

    site, _ = checked_site(profile or default_profile())
    values = bootstrap_of(site, github=github, people=people)
    from groundplan.emit.write_bootstrap import write_bootstrap  # cdktf: a second

    try:
        file = write_bootstrap(values, output)
    except OSError as error:
        raise UnavailableError(f"cannot write to {output}: {error.strerror}") from None
    click.echo(f"wrote {file}\nnext: an administrator of {values.project} applies it, once; docs/bootstrap.md says how")
