"""False alarms over NVIDIA's own GRPO recipes: each is composed as a profile's overrides, and nothing may be said.

All of them are data that the project does not hold; a few stand in `upstream`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from findings import Severity
from workload.jobs import BY_GPUS
from workload.recipes import BARE, judged, read

FEW = Path(__file__).parent / "upstream" / "recipes.jsonl"
RECIPES = Path(__file__).parents[2].parent / "shared" / "reference" / "nemo" / "upstream-recipes.jsonl"
TAGS = ("v0.4.0", "v0.5.0", "v0.6.0", "v0.7.0")


@pytest.mark.parametrize("tag", TAGS)
def test_no_false_alarm_over_nvidias_recipes(tag: str, tmp_path: Path) -> None:
    bare = tmp_path / "bare.yaml"
    bare.write_text(BARE, "utf-8")
    rows = read(RECIPES if RECIPES.exists() else FEW)
    ours = [row for row in rows if row["tag"] == tag and row["gpus_per_node"] in BY_GPUS]
    assert len(ours) > (20 if RECIPES.exists() else 1)
    told = [(row["file"], finding) for row in ours for finding in judged(row, BY_GPUS[row["gpus_per_node"]], bare)]
    alarms = [f"{file}: {finding.rule}: {finding.message}" for file, finding in told]
    assert [a for a, (_, finding) in zip(alarms, told, strict=True) if finding.severity is Severity.ERROR] == []
    assert alarms == []


@pytest.mark.skipif(not RECIPES.exists(), reason="NVIDIA's recipes are not at hand (../shared/reference/nemo)")
def test_main_has_warnings_alone_at_a_release_that_is_not_confirmed(tmp_path: Path) -> None:
    bare = tmp_path / "bare.yaml"
    bare.write_text(BARE, "utf-8")
    ours = [row for row in read(RECIPES) if row["tag"] == "main" and row["gpus_per_node"] == 8]
    told = [finding for row in ours for finding in judged(row, "h200", bare)]
    assert len(ours) > 20
    assert {finding.severity for finding in told} == {Severity.WARNING}
    assert {finding.rule for finding in told} == {
        "release-unconfirmed",
        "config-key",
        "config-type",
        "config-choice",
        "first-worker",
    }
