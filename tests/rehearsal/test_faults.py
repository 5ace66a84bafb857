"""Each fault does to Terraform what it would do, and the recovery it needed is told."""

from __future__ import annotations

import pytest

from rehearsal import standin
from rehearsal.conftest import Run, said
from staged_terraform.display import text
from staged_terraform.faults import KINDS, Fault

#: Every type that the stand-in makes.
TYPES = {name for body in standin.site().values() for name in body["resource"]}


#: Fault of the cluster stack -> what Terraform says, and what the next plan does about it.
IN_THE_CLUSTER_STACK = {
    "quota": ("quotaExceeded", {"google_container_node_pool.cpu": "create"}),
    "stock-out": ("ZONE_RESOURCE_POOL_EXHAUSTED", {"google_container_node_pool.cpu": "create"}),
    "reservation-not-found": ("reservation was not found", {"google_container_node_pool.cpu": "create"}),
    "timeout:google_container_node_pool": ("timeout", {"google_container_node_pool.cpu": "replace"}),
    "drift:google_service_account": ("", {"google_service_account.nodes": "update"}),
}


def test_faults_in_the_cluster_stack(run: Run) -> None:
    report = run(standin.site(), stack="cluster", faults=tuple(IN_THE_CLUSTER_STACK), until="apply")
    assert report.ok, said(report)
    planned = {each.fault: {one.address: one.action for one in each.next_plan} for each in report.faults}
    assert planned == {fault: next_plan for fault, (_, next_plan) in IN_THE_CLUSTER_STACK.items()}
    for outcome in report.faults:
        assert IN_THE_CLUSTER_STACK[outcome.fault][0] in outcome.said
        assert outcome.recovery == ["apply"], outcome.fault
        assert outcome.advice == KINDS[outcome.fault.partition(":")[0]].advice


def test_a_normalising_api_shows_as_a_plan_that_is_never_empty(run: Run) -> None:
    network = standin.network()
    report = run({"network": network}, faults=("normalise",))
    (outcome,) = report.faults
    assert {each.address: each.action for each in outcome.next_plan} == {"google_compute_network.vpc": "update"}
    assert outcome.recovered


def test_an_interrupted_apply_goes_on(run: Run) -> None:
    report = run({"network": standin.network()}, faults=("interrupt",))
    (outcome,) = report.faults
    assert report.ok, said(report)
    assert outcome.recovery == ["apply"]
    assert len(outcome.next_plan) < 12


def test_a_killed_apply_leaves_orphans_to_import(run: Run) -> None:
    report = run({"network": standin.network()}, faults=("kill",))
    (outcome,) = report.faults
    assert report.ok, said(report)
    assert outcome.recovery[0] == "apply (refused)"
    assert "import google_compute_network.vpc projects/lab-project/global/networks/lab" in outcome.recovery
    assert outcome.recovery[-1] == "apply"


def test_a_held_lock_stops_the_apply(run: Run) -> None:
    report = run({"network": standin.network()}, faults=("lock",))
    (outcome,) = report.faults
    assert "Error acquiring the state lock" in outcome.said
    assert report.ok, said(report)


def test_every_type_recovers(run: Run) -> None:
    faults = ("api-disabled:each", "timeout:each")
    report = run(standin.site(), faults=faults)
    assert report.ok, said(report)
    for fault in faults:
        played = [each for each in report.faults if each.fault == fault]
        assert len(played) == 6
        assert {name for each in played for name in each.hit} == TYPES
    assert all(stack.empty_replan and stack.destroyed for stack in report.stacks)


def test_a_protected_cluster_whose_creation_timed_out_is_untainted(run: Run) -> None:
    report = run(standin.site(), stack="cluster", faults=("timeout",))
    assert report.ok, said(report)
    (outcome,) = report.faults
    assert outcome.recovery == ["apply (refused)", "untaint google_container_cluster.cluster", "apply"]


def test_a_fault_that_hits_nothing_is_told(run: Run) -> None:
    report = run({"network": standin.network()}, faults=("quota:google_sql_database",))
    assert not report.ok
    assert "--fault quota:google_sql_database: it hit nothing" in said(report)


def test_an_unknown_fault_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown fault 'flood'; there are quota, "):
        Fault.parse("flood")


def test_a_refusing_cluster_stops_plan_and_destroy(run: Run) -> None:
    faults = ("api-401", "api-503", "api-reset")
    report = run(standin.site(), stack="platform", faults=faults)
    assert report.ok, said(report)
    assert {each.fault: each.said for each in report.faults} == {fault: KINDS[fault].cluster_says for fault in faults}
    for outcome in report.faults:
        assert (outcome.lost, outcome.next_plan, outcome.recovery) == ([], [], ["apply"])


def test_a_stack_of_releases_alone_forgets_them(run: Run) -> None:
    """helm 3.1.1 takes any error for "does not exist": K1 of the real provider."""
    workload = standin.workload()
    del workload["resource"]["kubernetes_config_map_v1"]
    del workload["resource"]["helm_release"]["job"]["depends_on"]
    report = run(standin.site(workload=workload), faults=("api-401:each",), until="apply")
    platform, outcome = report.faults
    assert platform.recovered
    assert not report.ok
    assert not outcome.recovered
    assert outcome.lost == ["helm_release.job"]
    assert {each.address: each.action for each in outcome.next_plan} == {"helm_release.job": "create"}
    assert outcome.recovery[0].startswith("import helm_release.job ")
    assert report.stacks[-1].empty_replan
    assert "failed with 1 fault not recovered from in" in text(report)


@pytest.mark.parametrize(
    ("atomic", "recovery"),
    [
        pytest.param(True, ["apply"], id="atomic"),
        pytest.param(False, ["apply (refused)", "helm uninstall networks --namespace rl", "apply"], id="not atomic"),
    ],
)
def test_a_failed_first_install(run: Run, atomic: bool, recovery: list[str]) -> None:
    platform = standin.platform()
    del platform["resource"]["helm_release"]["kuberay"]
    platform["resource"]["helm_release"]["networks"]["atomic"] = atomic
    report = run(standin.site(platform=platform), faults=("failed-install",), stack="platform", until="apply")
    assert report.ok, said(report)
    (outcome,) = report.faults
    assert outcome.recovery == recovery
