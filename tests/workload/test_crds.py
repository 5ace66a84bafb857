"""Every recipe on every release and accelerator is a valid object for every supported KubeRay."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest

from workload.crds import VERSIONS, needs_crds, problems
from workload.jobs import MACHINES, RECIPES, RELEASES, objects, site

pytestmark = needs_crds


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
    ):
        broken = copy.deepcopy(good)
        node: Any = broken["spec"]
        *parents, last = path.split(".")
        for part in parents:
            node = node[int(part)] if part.isdigit() else node[part]
        if value is None:
            del node[last]
        else:
            node[last] = value
        assert len(problems(broken, version)) == 1, path
