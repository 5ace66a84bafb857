"""Every shipped profile goes through the rehearsal, and its plan is what the inventory says.

An inventory (``inventories/<profile>.yaml``) is short on purpose: counts by type for each stack, and the values that a
reviewer would look for, by address. Its diff is the review. ``UPDATE_INVENTORIES=1`` rewrites the counts, never values.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from groundplan.emit.rehearsal import knowledge, rehearse
from rehearsal.conftest import said
from sites import written
from staged_terraform import Options
from staged_terraform.facts import without_fact
from staged_terraform.report import Report
from staged_terraform.schemas import load
from staged_terraform.stacks import read_stacks
from staged_terraform.terraform import resources

ROOT = Path(__file__).parents[2]
PROFILES = sorted((ROOT / "profiles").glob("*.yaml"))
INVENTORIES = Path(__file__).parent / "inventories"


@pytest.fixture(scope="module", params=PROFILES, ids=lambda path: path.stem)
def output(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A shipped profile's name and its synth output."""
    text = request.param.read_text("utf-8")
    return request.param.stem, written(text, tmp_path_factory.mktemp("out") / "site")


def test_a_shipped_profile_passes_and_is_what_its_inventory_says(terraform: None, output: tuple[str, Path]) -> None:
    name, folder = output
    report = rehearse(folder, Options())
    assert report.ok, said(report)
    assert all(stack.empty_replan for stack in report.stacks)
    assert all(each.startswith("google_project_service") for each in report.remaining)
    assert report.guessed == []
    compare(INVENTORIES / f"{name}.yaml", report)


def test_no_emitted_argument_is_without_a_fact(output: tuple[str, Path]) -> None:
    missing: dict[str, list[str]] = {}
    for stack in read_stacks(output[1], knowledge()):
        for kind, _, body in resources(stack.configuration):
            block = load([("resource", kind)]).get(("resource", kind))
            if block is not None and (found := without_fact(knowledge().facts.of(kind, block), block, body)):
                missing[kind] = found
    assert missing == {}


def compare(file: Path, report: Report) -> None:
    """Counts are equal; every value listed is planned so. Unlisted values are free."""
    counts: dict[str, dict[str, int]] = {}
    planned: dict[str, Any] = {}
    for stack in report.stacks:
        of_stack = counts.setdefault(stack.kind, {})
        for change in stack.plan_json["resource_changes"]:
            if change["mode"] == "managed":
                of_stack[change["type"]] = of_stack.get(change["type"], 0) + 1
                planned[f"{stack.kind}/{change['address']}"] = change["change"]["after"]
    inventory = yaml.safe_load(file.read_text()) if file.exists() else {"values": {}}
    if os.environ.get("UPDATE_INVENTORIES"):
        inventory["counts"] = {kind: dict(sorted(each.items())) for kind, each in counts.items()}
        file.write_text(yaml.safe_dump(inventory, sort_keys=False, width=120))
    assert counts == inventory["counts"]
    for address, values in (inventory.get("values") or {}).items():
        assert address in planned, address
        for path, expected in values.items():
            assert at(planned[address], path) == expected, f"{address}: {path}"


def at(value: Any, path: str) -> Any:
    """``node_config.0.machine_type`` in a planned object; ``additional.#`` counts a list."""
    for step in path.split("."):
        value = len(value) if step == "#" else value[int(step) if isinstance(value, list) else step]
    return value
