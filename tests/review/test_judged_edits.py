"""Edits whose plans are not recorded: what ``groundplan diff`` says, against what google 7.45.0's schema makes of them.

The schema's words decide (``force_new``, ``optional`` and ``computed``): an argument that is both keeps its value when
it is no longer set, and Terraform's own guards change nothing that exists.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groundplan.catalog import shipped
from groundplan.emit.rehearsal import schema_changes
from groundplan.on_plans.protection import guarded
from groundplan.on_plans.provider_facts import known
from plan_review.configurations import compare
from plan_review.model import Action, Plan
from review.test_recorded_edits import resources
from staged_terraform import schemas
from staged_terraform.facts import expand
from staged_terraform.schema_changes import amended

POOL = "google_container_node_pool.pool-a4-highgpu-8g"
CLUSTER = "google_container_cluster.cluster"
CPU = "google_container_node_pool.cpu-pool"
LUSTRE = "google_lustre_instance.lustre"
OFFICE = {"cluster.control_plane.authorized_networks": [{"name": "office", "cidr": "10.128.0.0/9"}]}
PROD = {"environment": "prod", "backend": {"gcs": {"bucket": "my-states"}}}
SPOT = {"gpu.pools.0.capacity": "spot", "reservation": "REMOVED"}

Changes = dict[str, Any]

#: (what stands, the edit, address -> action).
EDITS: dict[str, tuple[Changes, Changes, dict[str, str]]] = {
    "control plane range removed: computed": (
        {**OFFICE, "cluster.control_plane.cidr": "172.16.0.0/28"},
        {"cluster.control_plane.cidr": "REMOVED"},
        {},
    ),
    "drain time removed: a computed block": (
        {"gpu.pools.0.drain_hours": 12},
        {"gpu.pools.0.drain_hours": "REMOVED"},
        {},
    ),
    "all node labels removed: computed": (
        {"gpu.pools.0.labels": {"a": "b"}},
        {"gpu.pools.0.labels": "REMOVED"},
        {},
    ),
    "one node label removed": (
        {"gpu.pools.0.labels": {"a": "b", "c": "d"}},
        {"gpu.pools.0.labels": {"a": "b"}},
        {POOL: "update"},
    ),
    "taints removed: not computed": (
        {"gpu.pools.0.taints": [{"key": "team", "value": "x"}]},
        {"gpu.pools.0.taints": "REMOVED"},
        {POOL: "update"},
    ),
    "prevent_destroy off: Terraform's own": (PROD, {"prevent_destroy": False}, {}),
    "authorized networks removed": (
        OFFICE,
        {"cluster.control_plane.authorized_networks": "REMOVED"},
        {CLUSTER: "update"},
    ),
    "flow logs removed: not computed": (
        {"network.primary.flow_logs": True},
        {"network.primary.flow_logs": "REMOVED"},
        {"google_compute_subnetwork.nodes": "update"},
    ),
    "fixed addresses to Google's": (
        {"network.primary.nat": {"addresses": 1}},
        {"network.primary.nat": {"addresses": 0}},
        {"google_compute_address.nat-address-0": "destroy", "google_compute_router_nat.nat": "update"},
    ),
    "local SSDs": ({}, {"gpu.pools.0.local_ssds": 0}, {POOL: "replace"}),
    "compact placement": (SPOT, {"gpu.pools.0.placement": "compact"}, {POOL: "replace"}),
    "CPU disk": ({}, {"cluster.cpu_pool.disk_gib": 300}, {CPU: "update"}),
    "CPU secure boot": ({}, {"cluster.cpu_pool.secure_boot": True}, {CPU: "replace"}),
    "reservation of another project": (
        {},
        {"reservation": {"name": "my-b200-reservation", "project": "owner-project"}},
        {POOL: "replace"},
    ),
    "Lustre's zone": ({}, {"storage.lustre.zone": "us-central1-a"}, {LUSTRE: "replace"}),
    "nodes' range widened": (
        {},
        {"network.primary.nodes": "10.0.0.0/19"},
        {"google_compute_subnetwork.nodes": "update"},
    ),
    "hold given up": ({}, {"cluster.maintenance.hold_upgrades": False}, {CLUSTER: "update"}),
    "another service address range": (
        {},
        {"network.primary.services": "10.8.16.0/20"},
        {"google_compute_subnetwork.nodes": "update"},
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_diff_says_what_the_schema_makes_of_it(name: str, tmp_path: Path) -> None:
    stands, edit, expected = EDITS[name]
    before, after = resources([stands], tmp_path / "old"), resources([stands, edit], tmp_path / "new")
    said = {
        each.address: str(each.action)
        for stack in ("network", "storage", "cluster", "gpu")
        for each in compare(stack, before.get(stack, {}), after.get(stack, {}), known)
        if each.action is not Action.NONE
    }
    assert said == expected


def test_what_is_kept_is_optional_and_computed() -> None:
    types = shipped("provider_facts")["types"]
    kept = {name: sorted(expand(entry["kept"])) for name, entry in types.items() if "kept" in entry}
    loaded = schemas.load(("resource", name) for name in kept)
    for name, paths in kept.items():
        block = amended(loaded["resource", name], schema_changes().resources.get(name, {}))
        for path in paths:
            *outer, last = path.split(".")
            inner = block
            for step in outer:
                inner = inner.blocks[step].block
            attribute = inner.attributes[last]
            assert (attribute.optional, attribute.computed) == (True, True), f"{name}.{path}"


def test_a_guard_that_will_refuse_is_told(tmp_path: Path) -> None:
    """prevent_destroy holds while its resource is configured; deletion_protection while the state has it."""
    edit = {"cluster.control_plane.cidr": "172.16.0.0/28", "gpu.pools.0.driver": "LATEST", **OFFICE}
    before, after = resources([PROD], tmp_path / "old"), resources([PROD, edit], tmp_path / "new")
    gone = {"gpu.pools.0.name": "other", "prevent_destroy": False}
    lifted = resources([PROD, gone], tmp_path / "lifted")

    def refusals(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str]]:
        found = [Plan(kind, tuple(compare(kind, old[kind], new[kind], known))) for kind in ("cluster", "gpu")]
        return [(each.address, each.message.partition(", and ")[2]) for each in guarded(found)]

    assert refusals(before, after) == [
        (CLUSTER, "prevent_destroy refuses it"),
        (CLUSTER, "deletion_protection refuses it"),
        (POOL, "prevent_destroy refuses it"),
    ]
    assert refusals(before, lifted) == []


def test_what_is_kept_is_not_taken_for_written(tmp_path: Path) -> None:
    """A pool that gets autoscaling has no node count any more, though the provider keeps the last one."""
    auto = {"gpu.pools.0.nodes": "REMOVED", "gpu.pools.0.autoscaling": {"min": 0, "max": 2}}
    before, after = resources([], tmp_path / "old"), resources([auto], tmp_path / "new")
    (change,) = [each for each in compare("gpu", before["gpu"], after["gpu"], known) if each.action is Action.UPDATE]
    assert "node_count" in change.before
    assert "node_count" not in change.after
