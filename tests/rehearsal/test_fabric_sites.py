"""Sites of each kind of fabric go through the rehearsal: applied, planned empty again, destroyed; nothing guessed.

What synth writes for them stands in tests/golden, byte for byte.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from groundplan.emit.rehearsal import knowledge, rehearse
from rehearsal.conftest import said
from staged_terraform import Options
from staged_terraform.facts import without_fact
from staged_terraform.schemas import load
from staged_terraform.stacks import read_stacks
from staged_terraform.terraform import resources

GOLDEN = Path(__file__).parents[1] / "golden"
SITES = ("a3-mega", "a4x-managed")


@pytest.mark.parametrize("name", SITES)
def test_a_site_of_each_fabric_passes(terraform: None, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(GOLDEN / name, tmp_path / "site")
    report = rehearse(folder, Options())
    assert report.ok, said(report)
    assert all(stack.empty_replan for stack in report.stacks)
    assert all(each.startswith("google_project_service") for each in report.remaining)
    assert report.guessed == []


@pytest.mark.parametrize("name", ("a3-mega", "a4x", "a4-managed", "g4"))
def test_no_argument_of_theirs_is_without_a_fact(name: str) -> None:
    missing: dict[str, list[str]] = {}
    for stack in read_stacks(GOLDEN / name, knowledge()):
        for kind, _, body in resources(stack.configuration):
            block = load([("resource", kind)]).get(("resource", kind))
            if block is not None and (found := without_fact(knowledge().facts.of(kind, block), block, body)):
                missing[kind] = found
    assert missing == {}
