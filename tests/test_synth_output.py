"""What synth writes does not depend on the place, and what it does with the folder that it writes to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from findings import UserError
from groundplan.emit.app import synthesize, write_site
from sites import ROOT, SMALL, run, synthesized
from synth_sites import TUTORIAL, files


def test_an_edit_changes_one_stack_alone() -> None:
    before = synthesized(SMALL)
    after = synthesized(SMALL + 'cluster: {maintenance: {window: {start: "2026-01-03T03:00:00Z"}}}\n')
    changed = {kind for kind in before.stacks if before.stacks[kind] != after.stacks[kind]}
    assert changed == {"cluster"}
    same = set(files(before.folder)) - {"stacks/nemo-rl-cluster/cdk.tf.json"}
    assert all(files(before.folder)[name] == files(after.folder)[name] for name in same)


def test_bytes_do_not_depend_on_folder_home_or_hash_seed(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(TUTORIAL)
    home = tmp_path / "home"
    home.mkdir()
    first = run("synth", "p.yaml", "-o", "one", cwd=tmp_path, PYTHONHASHSEED="1")
    second = run(
        "synth", str(tmp_path / "p.yaml"), "-o", str(tmp_path / "a" / "two"), PYTHONHASHSEED="2", HOME=str(home)
    )
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert files(tmp_path / "one") == files(tmp_path / "a" / "two")


def test_the_app_of_cdktf_json_gives_the_same_bytes(tmp_path: Path) -> None:
    """What the stock CLI does: run the app with CDKTF_OUTDIR, and the profile of cdktf.json or of the environment."""
    environment = os.environ | {
        "CDKTF_OUTDIR": str(tmp_path / "cli"),
        "CDKTF_CONTINUE_SYNTH_ON_ERROR_ANNOTATIONS": "true",
    }
    app = subprocess.run(
        [sys.executable, "main.py"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert app.returncode == 0, app.stderr
    assert app.stdout == ""
    assert files(tmp_path / "cli") == files(synthesized(TUTORIAL).folder)
    smoke = ROOT / "profiles" / "smoke.yaml"
    other = environment | {"GROUNDPLAN_PROFILE": "profiles/smoke.yaml"}
    refused = subprocess.run([sys.executable, "main.py"], cwd=ROOT, env=other, capture_output=True, check=False)
    assert (refused.returncode, files(tmp_path / "cli")) == (1, files(synthesized(TUTORIAL).folder))
    other["CDKTF_OUTDIR"] = str(tmp_path / "other")
    assert subprocess.run([sys.executable, "main.py"], cwd=ROOT, env=other, check=False).returncode == 0
    synthesize(smoke, tmp_path / "plain")
    assert files(tmp_path / "other") == files(tmp_path / "plain")


def test_a_refused_profile_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(SMALL.replace("zone:", "zome:"))
    done = run("synth", "p.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert "p.yaml:2:1" in done.stderr
    assert "did you mean `zone`?" in done.stderr
    assert "Traceback" not in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["p.yaml"]


def test_the_output_folder_keeps_what_terraform_put_there(tmp_path: Path) -> None:
    site = synthesized(SMALL).site
    write_site(site, tmp_path)
    stack = tmp_path / "stacks" / "nemo-rl-gpu"
    (stack / ".terraform").mkdir()
    (stack / ".terraform.lock.hcl").write_text("lock")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "p.yaml").write_text(SMALL + "site: other\n")
    with pytest.raises(UserError, match=r"holds site nemo-rl, .*p\.yaml is site other.*-o other\), or --replace"):
        synthesize(tmp_path / "p.yaml", tmp_path)
    assert (stack / "cdk.tf.json").exists()
    synthesize(tmp_path / "p.yaml", tmp_path, replace=True)
    assert (stack / ".terraform.lock.hcl").read_text() == "lock"
    assert not (stack / "cdk.tf.json").exists()
    assert not (tmp_path / "stacks" / "nemo-rl-storage").exists()
    assert (tmp_path / "notes.txt").exists()
    assert (tmp_path / "stacks" / "other-gpu" / "cdk.tf.json").exists()
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".groundplan")]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write to"):
        write_site(synthesized(SMALL).site, tmp_path / "file" / "out")


def test_synth_check(tmp_path: Path) -> None:
    """`synth --check` for output that is kept under version control."""
    (tmp_path / "p.yaml").write_text(SMALL)
    assert run("synth", "p.yaml", cwd=tmp_path).returncode == 0
    assert run("synth", "p.yaml", "--check", cwd=tmp_path).returncode == 0
    changed = tmp_path / "cdktf.out" / "stacks" / "nemo-rl-gpu" / "cdk.tf.json"
    changed.write_text(changed.read_text().replace("8896", "1460"))
    (tmp_path / "cdktf.out" / "runbook.md").unlink()
    done = run("synth", "p.yaml", "--check", cwd=tmp_path)
    assert done.returncode == 1
    assert "changed: stacks/nemo-rl-gpu/cdk.tf.json" in done.stderr
    assert "missing: runbook.md" in done.stderr


def test_values_of_a_release_that_is_no_more_are_taken_away(tmp_path: Path) -> None:
    """And what `synth --check` says of such files: they are generated like the stacks."""
    queued = SMALL + "platform: {kueue: {enabled: true}}\n"
    (tmp_path / "p.yaml").write_text(queued)
    assert run("synth", "p.yaml", cwd=tmp_path).returncode == 0
    manifests = tmp_path / "cdktf.out" / "stacks" / "nemo-rl-platform" / "manifests"
    assert sorted(each.name for each in manifests.iterdir()) == [
        "gib.yaml",
        "kuberay.yaml",
        "kueue.yaml",
        "networks.yaml",
        "queue.yaml",
    ]
    (tmp_path / "p.yaml").write_text(SMALL)
    done = run("synth", "p.yaml", "--check", cwd=tmp_path)
    assert "left over: stacks/nemo-rl-platform/manifests/queue.yaml" in done.stderr
    assert run("synth", "p.yaml", cwd=tmp_path).returncode == 0
    assert sorted(each.name for each in manifests.iterdir()) == ["gib.yaml", "kuberay.yaml", "networks.yaml"]
