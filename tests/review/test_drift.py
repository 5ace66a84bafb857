"""What counts as changed outside Terraform: against what real plans list, and against what somebody would do."""

from __future__ import annotations

from typing import Any

import pytest

from groundplan.on_plans import consequences
from plan_review.drift import changed_outside
from rehearsal.recorded import ARCHIVE, plans

assert consequences  # it says what shows other resources

Object = dict[str, Any]


def entry(kind: str, before: Object | None, after: Object | None) -> Object:
    return {"address": f"{kind}.x", "type": kind, "change": {"before": before, "after": after}}


def written(kind: str, **expressions: Any) -> Object:
    return {"root_module": {"resources": [{"address": f"{kind}.x", "expressions": expressions}]}}


def test_nobody_touched_the_sites_of_the_recorded_plans() -> None:
    if not ARCHIVE.is_file():
        pytest.skip(f"no recorded plans at {ARCHIVE}: they are not part of the project")
    recorded = plans()
    assert sum(len(each.get("resource_drift", [])) for each in recorded.values()) > 100
    found = {
        name: drift
        for name, document in recorded.items()
        if (drift := changed_outside(document.get("resource_drift"), document["configuration"]))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("before", "after", "expressions", "drifts"),
    [
        ({"mtu": 8896}, {"mtu": 1460}, {"mtu": {"constant_value": 8896}}, True),
        ({"mtu": 8896}, {"mtu": 8896, "uid": "1"}, {"mtu": {"constant_value": 8896}}, False),
        ({"ports": None}, {"ports": []}, {"ports": {}}, False),
        ({"network": "n"}, {"network": "https://x/p/networks/n"}, {"network": {"references": ["a.b"]}}, False),
        ({"network": "n"}, {"network": "https://x/p/networks/m"}, {"network": {"references": ["a.b"]}}, True),
        ({"b": [{"on": True}]}, {"b": [{"on": False}]}, {"b": [{"on": {"constant_value": True}}]}, True),
        ({"b": [{"on": True}]}, {"b": [{"on": True, "new": "x"}]}, {"b": [{"on": {"constant_value": True}}]}, False),
        ({"b": [{"on": True}]}, {"b": []}, {"b": [{"on": {"constant_value": True}}]}, True),
        ({"taint": []}, {"taint": [{"key": "a"}]}, {"taint": [{"key": {"constant_value": "b"}}]}, True),
        ({"labels": {"a": "b"}}, {"labels": {"a": "c"}}, {"labels": {"constant_value": {"a": "b"}}}, True),
        ({"mtu": 8896}, None, {"mtu": {"constant_value": 8896}}, True),
    ],
)
def test_what_is_configured_counts(before: Object, after: Object | None, expressions: Object, drifts: bool) -> None:
    found = changed_outside([entry("a_b", before, after)], written("a_b", **expressions))
    assert found == (("a_b.x",) if drifts else ())


def test_a_cluster_shows_its_pools_and_is_not_changed_with_them() -> None:
    name = {"constant_value": "c"}
    pools = [{"node_pool": [{"name": each}], "name": "c"} for each in ("a", "b")]
    kind = "google_container_cluster"
    configuration = written(kind, name=name, node_pool=[{"name": name}])
    assert changed_outside([entry(kind, *pools)], configuration) == ()
    pools[1]["name"] = "d"
    assert changed_outside([entry(kind, *pools)], configuration) == (f"{kind}.x",)
