"""The simulated provider against plans that the real one made: what still differs has a name, and the list shrinks."""

from __future__ import annotations

import json

import pytest

from rehearsal.recorded import ARCHIVE, Comparison, Difference, plans, resources

#: (stage, type, path) -> why the simulated provider says otherwise there. At most twelve, and none that nothing needs.
REMAINING = {
    (
        "create",
        "google_container_node_pool",
        "node_config.containerd_config",
    ): "6.50.0 plans none, 7.45.0 and we leave it to the API",
    (
        "state",
        "google_compute_subnetwork",
        "ip_collection",
    ): "6.50.0 reads null, 7.45.0 and we the empty text",
    (
        "replace",
        "google_container_node_pool",
        "",
    ): "an accelerator profile in place of the nine networks: the real one plans these away too",
}


@pytest.fixture(scope="module")
def differences() -> list[Difference]:
    if not ARCHIVE.is_file():
        pytest.skip(f"no recorded plans at {ARCHIVE}: they are not part of the project")
    return Comparison(list(resources(plans()))).differences()


def test_what_differs_from_recorded_plans_is_named(differences: list[Difference]) -> None:
    unnamed = [each for each in differences if (each.stage, each.type, each.path) not in REMAINING]
    assert not unnamed, "\n".join(sorted({str(each) for each in unnamed})[:40])


def test_no_named_difference_is_without_need(differences: list[Difference]) -> None:
    found = {(each.stage, each.type, each.path) for each in differences}
    assert set(REMAINING) - found == set()
    assert len(REMAINING) <= 12


def test_the_comparison_compares(differences: list[Difference]) -> None:
    """A state that the simulated provider would leave otherwise is seen, attribute by attribute."""
    recorded = plans()
    document = json.loads(json.dumps(recorded["edit-labels-add-network"]))
    for each in document["resource_changes"]:
        if each["type"] == "google_compute_router":
            each["change"]["before"]["description"] = None
    found = Comparison(list(resources({"changed": document}))).differences()
    assert [(each.stage, each.path, each.real, each.simulated) for each in found if each.stage == "state"][:1] == [
        ("state", "description", "null", '""')
    ]
