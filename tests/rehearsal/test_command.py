"""The command: exit codes, one clear line when something is missing, "simulated" wherever it speaks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from groundplan.commands.rehearse import rehearse
from rehearsal import standin
from staged_terraform import optional_packages


def test_text_says_simulated_and_what_was_not_checked(terraform: None, tmp_path: Path) -> None:
    folder = standin.write({"network": standin.network()}, tmp_path / "out")
    result = CliRunner().invoke(rehearse, [str(folder)])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Simulated rehearsal")
    assert "Not checked:" in result.stdout
    assert "Critical path" in result.stdout
    assert "google_project_service lab-project/compute.googleapis.com" in result.stdout
    assert all(line.startswith("simulated") for line in result.stderr.splitlines())


def test_json(terraform: None, tmp_path: Path) -> None:
    folder = standin.write({"network": standin.network()}, tmp_path / "out")
    result = CliRunner().invoke(rehearse, [str(folder), "--until", "plan", "--format", "json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["simulated"] is True
    assert len(report["stacks"][0]["planned"]) == 12


def test_a_mistake_is_exit_1(terraform: None, tmp_path: Path) -> None:
    network = standin.network()
    network["resource"]["google_compute_network"]["vpc"]["mut"] = 1
    result = CliRunner().invoke(rehearse, [str(standin.write({"network": network}, tmp_path / "out"))])
    assert result.exit_code == 1
    assert "rehearsal-validate" in result.stdout


def test_without_terraform_one_line_and_exit_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = CliRunner().invoke(rehearse, [str(tmp_path)])
    assert result.exit_code == 2
    assert result.output.strip().count("\n") == 0
    assert "terraform is not on PATH" in result.output


def test_without_the_extra_one_line_and_exit_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional_packages, "find_spec", lambda name: None)
    result = CliRunner().invoke(rehearse, [str(tmp_path)])
    assert result.exit_code == 2
    assert result.output.strip() == (
        f"groundplan rehearse: a rehearsal needs grpcio and msgpack: {sys.executable} -m pip install grpcio msgpack"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--fault", "flood"], "unknown fault 'flood'"),
        (["--existing", "shared"], "write TYPE/NAME"),
        (["--stack", "nets"], "no stack 'nets'"),
    ],
)
def test_usage_errors_are_exit_2(terraform: None, tmp_path: Path, arguments: list[str], words: str) -> None:
    folder = standin.write({"network": standin.network()}, tmp_path / "out")
    result = CliRunner().invoke(rehearse, [str(folder), *arguments])
    assert result.exit_code == 2
    assert words in result.output


def test_a_folder_that_is_no_synth_output(terraform: None, tmp_path: Path) -> None:
    result = CliRunner().invoke(rehearse, [str(tmp_path)])
    assert result.exit_code == 2
    assert "no stacks/*/cdk.tf.json" in result.output


#: A shell starts what it puts in the background with interrupts ignored, and children inherit that.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from groundplan.commands.rehearse import rehearse
rehearse()
"""


def test_ctrl_c_leaves_nothing_behind(terraform: None, tmp_path: Path) -> None:
    folder = standin.write(standin.site(), tmp_path / "out")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, str(folder)],
        env={**os.environ, "TMPDIR": str(scratch)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "network  apply" in line:
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert list(scratch.iterdir()) == []
