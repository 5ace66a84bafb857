"""What the helm provider plans and keeps of a release, as helm 3.1.1 does it (resource_helm_release.go, ModifyPlan).

No plan of it is recorded here. The status is always planned as deployed, the version of a local chart is its own; the
manifest and its objects are an experiment's, which is off; every update has a new id, metadata and description.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groundplan.emit.rehearsal import provider_facts
from staged_terraform.cty_values import UNKNOWN
from staged_terraform.planning import Plan, plan
from staged_terraform.provider import SimulatedProvider
from staged_terraform.schemas import load
from staged_terraform.simulated_cloud import SimulatedCloud

RELEASE = "helm_release"


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> SimulatedProvider:
    folder = tmp_path_factory.mktemp("stack")
    (folder / "chart").mkdir()
    (folder / "chart" / "Chart.yaml").write_text("name: manifests\nversion: 0.1.0\n", "utf-8")
    cloud = SimulatedCloud(provider_facts(), folder=Path(folder), lenient=True)
    return SimulatedProvider("helm", load([("resource", RELEASE), ("provider", "helm")]), cloud, legacy=False)


def planned(helm: SimulatedProvider, prior: dict[str, Any] | None, **given: Any) -> Plan:
    config = {name: given.get(name) for name in helm.resources[RELEASE].attributes}
    return plan(helm.resources[RELEASE], helm.facts[RELEASE], prior, config, helm.predictor(RELEASE), legacy=False)


JOB = {"name": "job", "namespace": "n", "chart": "chart", "values": ["a: 1\n"]}


def test_a_new_release(helm: SimulatedProvider) -> None:
    found = planned(helm, None, **JOB).planned
    assert {name: found[name] for name in ("status", "version", "manifest", "resources")} == {
        "status": "deployed",
        "version": "0.1.0",
        "manifest": None,
        "resources": None,
    }
    assert [name for name, value in sorted(found.items()) if value is UNKNOWN] == ["description", "id", "metadata"]


def test_an_update_changes_what_the_provider_computes_anew(helm: SimulatedProvider) -> None:
    config = {name: JOB.get(name) for name in helm.resources[RELEASE].attributes}
    state = helm.settled(RELEASE, planned(helm, None, **JOB).planned, config)
    assert (state["description"], state["manifest"], state["version"]) == ("Install complete", None, "0.1.0")
    assert planned(helm, state, **JOB).planned == state
    found = planned(helm, state, **{**JOB, "values": ["a: 2\n"]})
    assert found.requires_replace == []
    assert [name for name, value in sorted(found.planned.items()) if value is UNKNOWN] == [
        "description", "id", "metadata",
    ]  # fmt: skip
    assert (found.planned["status"], found.planned["version"]) == ("deployed", "0.1.0")


def test_a_description_of_ones_own_stays(helm: SimulatedProvider) -> None:
    config = {name: {**JOB, "description": "ours"}.get(name) for name in helm.resources[RELEASE].attributes}
    state = helm.settled(RELEASE, planned(helm, None, **JOB, description="ours").planned, config)
    found = planned(helm, state, **{**JOB, "values": ["a: 2\n"]}, description="ours").planned
    assert found["description"] == "ours"


def test_a_chart_of_a_repository_has_the_version_that_is_given(helm: SimulatedProvider) -> None:
    given = {"name": "k", "chart": "kuberay-operator", "repository": "https://charts.example", "version": "1.7.0"}
    assert planned(helm, None, **given).planned["version"] == "1.7.0"
