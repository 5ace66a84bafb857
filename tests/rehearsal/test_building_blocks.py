"""Sites of each building block go through the rehearsal: applied, planned empty again, destroyed; nothing guessed.

What synth writes for them stands in tests/golden, byte for byte.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from groundplan.emit.rehearsal import knowledge, outside_of, rehearse
from rehearsal.conftest import said
from sites import site_of
from staged_terraform import Options
from staged_terraform.stacks import promised, read_stacks

GOLDEN = Path(__file__).parents[1] / "golden"
SITES = ("bucket-only", "existing-lustre", "mounted-buckets", "own-claim", "platform", "three-jobs")


@pytest.mark.parametrize("name", SITES)
def test_a_site_of_each_block_passes(terraform: None, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(GOLDEN / name, tmp_path / "site")
    site = site_of((folder / "profile.yaml").read_text("utf-8"))
    report = rehearse(folder, Options(existing=outside_of(site)))
    assert report.ok, said(report)
    assert all(stack.empty_replan for stack in report.stacks)
    assert all(each.startswith("google_project_service") for each in report.remaining)
    assert report.guessed == []


def test_what_a_site_wants_of_a_lustre_instance_is_taken_to_be_so(terraform: None, tmp_path: Path) -> None:
    folder = shutil.copytree(GOLDEN / "existing-lustre", tmp_path / "site")
    wanted = {"network": "/networks/team-vpc", "gke_support_enabled": False}
    assert promised(read_stacks(folder, knowledge())) == {("google_lustre_instance", "team-lustre"): wanted}
    report = rehearse(folder, Options(until="plan", stack="storage"))
    assert report.ok, said(report)
    assert any("team-lustre exists, with network /networks/team-vpc" in each for each in report.assumed)


def test_a_lustre_instance_of_another_network_fails_the_plan(
    terraform: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("staged_terraform.rehearsal.promised", lambda _: {})
    folder = shutil.copytree(GOLDEN / "existing-lustre", tmp_path / "site")
    report = rehearse(folder, Options(until="plan", stack="storage"))
    assert not report.ok
    assert "does not stand in the network team-vpc" in said(report)
