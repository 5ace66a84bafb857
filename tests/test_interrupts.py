"""Ctrl-C, a kill, full and forbidden folders: a short line, a plain exit code, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groundplan.kernel import interrupts
from groundplan.kernel.folders import made
from sites import SMALL, run


def left(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", [0.15, 0.6, 1.2])
def test_an_interrupted_synth_leaves_nothing(moment: float, number: signal.Signals, tmp_path: Path) -> None:
    """At whatever moment: of the program alone for a kill, of Node as well for Ctrl-C in a terminal."""
    (tmp_path / "p.yaml").write_text(SMALL)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    program = subprocess.Popen(
        [sys.executable, "-m", "groundplan", "synth", "p.yaml", "-o", "new/out"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(moment)
    if number is signal.SIGINT:
        os.killpg(program.pid, number)
    else:
        program.send_signal(number)
    _, errors = program.communicate()
    assert errors.strip() == ""  # click ends the line of the ^C
    if program.returncode != 0:  # 0: it was done before
        # Python's own answer, should it not have come to the program yet.
        assert program.returncode in (128 + number, -number)
        assert left(tmp_path) == ["p.yaml", "scratch"]
    with pytest.raises(ProcessLookupError):
        os.killpg(program.pid, 0)


def test_an_interrupt_while_node_starts_says_nothing() -> None:
    """jsii stops its half-made Node when Python takes it away, and fails."""
    program = (
        "import signal, subprocess\nfrom groundplan import cli\nfrom groundplan.emit import modules\n"
        "subprocess.Popen = lambda *_, **__: signal.raise_signal(signal.SIGINT)\ncli.run(modules.load)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_an_interrupted_build_waits_for_node_to_end() -> None:
    """It writes the files that it was asked for, wherever Python has got to."""
    program = (
        "from groundplan.emit import modules\nmodules.load()\nimport jsii\n"
        "node = jsii.kernel.provider._process._process\n"
        "try:\n    with modules.building():\n        assert node.poll() is None\n        raise KeyboardInterrupt\n"
        "except KeyboardInterrupt:\n    print(node.poll())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_folders_made_for_nothing_are_gone_again(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), made(tmp_path / "new" / "plans"):
        assert left(tmp_path) == ["new", "new/plans"]
        raise KeyboardInterrupt
    assert left(tmp_path) == []
    with made(tmp_path / "new" / "plans"):
        (tmp_path / "new" / "plan").touch()
    assert left(tmp_path) == ["new", "new/plan"]


def test_a_replacement_of_files_is_not_interrupted() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts.deferred():
        signal.raise_signal(signal.SIGINT)
        done.append("whole")
    assert done == ["whole"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["synth", "p.yaml", "-o", "file/out"],
        ["rayjob", "p.yaml", "--output", "file/job.yaml"],
        ["schema", "-o", "file/schema.json"],
        ["check", "p.yaml", "-o", "file/report"],
        ["rehearse", "p.yaml", "--keep", "file/plans"],
        ["check", "nowhere.yaml"],
        ["rayjob", "nowhere.yaml"],
        ["review", "nowhere.json"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_read_or_written_is_exit_2(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(SMALL)
    (tmp_path / "file").touch()
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "file" in done.stderr or "nowhere" in done.stderr
    assert left(tmp_path) == ["file", "p.yaml"]


def test_no_room_for_temporary_files(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(SMALL)
    done = run("synth", "p.yaml", cwd=tmp_path, TMPDIR="/proc")
    assert done.returncode in (0, 1, 2)  # 0 where another folder serves
    assert "Traceback" not in done.stderr


def test_standard_input_is_a_profile(tmp_path: Path) -> None:
    for command in (["check", "-"], ["rayjob", "-"], ["synth", "-", "-o", "out"]):
        done = subprocess.run(
            [sys.executable, "-m", "groundplan", *command],
            cwd=tmp_path,
            input=SMALL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_no_colour_where_none_is_wanted(environment: dict[str, str], tmp_path: Path) -> None:
    import pty

    (tmp_path / "p.yaml").write_text(SMALL.replace("zone", "zome"))

    def shown(environment: dict[str, str]) -> bytes:
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "groundplan", "check", "p.yaml"]
        plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
        subprocess.run(command, cwd=tmp_path, stdout=theirs, env=plain | environment, check=False)
        os.close(theirs)
        return os.read(ours, 4096)

    assert b"\x1b[" in shown({"TERM": "xterm"})
    assert b"\x1b[" not in shown(environment)
