"""The program as a whole: help, exit codes, what is loaded when, and no traceback for what the user can mend."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from groundplan.cli import COMMANDS
from sites import SMALL, run


def test_help_lists_every_command() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert all(f"  {name} " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help(command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0, done.stderr
    assert f"Usage: groundplan {command}" in done.stdout
    assert len(done.stdout.splitlines()) > 4


def test_version_and_usage_errors() -> None:
    assert run("--version").stdout.startswith("groundplan ")
    done = run("synht")
    assert done.returncode == 2
    assert "did you mean synth?" in done.stderr
    assert run("synth", "--nonsense").returncode == 2


@pytest.mark.parametrize("command", [["synth"], ["check"], ["rayjob"]])
def test_no_profile_named(command: list[str], tmp_path: Path) -> None:
    done = run(*command, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


@pytest.mark.parametrize("command", ["synth", "check", "rayjob"])
def test_a_profile_that_is_not_there(command: str, tmp_path: Path) -> None:
    done = run(command, "nowhere.yaml", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert "nowhere.yaml" in done.stderr
    assert "Traceback" not in done.stderr


def test_only_synth_loads_cdktf() -> None:
    program = (
        "import sys; import groundplan.site.check, groundplan.commands.check, groundplan.commands.schema;"
        "from groundplan.commands import init, rayjob, rules, catalog;"
        "sys.exit(any(m.split('.')[0] in ('cdktf', 'jsii', 'constructs') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_profile_of_the_environment_and_of_cdktf_json(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(SMALL + "site: one\n")
    (tmp_path / "two.yaml").write_text(SMALL + "site: two\n")
    (tmp_path / "cdktf.json").write_text(json.dumps({"context": {"profile": "one.yaml"}}))
    assert "one-network" in run("synth", cwd=tmp_path).stdout
    assert "two-network" in run("synth", "-o", "two", cwd=tmp_path, GROUNDPLAN_PROFILE="two.yaml").stdout
    deploy = "GROUNDPLAN_PROFILE=two.yaml cdktf deploy two-network two-storage two-cluster two-gpu two-platform two-wo"
    assert deploy in (tmp_path / "two" / "runbook.md").read_text()


def test_doctor_reports_as_json() -> None:
    done = run("doctor", "--format", "json")
    assert done.returncode == 0
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert checks["cdktf-cdktf-provider-google"]["found"] == "16.12.1"
    assert checks["node"]["ok"] is True


def test_doctor_without_terraform(tmp_path: Path) -> None:
    done = run("doctor", PATH=str(tmp_path))
    assert done.returncode == 0
    assert "missing  terraform" in done.stdout
    assert "install Terraform 1.11 or newer" in done.stdout


def test_a_closed_pipe_is_no_traceback() -> None:
    command = f"{sys.executable} -m groundplan schema | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [("groundplan sy", "synth"), ("groundplan explain nat-", "nat-off"), ("groundplan rehearse --stack cl", "cluster")],
)
def test_shell_completion(words: str, expected: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "groundplan"],
        env=os.environ
        | {"_GROUNDPLAN_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"plain,{expected}" in done.stdout.splitlines()
