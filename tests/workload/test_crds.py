"""Every recipe on every release and accelerator is a valid object for every supported KubeRay."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest

from workload.crd_extract import facts_of, written
from workload.crds import FACTS, VERSIONS, facts, problems
from workload.jobs import MACHINES, RECIPES, RELEASES, objects, site

ROOT = Path(__file__).resolve().parents[2]
CRDS = Path(os.environ.get("GROUNDPLAN_CRDS") or ROOT.parent / "shared/reference/crds")


@pytest.mark.skipif(not CRDS.is_dir(), reason="no folder with KubeRay's CRDs: GROUNDPLAN_CRDS names none")
@pytest.mark.parametrize("version", VERSIONS)
def test_the_facts_are_those_of_the_crds(version: str) -> None:
    """Where the CRDs themselves are at hand. `scripts/crd-facts` writes the facts anew."""
    assert facts(version) == facts_of(CRDS, version)
    assert (FACTS / f"{version}.yaml").read_text("utf-8") == written(facts(version), version)


def test_what_the_facts_say_of_a_few_fields() -> None:
    """From KubeRay's sources: ray-operator/apis/ray/v1/{rayjob,raycluster}_types.go at the tags."""
    spec = {version: facts(version)["Spec"] for version in VERSIONS}
    assert [version for version in VERSIONS if "preRunningDeadlineSeconds" in spec[version]] == ["1.6.2", "1.7.0"]
    assert spec["1.4.2"]["ttlSecondsAfterFinished"] == "integer"
    assert facts("1.7.0")["DeletionRules"]["condition!"] == "Condition"
    group = facts("1.4.2")["WorkerGroupSpecs"]
    assert {field for field in group if field.endswith("!")} == {
        "groupName!",
        "maxReplicas!",
        "minReplicas!",
        "template!",
    }


def test_facts_that_cannot_be_held_are_an_error(tmp_path: Path) -> None:
    """Extraction loses nothing in silence."""
    crd = "spec: {versions: [{name: v1, schema: {openAPIV3Schema: {properties: {spec: {type: string, SAYS}}}}}]}"
    for kind in ("rayjobs", "rayclusters"):
        file = tmp_path / f"kuberay-v1.4.2-ray.io_{kind}.yaml"
        file.write_text(crd.replace("SAYS", "maxLength: 5"), "utf-8")
    assert facts_of(tmp_path, "1.4.2") == {"RayJob": {"spec": "string maxLength=5"}}
    file.write_text(crd.replace("SAYS", "multipleOf: 5"), "utf-8")
    with pytest.raises(ValueError, match=r"RayCluster.spec: nothing here knows \['multipleOf'\]"):
        facts_of(tmp_path, "1.4.2")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_recipe_and_release(version: str, machine: str) -> None:
    for recipe, release in itertools.product(RECIPES, RELEASES):
        job = site(
            machine,
            workload={"recipe": recipe, "release": release},
            platform={"kuberay": {"version": version}},
        )
        assert problems(objects(job)["RayJob"], version) == [], (recipe, release)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "workload",
    [
        {"submission": "K8sJobMode", "retries": 2},
        {"mode": "cluster"},
        {"preflight": {"enabled": True}, "prefetch": {"enabled": True}, "export": {"enabled": True}},
        {"worker": {"privileged": True}, "environment": {"NCCL_DEBUG": "INFO"}},
    ],
    ids=["submitter", "cluster", "around", "worker"],
)
def test_every_option(version: str, workload: dict[str, Any]) -> None:
    platform = {"kuberay": {"version": version}, "kueue": {"enabled": True}}
    found = objects(site(workload=workload, platform=platform))
    ray = found.get("RayJob") or found["RayCluster"]
    assert problems(ray, version) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_the_schemas_are_closed(version: str) -> None:
    """The validator itself sees what an API server would drop or refuse."""
    good = objects(site(platform={"kuberay": {"version": version}}))["RayJob"]
    for path, value in (
        ("submissionMod", "HTTPMode"),
        ("ttlSecondsAfterFinished", "10m"),
        ("rayClusterSpec.headGroupSpec.rayStartParams.num-gpus", 0),
        ("rayClusterSpec.headGroupSpec.template.spec.containers.0.imagePulPolicy", "Always"),
        ("rayClusterSpec.workerGroupSpecs.0.replicas", "2"),
        ("rayClusterSpec.workerGroupSpecs.0.groupName", None),
        ("rayClusterSpec.headGroupSpec.template.spec.containers.0.name", None),
        ("rayClusterSpec.headGroupSpec.template.spec.containers.0.resources.limits.memory", "64 GiB"),
        ("rayClusterSpec.autoscalerOptions", {"upscalingMode": "Eager"}),
        ("rayClusterSpec.headGroupSpec", None),
    ):
        broken = json.loads(json.dumps(good))
        node: Any = broken["spec"]
        *parents, last = path.split(".")
        for part in parents:
            node = node[int(part)] if part.isdigit() else node[part]
        if value is None:
            del node[last]
        else:
            node[last] = value
        (problem,) = problems(broken, version)
        assert last in problem, path
