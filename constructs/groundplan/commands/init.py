"""``groundplan init``: write a commented profile, from options or from the tutorial's exported variables."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import click
import jinja2

from findings import Finding, ProfileError, UserError
from findings.redaction import looks_secret
from findings.text import format_finding, print_findings
from groundplan.commands.schema import schema_text
from groundplan.kernel.gke import parse_reservation
from groundplan.kernel.yaml_text import to_yaml
from groundplan.site.check import check_profile
from groundplan.site.profile import parse_profile

#: The tutorial's variable -> the template's word. The first three cannot be guessed.
VARIABLES = {
    "PROJECT_ID": "project",
    "NODE_ZONE": "zone",
    "RESERVATION": "reservation",
    "CONTROL_PLANE_REGION": "region",
    "CLUSTER_NAME": "cluster",
    "MACHINE_TYPE": "machine_type",
    "GPU_TYPE": "accelerator",
    "NETWORK": "network",
    "GVNIC_NETWORK_PREFIX": "gvnic_prefix",
    "RDMA_NETWORK_PREFIX": "rdma_prefix",
    "LUSTRE_NAME": "lustre",
    "LUSTRE_ZONE": "lustre_zone",
    "NAMESPACE": "namespace",
    "KSA_NAME": "service_account",
    "CPU_MACHINE_TYPE": "cpu_machine_type",
    "GKE_VERSION": "version",
    "REPLICA_COUNT": "nodes",
}
REQUIRED = ("PROJECT_ID", "NODE_ZONE", "RESERVATION")

#: The schema that the profile's first line points to, beside it.
SCHEMA_FILE = "profile.schema.json"

#: Read for their presence only.
TOKENS = ("HF_TOKEN", "WANDB_API_KEY")

_MACHINES = {"nvidia-b200": "a4-highgpu-8g", "nvidia-h200-141gb": "a3-ultragpu-8g"}


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), default=Path("profile.yaml"))
@click.option("--from-env", is_flag=True, help="Take the values of the tutorial's exported variables.")
@click.option("--project", default="my-project", show_default=True, help="Google Cloud project id.")
@click.option("--zone", default="us-central1-b", show_default=True, help="Zone of the reservation.")
@click.option(
    "--reservation", default="my-reservation", show_default=True, help="Reservation, in any of gcloud's forms."
)
@click.option("--machine-type", default="a4-highgpu-8g", show_default=True, help="a4-highgpu-8g or a3-ultragpu-8g.")
@click.option("--site", default="nemo-rl", show_default=True, help="Name of the site.")
@click.option("--nodes", default=2, show_default=True, type=click.IntRange(1), help="GPU nodes.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
def init(file: Path, from_env: bool, force: bool, **options: Any) -> None:
    """Write a commented profile to FILE (default: profile.yaml).

    With --from-env, the variables that Google's tutorial exports are read: PROJECT_ID, NODE_ZONE, RESERVATION and what
    else is set. A token among them is never written, only a reference to it.
    """
    if file.exists() and not force:
        raise UserError(f"{file} exists; give another name, or --force to overwrite it")
    if not file.parent.is_dir():
        raise UserError(f"the folder {file.parent} does not exist")
    words = words_from_environment(os.environ) if from_env else dict(options, wandb=False, origin="")
    text = render(words)
    warnings = _checked(text, file, words.get("taken", {}))
    written = [file.name]
    try:
        file.write_text(text, "utf-8")
        schema = file.parent / SCHEMA_FILE
        if not schema.exists():
            schema.write_text(schema_text(), "utf-8")
            written.append(f"{SCHEMA_FILE} (for your editor)")
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}") from None
    for finding in warnings:
        click.echo(format_finding(finding) + "\n", err=True)
    if from_env:
        click.echo(f"taken from the environment: {', '.join(words['taken'].values())}")
        for token in words["tokens"]:
            click.echo(
                f"{token} is set: its value was not written; Terraform will ask for it (secrets: in the profile)"
            )
    click.echo(f"wrote {' and '.join(written)}\nnext: groundplan synth {file}")


def words_from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """The template's words from the tutorial's variables. Raises UserError naming what is missing."""
    given = {name: environment[name].strip() for name in VARIABLES if environment.get(name, "").strip()}
    for name, value in given.items():
        if looks_secret(value):
            raise UserError(f"${name} holds what looks like a token; export it as HF_TOKEN or WANDB_API_KEY instead")
    missing = [name for name in REQUIRED if name not in given]
    if missing:
        raise UserError(f"not exported: {', '.join(missing)}; --from-env needs them (see the tutorial's first step)")
    words: dict[str, Any] = {VARIABLES[name]: value for name, value in given.items()}
    prefix = environment.get("NETWORK_PREFIX", "").strip()
    if prefix and "network" not in words:
        words["network"] = f"{prefix}-nemo-rl"
        given["NETWORK_PREFIX"] = prefix
    words.setdefault("machine_type", _MACHINES.get(words.get("accelerator", ""), "a4-highgpu-8g"))
    if _MACHINES.get(words.get("accelerator", "")) == words["machine_type"]:
        del words["accelerator"]
    count = words.get("nodes", "2")
    if not str(count).isdigit():
        raise UserError(f"$REPLICA_COUNT is {count} and must be a whole number")
    words |= {"nodes": int(count), "pool": "gpu-pool", "site": _site_name(words.get("cluster", ""))}
    words["wandb"] = bool(environment.get("WANDB_API_KEY"))
    words["origin"] = " from the tutorial's variables"
    words["tokens"] = [name for name in TOKENS if environment.get(name)]
    words["taken"] = {VARIABLES.get(name, "network"): name for name in given}
    return words


def render(words: Mapping[str, Any]) -> str:
    """The profile's text; every value is written so that YAML reads it back as the same text."""
    reservation = _reservation(str(words["reservation"]))
    # Every word of the template is given: jinja would fill a missing one with its own globals (`namespace`).
    values: dict[str, Any] = dict.fromkeys((*VARIABLES.values(), "pool", "wandb"))
    values |= {
        key: _scalar(value) if isinstance(value, str) and key != "origin" else value
        for key, value in words.items()
        if key not in ("taken", "tokens")
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
    return environment.from_string(template).render(schema=SCHEMA_FILE, **values)


def _site_name(cluster: str) -> str:
    name = re.sub(r"[^-a-z0-9]", "-", cluster.lower())[:20].strip("-")
    return name if re.match(r"[a-z]", name) else "nemo-rl"


def _reservation(text: str) -> dict[str, str]:
    found = parse_reservation(text)
    parts = dataclasses.asdict(found) if found else {"name": text}
    return {key: parts[key] for key in ("name", "project", "block", "sub_block") if parts.get(key)}


def _scalar(value: str) -> str:
    return to_yaml(value).partition("\n")[0]


def _checked(text: str, file: Path, taken: Mapping[str, str]) -> list[Finding]:
    """Refuse to write a profile that `check` would refuse; findings name the variable they come from."""
    try:
        return check_profile(*parse_profile(text, str(file)), folder=file.parent)[1]
    except ProfileError as error:
        print_findings(error.findings)
        source = f" from {', '.join(taken.values())}" if taken else ""
        raise UserError(f"{file} was not written: the values{source} do not make a valid profile") from None
