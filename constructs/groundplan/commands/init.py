"""``groundplan init``: write a commented profile, from options or from the tutorial's exported variables."""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import click
import jinja2

from findings import Finding, ProfileError, UserError
from findings.printing import write_text
from findings.text import format_finding, print_findings
from groundplan.catalog import load_catalog
from groundplan.commands.repository import refuse_files_that_are_there, repository_files, write_repository
from groundplan.commands.schema import schema_text
from groundplan.commands.tutorial_variables import VARIABLES, Taken, variable_at, words_from_environment
from groundplan.kernel.gke import parse_reservation
from groundplan.kernel.settings import PROFILE_FILE, PROFILE_VARIABLE
from groundplan.kernel.yaml_text import to_yaml
from groundplan.site.check import check_profile
from groundplan.site.profile import parse_profile

#: The schema that the profile's first line points to, beside it.
SCHEMA_FILE = "profile.schema.json"


def _completed_machines(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [n for n, machine in load_catalog().machines.items() if machine.gpu and n.startswith(incomplete)]


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), default=Path("profile.yaml"))
@click.option("--from-env", is_flag=True, help="Take the values of the tutorial's exported variables.")
@click.option("--project", default="my-project", show_default=True, help="Google Cloud project id.")
@click.option("--zone", default="us-central1-b", show_default=True, help="Zone of the reservation.")
@click.option(
    "--reservation", default="my-reservation", show_default=True, help="Reservation, in any of gcloud's forms."
)
@click.option(
    "--machine-type",
    default="a4-highgpu-8g",
    show_default=True,
    shell_complete=_completed_machines,
    help="GPU machine type (`groundplan catalog machines`), such as a4-highgpu-8g or a3-ultragpu-8g.",
)
@click.option("--site", default="nemo-rl", show_default=True, help="Name of the site.")
@click.option("--nodes", default=2, show_default=True, type=click.IntRange(1), help="GPU nodes.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@click.option(
    "--repository",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write a repository around the profile: its output, scripts, and a workflow that runs them.",
)
@click.option("--state-bucket", "bucket", default="", help="With --repository: bucket of the states; plans by GitHub.")
@click.option("--organization", default="", help="With --repository: Terraform Cloud organization, which plans.")
def init(file: Path, from_env: bool, force: bool, repository: Path | None, **options: Any) -> None:
    """Write a commented profile to FILE (default: profile.yaml).

    With --from-env, the variables that Google's tutorial exports are read: PROJECT_ID, NODE_ZONE and RESERVATION, which
    must be set, and NETWORK_PREFIX, CONTROL_PLANE_REGION, CLUSTER_NAME, MACHINE_TYPE, GPU_TYPE, NETWORK,
    GVNIC_NETWORK_PREFIX, RDMA_NETWORK_PREFIX, LUSTRE_NAME, LUSTRE_ZONE, NAMESPACE, KSA_NAME, CPU_MACHINE_TYPE,
    GKE_VERSION and REPLICA_COUNT, where they are. An option that is given goes before its variable. Of HF_TOKEN and
    WANDB_API_KEY only a reference is written, never the value.

    With --repository, FILE is not used: the profile is FOLDER/profiles/SITE.yaml.

    \b
    groundplan init
    groundplan init --repository my-site --site my-site --state-bucket my-states
    groundplan init --repository my-site --site my-site --organization my-organization
    """
    backend = {key: options.pop(key) for key in ("bucket", "organization")}
    if repository is None and any(backend.values()):
        raise click.UsageError("--state-bucket and --organization go with --repository")
    if repository is not None:
        if sum(map(bool, backend.values())) != 1:
            raise click.UsageError("--repository needs one of --state-bucket and --organization")
        refuse_files_that_are_there(repository)
    if file.exists() and not force:
        raise UserError(f"{file} exists; give another name, or --force to overwrite it")
    if not file.parent.is_dir():
        raise UserError(f"the folder {file.parent} does not exist")
    typed = {name: value for name, value in options.items() if _is_given(name)}
    taken = words_from_environment(_with_options(os.environ, typed)) if from_env else None
    words = taken.words | typed if taken else dict(options, wandb=False, origin="")
    sources = dict(taken.variables) if taken else {}
    names = {word: f"${name}" for word, name in sources.items()} | {n: f"--{n.replace('_', '-')}" for n in typed}
    names |= {"bucket": "--state-bucket", "organization": "--organization"}
    named = file  # as a command in the folder of the work names it
    if repository is not None:
        named = Path("profiles", f"{words['site']}.yaml")
        file = repository / named
    text = render(words | {key: value for key, value in backend.items() if value}, named)
    warnings = _checked(text, file, names)
    written = [file.name]
    if repository is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, text)
    schema = file.parent / SCHEMA_FILE
    if not schema.exists():
        write_text(schema, schema_text())
        written.append(f"{SCHEMA_FILE} (for your editor)")
    for finding in warnings:
        click.echo(format_finding(finding) + "\n", err=True)
    if taken:
        _tell(taken, {word: name for word, name in sources.items() if word not in typed})
    if repository is not None:
        _write_repository(repository, file, words, backend)
        return
    argument = _argument(file)
    click.echo(f"wrote {' and '.join(written)}\nnext: groundplan check{argument}, then groundplan synth{argument}")


