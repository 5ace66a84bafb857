"""groundplan as a library: the examples of docs/library.md run, and write what the command writes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rehearsal.conftest import said
from sites import ROOT, run
from staged_terraform.rehearse import Options, rehearse

EXAMPLES = ROOT / "docs" / "examples"
PROFILE = ROOT / "profiles" / "smoke.yaml"


def example(name: str, *arguments: str | Path) -> None:
    ran = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def site_and_bucket(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "site"
    example("site_and_bucket.py", PROFILE, folder)
    return folder


def files(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text("utf-8") for p in folder.rglob("*") if p.is_file()}


def test_a_site_with_a_bucket_is_the_commands_output_and_the_bucket(site_and_bucket: Path, tmp_path: Path) -> None:
    assert run("synth", str(PROFILE), "-o", str(tmp_path / "plain"), "-q").returncode == 0
    ours, plain = files(site_and_bucket), files(tmp_path / "plain")
    assert ours.keys() == plain.keys()
    (storage,) = (name for name in ours if ours[name] != plain[name])
    assert "-storage/" in storage
    changed: dict[str, Any] = json.loads(ours[storage])
    bucket = changed["resource"].pop("google_storage_bucket")["reports"]
    assert changed == json.loads(plain[storage])
    assert bucket["name"] == "my-project-reports"
    assert bucket["public_access_prevention"] == "enforced"
    assert bucket["lifecycle_rule"][0]["condition"] == {"days_since_noncurrent_time": 7, "with_state": "ARCHIVED"}


def test_a_site_with_a_bucket_rehearses_clean(site_and_bucket: Path) -> None:
    if shutil.which("terraform") is None:
        pytest.skip("terraform is not on PATH")
    report = rehearse(site_and_bucket, Options())
    assert report.ok, said(report)
    assert all(stack.empty_replan for stack in report.stacks)
