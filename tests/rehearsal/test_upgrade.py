"""``--from``: what a change of the profile means for a site that stands, replacements included; and it must succeed."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal import standin
from rehearsal.conftest import Run, said
from staged_terraform.display import text
from staged_terraform.report import Report

RAILS = {f"google_compute_subnetwork.rail{i}": "replace" for i in range(8)}


def planned(report: Report) -> dict[str, str]:
    return {each.address: each.action for stack in report.stacks for each in stack.planned}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param(
            {"gpu": standin.gpu(driver="DEFAULT")}, {"google_container_node_pool.b200": "replace"}, id="driver"
        ),
        pytest.param(
            {"cluster": standin.cluster(maintenance_start="2026-01-01T03:00:00Z")},
            {"google_container_cluster.cluster": "update"},
            id="maintenance window",
        ),
        pytest.param(
            {"gpu": standin.gpu(zone="us-central1-b")},
            {"google_compute_network.roce": "replace", "google_container_node_pool.b200": "replace", **RAILS},
            id="zone",
        ),
        pytest.param(
            {"storage": standin.storage(36000)}, {"google_lustre_instance.lustre": "update"}, id="Lustre grows"
        ),
        pytest.param(
            {"storage": standin.storage(throughput="500")},
            {"google_lustre_instance.lustre": "replace"},
            id="Lustre throughput",
        ),
        pytest.param(
            {"gpu": standin.gpu(first_rail="192.168.100.0/24")},
            {"google_compute_subnetwork.rail0": "replace", "google_container_node_pool.b200": "replace"},
            id="a range moved",
        ),
        pytest.param(
            {"gpu": standin.gpu(first_rail="192.168.0.0/23")},
            {"google_compute_subnetwork.rail0": "update"},
            id="widened",
        ),
        pytest.param({"workload": standin.workload(steps=20)}, {"helm_release.job": "update"}, id="steps"),
    ],
)
def test_upgrades(run: Run, changed: dict[str, Any], expected: dict[str, str]) -> None:
    last = next(iter(changed), "workload")
    report = run(standin.site(**changed), old=standin.site(), until="apply", stack=last)
    assert report.ok, said(report)
    assert planned(report) == expected
    assert all(stack.empty_replan for stack in report.stacks)


def test_the_reason_of_a_replacement_is_told(run: Run) -> None:
    report = run(standin.site(gpu=standin.gpu(driver="DEFAULT")), old=standin.site(), until="plan", stack="gpu")
    (pool,) = (each for stack in report.stacks for each in stack.planned)
    assert pool.because == ("node_config.0.guest_accelerator.0.gpu_driver_installation_config.0.gpu_driver_version",)


def test_without_a_trigger_the_new_network_fails_half_way(run: Run) -> None:
    old = standin.site(gpu=standin.gpu(trigger=False))
    report = run(standin.site(gpu=standin.gpu(zone="us-central1-b", trigger=False)), old=old, until="apply")
    assert not report.ok
    assert "is already being used by" in said(report)


def test_what_is_lost_is_flagged(run: Run) -> None:
    new = standin.site(storage=standin.storage(throughput="500"), gpu=standin.gpu(driver="DEFAULT"))
    report = run(new, old=standin.site(), until="plan", stack="gpu")
    lost = {each.address: each.loss for stack in report.stacks for each in stack.planned if each.loss}
    assert lost == {
        "google_lustre_instance.lustre": "the file system and all data on it",
        "google_container_node_pool.b200": "its nodes are drained, and what runs on them stops",
    }
    assert "! lost: the file system and all data on it" in text(report)
