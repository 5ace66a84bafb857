"""Many profiles in one run: folders for files, one table, one exit code, and a refused one leaves the others alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from findings import UnavailableError
from groundplan.cli import cli
from groundplan.commands.fleet import profiles_in
from sites import SMALL

OTHER = """\
site: other
project: other-project
zone: us-east4-b
reservation: other-reservation
"""


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "a.yaml").write_text(SMALL)
    (folder / "b.yaml").write_text(OTHER)
    (folder / "machines.yaml").write_text("source: mine\nmachines: {}\n")  # a catalog file is no profile
    return folder


def groundplan(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    return done.exit_code, done.output


def test_a_folder_stands_for_its_profiles(profiles: Path, tmp_path: Path) -> None:
    assert [each.name for each in profiles_in([profiles, profiles / "a.yaml"])] == ["a.yaml", "b.yaml"]
    code, output = groundplan("check", str(profiles))
    assert (code, output.splitlines()[-1]) == (0, "2 profiles: ok, no findings")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnavailableError, match="has no profile"):
        profiles_in([tmp_path / "empty"])


def test_each_site_is_written_and_compared(profiles: Path, tmp_path: Path) -> None:
    out = tmp_path / "sites"
    code, output = groundplan("synth", str(profiles), "-o", str(out))
    assert code == 0, output
    assert "2 sites" in output
    assert (out / "a/stacks/nemo-rl-gpu/cdk.tf.json").exists()
    assert "GROUNDPLAN_PROFILE=b.yaml" in (out / "b/runbook.md").read_text()
    assert groundplan("synth", str(profiles), "-o", str(out), "--check")[0] == 0
    (profiles / "a.yaml").write_text(SMALL + "gpu: {pools: [{nodes: 3}]}\n")
    code, output = groundplan("synth", str(profiles), "-o", str(out), "--check")
    assert code == 1
    assert "changed: stacks/nemo-rl-gpu/cdk.tf.json" in output
    assert "2 sites, 1 of them to be looked at" in output


def test_a_refused_profile_leaves_the_others_alone(profiles: Path, tmp_path: Path) -> None:
    (profiles / "a.yaml").write_text(SMALL.replace("zone:", "zome:"))
    code, output = groundplan("synth", str(profiles), "-o", str(tmp_path / "sites"))
    assert code == 1
    assert "did you mean `zone`?" in output
    assert [each.name for each in (tmp_path / "sites").iterdir()] == ["b"]


def test_a_clash_between_sites_is_found(profiles: Path, tmp_path: Path) -> None:
    (profiles / "b.yaml").write_text(SMALL)
    code, output = groundplan("synth", str(profiles), "-o", str(tmp_path / "sites"))
    assert code == 1
    assert "[fleet-" in output
