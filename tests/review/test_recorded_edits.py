"""``groundplan diff`` against what the real google provider planned for the same edits of a site that stood."""

from __future__ import annotations

import copy
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from groundplan.emit.app import write_site
from groundplan.on_plans.provider_facts import known
from plan_review.configurations import compare
from rehearsal.recorded import ARCHIVE
from sites import ROOT, site_of

#: The profile that stood, the stacks that were recorded.
PROFILE = ROOT / "profiles" / "nemo-rl-b200.yaml"
STACKS = ("network", "storage", "cluster", "gpu")

#: (edit, address) -> why diff says otherwise.
REMAINING = {
    (edit, "google_container_node_pool.cpu-pool"): "the pool goes with its cluster since the plans were recorded"
    for edit in ("control-plane-cidr", "cluster-max-pods")
}

Actions = dict[str, str]


def put(document: Any, path: str, value: Any) -> None:
    """Set what a dotted path names; ``REMOVED`` takes it away, a position one past the end appends."""
    *outer, last = path.split(".")
    for step in outer:
        document = document[int(step)] if isinstance(document, list) else document.setdefault(step, {})
    key = int(last) if isinstance(document, list) else last
    if value == "REMOVED":
        document.pop(key)
    elif isinstance(document, list) and key == len(document):
        document.append(value)
    else:
        document[key] = value


def resources(changes: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Stack -> its resources, of the profile with these changes."""
    profile = copy.deepcopy(yaml.safe_load(PROFILE.read_text("utf-8")))
    for change in changes:
        for path, value in change.items():
            put(profile, path, value)
    write_site(site_of(yaml.safe_dump(profile)), folder)
    return {
        file.parent.name.rpartition("-")[2]: json.loads(file.read_text("utf-8")).get("resource", {})
        for file in folder.glob("stacks/*/cdk.tf.json")
    }


def test_diff_says_what_the_real_provider_planned(tmp_path: Path) -> None:
    if not ARCHIVE.is_file():
        pytest.skip(f"no recorded plans at {ARCHIVE}: they are not part of the project")
    with tarfile.open(ARCHIVE) as archive:
        (index,) = (each for each in archive.getnames() if each.endswith("index.json"))
        handle = archive.extractfile(index)
        assert handle is not None
        edits = json.load(handle)
    assert len(edits) > 40
    different = {}
    bases: dict[str, dict[str, Any]] = {}
    for number, edit in enumerate(edits):
        name = edit["base_name"]
        bases[name] = bases.get(name) or resources([edit["base"]], tmp_path / name)
        after = resources([edit["base"], edit["set"]], tmp_path / str(number))
        said: Actions = {
            each.address: str(each.action)
            for stack in STACKS
            for each in compare(stack, bases[name].get(stack, {}), after.get(stack, {}), known)
            if str(each.action) != "no-op"
        }
        real: Actions = {each["address"]: each["action"] for each in edit["real"]}
        for address in {*said, *real}:
            if said.get(address) != real.get(address):
                different[edit["edit"], address] = (said.get(address), real.get(address))
    assert {key: value for key, value in different.items() if key not in REMAINING} == {}
    assert REMAINING.keys() - different.keys() == set(), "the list has no entry that nothing needs"