def _write_repository(folder: Path, profile: Path, words: Mapping[str, Any], backend: Mapping[str, str]) -> None:
    from groundplan.emit.app import synthesize  # cdktf, which no other init needs

    site = str(words["site"])
    write_repository(folder, repository_files(site, str(words["project"]), **backend))
    synthesize(profile, folder / "sites" / site)
    click.echo(
        f"wrote a repository to {folder}: profiles/{site}.yaml, sites/{site}, scripts, .github/workflows/site.yaml\n"
        f"next: cd {shlex.quote(str(folder))}, git init, scripts/check, and README.md for what the workflow needs"
    )


def _is_given(option: str) -> bool:
    return click.get_current_context().get_parameter_source(option) is not click.core.ParameterSource.DEFAULT


def _with_options(environment: Mapping[str, str], typed: Mapping[str, Any]) -> dict[str, str]:
    """The environment with the options that were given in the place of their variables."""
    names = {variable.word: name for name, variable in VARIABLES.items()}
    return dict(environment) | {names[word]: str(value) for word, value in typed.items() if word in names}


def _tell(taken: Taken, variables: Mapping[str, str]) -> None:
    click.echo(f"taken from the environment: {', '.join(variables.values())}")
    for name, why in taken.unused.items():
        click.echo(f"{name} is set and was not taken: {why}")
    for token in taken.tokens:
        click.echo(f"{token} is set: its value was not written; Terraform will ask for it (secrets: in the profile)")


def _argument(file: Path) -> str:
    """What a command needs to find `file`: nothing where it is the one that is meant when none is named."""
    return "" if file == Path(PROFILE_FILE) and PROFILE_VARIABLE not in os.environ else f" {shlex.quote(str(file))}"


def render(words: Mapping[str, Any], file: Path = Path(PROFILE_FILE)) -> str:
    """The profile's text; every value is written so that YAML reads it back as the same text."""
    reservation = _reservation(str(words["reservation"]))
    # Every word of the template is given: jinja would fill a missing one with its own globals (`namespace`).
    words_of_variables = [variable.word for variable in VARIABLES.values()]
    values: dict[str, Any] = dict.fromkeys((*words_of_variables, "pool", "wandb", "bucket", "organization"))
    values |= {
        key: _scalar(value) if isinstance(value, str) and key != "origin" else value for key, value in words.items()
    }
    values["reservation"] = (
        {key: _scalar(value) for key, value in reservation.items()}
        if len(reservation) > 1
        else _scalar(reservation["name"])
    )
    template = resources.files("groundplan.commands").joinpath("profile.yaml.j2").read_text("utf-8")
    environment = jinja2.Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # YAML
    )
    return environment.from_string(template).render(schema=SCHEMA_FILE, argument=_argument(file), **values)


def _reservation(text: str) -> dict[str, str]:
    found = parse_reservation(text)
    parts = dataclasses.asdict(found) if found else {"name": text}
    return {key: parts[key] for key in ("name", "project", "block", "sub_block") if parts.get(key)}


def _scalar(value: str) -> str:
    return to_yaml(value).partition("\n")[0]


def _checked(text: str, file: Path, names: Mapping[str, str]) -> list[Finding]:
    """Refuse to write a profile that `check` would refuse; findings name the variable or option they come from."""
    try:
        return check_profile(*parse_profile(text, str(file)), folder=file.parent)[1]
    except ProfileError as error:
        blamed = [variable_at(finding.path, names) for finding in error.findings]
        # There is no file to look at: where the value came from is its place.
        print_findings(
            [
                dataclasses.replace(finding, location=None, address=name or "a default that does not go with it")
                for finding, name in zip(error.findings, blamed, strict=True)
            ]
        )
        wrong = ", ".join(dict.fromkeys(filter(None, blamed))) or "the values, which do not go together"
        raise UserError(f"{file} was not written: correct {wrong}") from None
