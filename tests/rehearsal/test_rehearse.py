"""A site goes through real Terraform to an empty plan and a clean destroy, and nothing of the user's is touched."""

from __future__ import annotations

import json
import os
from pathlib import Path

from groundplan.emit.rehearsal import rehearse
from rehearsal import standin
from rehearsal.conftest import Run, said
from staged_terraform import Options


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def test_six_stacks_to_an_empty_plan_and_a_clean_destroy(terraform: None, tmp_path: Path) -> None:
    folder = standin.write(standin.site(), tmp_path / "out")
    (folder / "stacks" / "lab-network" / "terraform.tfstate").write_text("the user's own state, not even JSON")
    (folder / "stacks" / "lab-network" / ".terraform.lock.hcl").write_text("the user's lock file")
    before = snapshot(folder)
    report = rehearse(folder, Options(keep=tmp_path / "kept"))

    assert report.ok, said(report)
    assert [stack.kind for stack in report.stacks] == [
        "network", "storage", "cluster", "gpu", "platform", "workload",
    ]  # fmt: skip
    assert all(stack.empty_replan for stack in report.stacks)
    # Google keeps the connection after the last instance: it goes by hand, and Terraform finds it gone.
    kept = {stack.kind: sorted({*stack.created} - {*stack.destroyed}) for stack in report.stacks}
    assert {kind: each for kind, each in kept.items() if each} == {
        "network": ["google_service_networking_connection.services"]
    }
    assert [len(stack.by_hand) for stack in report.stacks] == [1, 0, 0, 0, 0, 0]
    assert all(each.startswith("google_project_service") for each in report.remaining)
    assert report.guessed == []
    assert snapshot(folder) == before
    gpu = next(stack for stack in report.stacks if stack.kind == "gpu")
    assert [step.address for step in gpu.path][-1] == "google_container_node_pool.b200"
    cluster = next(stack for stack in report.stacks if stack.kind == "cluster")
    assert cluster.lifted == ["google_container_cluster.cluster"]
    for file in (tmp_path / "kept").iterdir():
        assert "simulated" in file.name.lower()
    everything = "".join(file.read_text() for file in (tmp_path / "kept").iterdir())
    assert "TF_VAR" not in everything


def test_plans_show_what_terraform_knows(run: Run) -> None:
    report = run(standin.site(), until="plan", stack="storage")
    (lustre,) = (
        each["change"]
        for each in report.stacks[1].plan_json["resource_changes"]
        if each["type"] == "google_lustre_instance"
    )
    assert lustre["after"]["labels"] == {"site": "lab"}
    assert lustre["after"]["effective_labels"] == {"site": "lab", "goog-terraform-provisioned": "true"}
    assert lustre["after"]["project"] == "lab-project"
    assert lustre["after_unknown"]["mount_point"] is True


def test_a_write_only_secret_is_in_no_plan_and_no_state(run: Run, tmp_path: Path) -> None:
    report = run(standin.site(), until="apply", keep=tmp_path / "kept")
    assert report.ok, said(report)
    (secret,) = (
        each["change"]["after"]
        for each in report.stacks[4].plan_json["resource_changes"]
        if each["type"] == "kubernetes_secret_v1"
    )
    assert secret["data_wo"] is None
    assert secret["data_wo_revision"] == 1


def test_remote_backends_are_overridden(run: Run) -> None:
    network, storage = standin.network(), standin.storage()
    network["terraform"]["backend"] = {"gcs": {"bucket": "states", "prefix": "lab/network"}}
    del storage["terraform"]["backend"]
    storage["terraform"]["cloud"] = {"organization": "lab", "workspaces": {"name": "lab-storage"}}
    report = run({"network": network, "storage": storage})
    assert report.ok, said(report)


def test_identifiers_do_not_change_from_run_to_run(terraform: None, tmp_path: Path) -> None:
    folder = standin.write({"network": standin.network()}, tmp_path / "out")
    texts = []
    for _ in range(2):
        report = rehearse(folder, Options(until="apply"))
        # Terraform lists relevant attributes in the order that its parallel walk met them.
        passing = ("timestamp", "relevant_attributes")
        plan = {k: v for k, v in report.stacks[0].plan_json.items() if k not in passing}
        texts.append(json.dumps(plan, sort_keys=True))
    assert texts[0] == texts[1]


def test_the_environment_of_the_caller_stays_outside(run: Run, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("TF_CLI_ARGS_plan", "-no-such-option")
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", "/nonexistent")
    report = run({"network": standin.network()}, until="plan")
    assert report.ok, said(report)
    assert report.findings == []
    assert "TF_REATTACH_PROVIDERS" not in os.environ


def test_a_provider_without_simulation_is_named(run: Run) -> None:
    network = standin.network()
    network["terraform"]["required_providers"]["random"] = {"source": "hashicorp/random"}
    assert "no simulation of hashicorp/random" in said(run({"network": network}))


def test_another_provider_version_is_warned_of(run: Run) -> None:
    network = standin.network()
    network["terraform"]["required_providers"]["google"]["version"] = "7.0.0"
    report = run({"network": network}, until="plan")
    assert report.ok
    assert "google 7.0.0 is pinned, the rehearsal knows 7.45.0" in said(report)


def test_only_one_stack_is_planned_after_those_that_it_reads(run: Run) -> None:
    report = run(standin.site(), until="plan", stack="cluster")
    assert [bool(stack.created) for stack in report.stacks] == [True, True, False]
    assert len(report.stacks[-1].planned) == 9
