"""``groundplan doctor``: what is installed, what is missing, and how to get it."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click

from fast_bindings import BindingsError, use_node
from groundplan.catalog.newer import pinned_versions

#: Oldest Terraform that takes write-only arguments and ephemeral variables.
TERRAFORM_FLOOR = (1, 11)

CORE = (
    "cdktf",
    "cdktf-cdktf-provider-google",
    "cdktf-cdktf-provider-kubernetes",
    "cdktf-cdktf-provider-helm",
)


REHEARSAL = ("grpcio", "msgpack")


@dataclass(frozen=True)
class Check:
    """One line of the report. `needed_for` is empty when groundplan cannot work at all without it."""

    name: str
    ok: bool
    found: str
    mend: str = ""
    needed_for: str = ""


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def doctor(form: str) -> None:
    """Say what is installed, what is missing, and how to get it.

    Exit code 1 when something is missing that `groundplan synth` needs; the rest is optional.
    """
    checks = list(examine())
    if form == "json":
        click.echo(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            mark = click.style("ok     ", fg="green") if check.ok else click.style("missing", fg="red")
            purpose = f"  (for {check.needed_for})" if check.needed_for and not check.ok else ""
            click.echo(f"{mark}  {check.name:{width}}  {check.found}{purpose}")
            if not check.ok and check.mend:
                click.echo(f"{'':{width + 11}}{check.mend}")
    if any(not check.ok and not check.needed_for for check in checks):
        raise SystemExit(1)


def examine() -> Iterator[Check]:
    """Look at everything once; nothing is changed and no network is used."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    yield Check("python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer")
    for package in CORE:
        yield _package(package, _install(package))
    yield _node()
    for package in REHEARSAL:
        yield _package(package, _install(package), "rehearse")
    yield _terraform()
    for provider, release in pinned_versions().items():
        yield Check(f"provider {provider}", True, f"{release} (pinned in the output, and the release that is tested)")
    yield _tool(
        "cdktf", ["--version"], "npm install -g cdktf-cli@0.21.0 (Node 20) or cdktn-cli (Node 22.19+)", "cdktf deploy"
    )
    yield _tool("gcloud", ["version"], "install the Google Cloud CLI", "applying and day-2 work")
    yield _tool("kubectl", ["version", "--client"], "gcloud components install kubectl", "day-2 work")


def _install(package: str) -> str:
    """The command that installs a package into this very Python, at the version that groundplan asks for."""
    wanted = next(
        (
            line.partition(";")[0].strip()
            for line in importlib.metadata.requires("groundplan") or ()
            if re.match(rf"{re.escape(package)}\b(?!-)", line)
        ),
        package,
    )
    return shlex.join((sys.executable, "-m", "pip", "install", wanted))


def _package(name: str, mend: str, needed_for: str = "") -> Check:
    try:
        return Check(name, True, importlib.metadata.version(name), needed_for=needed_for)
    except importlib.metadata.PackageNotFoundError:
        return Check(name, False, "not installed", mend, needed_for)


def _node() -> Check:
    try:
        node = use_node(dict(os.environ))
    except BindingsError as error:
        return Check("node", False, "not found", str(error))
    return Check("node", True, _first_line([node, "--version"]) or "does not run")


def _terraform() -> Check:
    path = shutil.which("terraform") or shutil.which("tofu")
    mend = "install Terraform 1.11 or newer (or OpenTofu 1.11)"
    if not path:
        return Check("terraform", False, "not on the PATH", mend, "rehearse, plan and apply")
    line = _first_line([path, "version"])
    number = re.search(r"(\d+)\.(\d+)\.\d+", line)
    recent = number is not None and (int(number[1]), int(number[2])) >= TERRAFORM_FLOOR
    return Check("terraform", recent, line or "does not run", mend, "rehearse, plan and apply")


def _tool(name: str, arguments: list[str], mend: str, needed_for: str) -> Check:
    path = shutil.which(name)
    if not path:
        return Check(name, False, "not on the PATH", mend, needed_for)
    return Check(name, True, _first_line([path, *arguments]) or "found", mend, needed_for)


def _first_line(command: list[str]) -> str:
    environment = os.environ | {"CHECKPOINT_DISABLE": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, env=environment, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().partition("\n")[0] if done.returncode == 0 else ""
