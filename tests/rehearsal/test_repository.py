"""`groundplan init --repository`: the steps of its workflow run, with the real Terraform on simulated providers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from findings import UserError
from groundplan.cli import cli
from groundplan.emit.rehearsal import provider_facts, schema_changes
from sites import ROOT, code_blocks
from staged_terraform import Server, SimulatedCloud
from staged_terraform.terraform import type_keys

OPTIONS = ("--site", "my-site", "--project", "my-project", "--zone", "us-central1-b", "--reservation", "my-reservation")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("team") / "my-site"
    arguments = ["init", "--repository", str(folder), *OPTIONS, "--state-bucket", "my-states"]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return folder


def step(folder: Path, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A step of the workflow, with this very groundplan on the PATH."""
    tools = folder.parent / "bin"
    tools.mkdir(exist_ok=True)
    program = tools / "groundplan"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m groundplan "$@"\n')
    program.chmod(0o755)
    variables = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"} | environment
    return subprocess.run(
        ["bash", "-e", "-c", command], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )


def steps(folder: Path, job: str) -> list[str]:
    workflow = yaml.safe_load((folder / ".github" / "workflows" / "site.yaml").read_text("utf-8"))
    return [each["run"] for each in workflow["jobs"][job]["steps"] if "run" in each]


def test_the_documentation_shows_the_workflow(repository: Path) -> None:
    (shown,) = (each for each in code_blocks(ROOT / "docs" / "ci.md", "yaml") if "name: site" in each)
    assert shown == (repository / ".github" / "workflows" / "site.yaml").read_text("utf-8")


def test_check_sees_an_output_that_is_old(repository: Path) -> None:
    command = next(each for each in steps(repository, "check") if each.startswith("scripts/check"))
    assert step(repository, command).returncode == 0
    profile = repository / "profiles" / "my-site.yaml"
    text = profile.read_text()
    profile.write_text(text.replace("max_nodes: 5", "max_nodes: 4"))
    done = step(repository, command)
    profile.write_text(text)
    assert done.returncode == 1
    assert "changed: stacks/my-site-cluster/cdk.tf.json" in done.stderr


def test_a_first_creation_is_planned_and_reviewed(terraform: None, repository: Path) -> None:
    stacks = sorted((repository / "sites" / "my-site" / "stacks").iterdir())
    local = {"terraform": {"backend": {"local": {"path": "test.tfstate"}}}}  # there is no bucket
    for stack in stacks:
        (stack / "test_override.tf.json").write_text(json.dumps(local))
    keys = {key for each in stacks for key in type_keys(json.loads((each / "cdk.tf.json").read_text("utf-8")))}
    changes = schema_changes()
    with Server(keys, SimulatedCloud(provider_facts(), projects={"my-project"}), changes=changes) as server:
        plan, review, *_ = (each for each in steps(repository, "plan") if "my-site" in each)
        done = step(repository, plan, **server.environment())
    assert done.returncode == 0, done.stderr
    assert "my-site-platform: not planned, for the cluster does not stand yet" in done.stderr
    plans = sorted((repository / "plans").iterdir())
    assert [each.stem for each in plans] == [f"my-site-{kind}" for kind in ("cluster", "gpu", "network", "storage")]
    assert all(each.stat().st_mode & 0o077 == 0 for each in plans)
    reviewed = step(repository, review)
    assert reviewed.returncode == 0, reviewed.stderr
    assert (repository / "review.md").read_text().startswith("#")
    for stack in stacks:
        (stack / "test_override.tf.json").unlink()


def test_what_is_committed_and_what_is_not(repository: Path) -> None:
    ignored = (repository / ".gitignore").read_text().splitlines()
    assert "plans/" in ignored and "*.tfplan" in ignored
    assert not any("lock.hcl" in line for line in ignored if not line.startswith("#"))
    assert "@" not in (repository / "README.md").read_text().replace("@my-project.iam", "")
    assert (repository / "requirements.txt").read_text().splitlines()[-1].startswith("groundplan[rehearsal]")


def test_terraform_cloud(tmp_path: Path) -> None:
    folder = tmp_path / "cloud"
    arguments = ["init", "--repository", str(folder), *OPTIONS, "--organization", "acme"]
    assert CliRunner().invoke(cli, arguments, catch_exceptions=False).exit_code == 0
    assert list(yaml.safe_load((folder / ".github" / "workflows" / "site.yaml").read_text())["jobs"]) == ["check"]
    readme = (folder / "README.md").read_text()
    assert "working directory `sites/my-site/stacks/STACK`" in readme
    assert "organization `acme`" in readme
    cloud = json.loads((folder / "sites/my-site/stacks/my-site-gpu/cdk.tf.json").read_text())["terraform"]["cloud"]
    assert cloud["organization"] == "acme"
    with pytest.raises(UserError, match=r"has scripts/check, "):
        CliRunner().invoke(cli, arguments, catch_exceptions=False)


def test_wrong_options_write_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    both = ["init", "--repository", str(folder), "--state-bucket", "b", "--organization", "o"]
    assert CliRunner().invoke(cli, both).exit_code == 2
    assert CliRunner().invoke(cli, ["init", "--state-bucket", "b"]).exit_code == 2
    with pytest.raises(UserError, match="correct --state-bucket"):
        wrong = ["init", "--repository", str(folder), "--state-bucket", "Not A Bucket"]
        CliRunner().invoke(cli, wrong, catch_exceptions=False)
    assert not folder.exists()
