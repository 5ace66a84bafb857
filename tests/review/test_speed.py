"""Five thousand resources in each form, and nothing heavy is loaded. How long it takes: benchmarks/growth.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from review.cases_of_risk import pool
from review.plans import create, document, update


def groundplan(*arguments: str, seed: str = "0") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "groundplan", *arguments]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment)


def plan(file: Path, each: int) -> Path:
    """A plan with so many of four kinds of change."""
    changes = []
    for number in range(each):
        member = {"project": "p", "role": "roles/logging.logWriter", "member": f"user:u{number}@example.com"}
        bucket = {"name": f"b-{number}", "labels": {f"k{n}": "v" * 20 for n in range(20)}}
        changes += [
            create(f"google_project_iam_member.m{number}", **member),
            update(
                f"google_container_node_pool.p{number}", pool(name=f"p{number}"), pool(name=f"p{number}", node_count=3)
            ),
            update(f"google_storage_bucket.b{number}", bucket, {**bucket, "labels": {}}),
            create(f"helm_release.r{number}", name=f"r{number}", values=["a: [1, 2]\nb: {c: d}\n" * 5]),
        ]
    file.write_text(json.dumps(document(*changes)))
    return file


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plan(tmp_path_factory.mktemp("large") / "plan.json", 1250)


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_five_thousand_resources(large: Path, tmp_path: Path, form: str) -> None:
    groundplan("review", str(large), "--format", form, "-o", str(tmp_path / "report"))
    head = (tmp_path / "report").read_text("utf-8")[:4000]
    assert "2,500 to update, 2,500 to create" in head


@pytest.mark.parametrize("form", ["text", "html", "json"])
def test_the_hash_seed_changes_nothing(tmp_path: Path, form: str) -> None:
    given = plan(tmp_path / "plan.json", 30)
    one, other = (groundplan("review", str(given), "--format", form, seed=seed).stdout for seed in ("1", "2"))
    assert one == other


def test_neither_cdktf_nor_a_provider_is_loaded() -> None:
    code = "import sys, groundplan.commands.review; print([m for m in sys.modules if m.startswith(('cdktf', 'jsii'))])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"
