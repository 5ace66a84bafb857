"""Jobs whose nodes come when they ask; and hints of shapes that pass when they are followed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findings import Finding, Severity
from groundplan.site.resolve import Site
from workload.jobs import findings, queue_objects, site

SMOKE = "grpo-qwen2.5-1.5b-gsm8k-smoke"
PATIENT = {"recipe": SMOKE, "startup_minutes": 720}
NO_TOPOLOGY = {"kueue": {"enabled": True, "topology": "none"}}


def pooled(platform: dict[str, Any] | None = None, workload: dict[str, Any] | None = None, **pool: Any) -> Site:
    own = {"machine_type": "a4-highgpu-8g", "name": "gpus"} | pool
    return site(workload=workload or PATIENT, platform=platform or {}, gpu={"pools": [own]})


QUEUED = {"capacity": "queued", "autoscaling": {"min": 0, "max": 4}}
FLEX = {"capacity": "flex_start", "autoscaling": {"min": 0, "max": 4}}


def test_queued_needs_kueue() -> None:
    (found,) = findings(pooled(**QUEUED))
    assert (found.rule, found.severity) == ("queued-needs-kueue", Severity.WARNING)
    assert "platform.kueue.enabled: true" in found.hint
    assert found.path == ("gpu", "pools", 0, "capacity")
    assert findings(pooled(NO_TOPOLOGY, **QUEUED)) == []
    assert findings(pooled(**FLEX)) == []


def test_a_queued_pool_has_an_admission_check() -> None:
    found = queue_objects(pooled(NO_TOPOLOGY, max_run_hours=48, **QUEUED))
    assert found["provisioning-gpus"] == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ProvisioningRequestConfig",
        "metadata": {"name": "nemo-rl-gpus"},
        "spec": {
            "provisioningClassName": "queued-provisioning.gke.io",
            "managedResources": ["nvidia.com/gpu"],
            "podSetUpdates": {
                "nodeSelector": [
                    {
                        "key": "autoscaling.gke.io/provisioning-request",
                        "valueFromProvisioningClassDetail": "ResizeRequestName",
                    }
                ]
            },
            "parameters": {"maxRunDurationSeconds": "172800"},
        },
    }
    check = found["check-gpus"]
    assert (check["kind"], check["metadata"]["name"]) == ("AdmissionCheck", "nemo-rl-gpus")
    assert check["spec"] == {
        "controllerName": "kueue.x-k8s.io/provisioning-request",
        "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "nemo-rl-gpus"},
    }
    queue = found["cluster-queue"]["spec"]
    assert queue["admissionChecksStrategy"] == {
        "admissionChecks": [{"name": "nemo-rl-gpus", "onFlavors": ["nemo-rl-gpus"]}]
    }
    assert "nemo-rl-gpus" in [flavor["name"] for flavor in queue["resourceGroups"][0]["flavors"]]


@pytest.mark.parametrize("pool", [FLEX, {"nodes": 2}])
def test_other_pools_have_none(pool: dict[str, Any]) -> None:
    found = queue_objects(pooled(NO_TOPOLOGY, **pool))
    assert not {o["kind"] for o in found.values()} & {"AdmissionCheck", "ProvisioningRequestConfig"}
    assert "admissionChecksStrategy" not in found["cluster-queue"]["spec"]


@pytest.mark.parametrize("level", ["block", "subblock"])
@pytest.mark.parametrize(
    ("pool", "warned"),
    [
        (QUEUED, True),
        (FLEX, True),
        ({"capacity": "spot", "nodes": 2}, True),
        ({"autoscaling": {"min": 0, "max": 4}}, True),
        ({"autoscaling": {"min": 1, "max": 4}}, False),
        ({"nodes": 2}, False),
    ],
)
def test_topology_counts_existing_nodes(pool: dict[str, Any], warned: bool, level: str) -> None:
    found = findings(pooled({"kueue": {"enabled": True, "topology": level}}, **pool))
    assert [(f.rule, f.severity) for f in found] == [("topology-empty-pool", Severity.WARNING)] * warned
    assert findings(pooled(NO_TOPOLOGY, **pool)) == []
    assert [f.rule for f in findings(pooled(**pool)) if f.rule != "queued-needs-kueue"] == []


def deadlines(**pool: Any) -> list[str]:
    return [f.message for f in findings(pooled(**pool)) if f.rule == "dynamic-deadlines"]


def test_nodes_that_come_late() -> None:
    plain = {"recipe": SMOKE}
    (message,) = deadlines(workload=plain, **FLEX)
    assert message.startswith("workload.startup_minutes 60 is the default")
    assert deadlines(workload=plain, nodes=2) == []
    assert deadlines(**FLEX) == []
    assert deadlines(workload=plain | {"mode": "cluster"}, **FLEX) == []
    assert deadlines(workload=plain, platform={"kuberay": {"version": "1.5.2"}}, **FLEX) == []


def test_nodes_that_go_early() -> None:
    (message,) = deadlines(max_run_hours=23, **FLEX)
    assert "deadline_hours 24 is more than the 23 hours" in message
    assert deadlines(max_run_hours=24, **FLEX) == []
    assert deadlines(workload=PATIENT | {"deadline_hours": 168}, **FLEX) == []
    (message,) = deadlines(workload=PATIENT | {"deadline_hours": 169}, **FLEX)
    assert "more than the 168 hours" in message


def gemma(nodes: int, pool: int = 8, overrides: dict[str, Any] | None = None) -> list[Finding]:
    return findings(site(nodes=pool, workload={"nodes": nodes, "overrides": overrides or {}}))


@pytest.mark.parametrize(
    ("nodes", "prompts", "batch", "counts"),
    [(4, 15, 480, [3, 5]), (6, 15, 480, [5]), (7, 15, 480, [5]), (8, 14, 448, [5])],
)
def test_gemmas_hint_passes(nodes: int, prompts: int, batch: int, counts: list[int]) -> None:
    """Each way that the hint names, followed."""
    (found,) = gemma(nodes)
    assert (found.rule, found.path) == ("batch-size", ("workload", "nodes"))
    followed = {"grpo.num_prompts_per_step": prompts, "policy.train_global_batch_size": batch}
    ways = ", or ".join(f"`workload.nodes: {count}`" for count in counts)
    numbers = " and ".join(f"`{path}: {value}`" for path, value in followed.items())
    assert found.hint == f"set {numbers}, or {ways}"
    assert gemma(nodes, overrides=followed) == []
    assert all(gemma(count) == [] for count in counts)


def test_gemma_on_one_node() -> None:
    together = {"policy.generation.colocated.enabled": True}
    (found,) = gemma(1)
    assert found.hint == "set `workload.nodes: 2`, or `policy.generation.colocated.enabled: true`"
    assert gemma(2) == [] and gemma(1, overrides=together) == []
    (alone,) = gemma(1, pool=1)
    assert alone.hint == "set `policy.generation.colocated.enabled: true`"
    assert gemma(1, pool=1, overrides=together) == []


def test_a_split_that_divides() -> None:
    """On one node at TP 1: 4 of 8 GPUs generate, and 512 samples divide over the other 4."""
    apart = {"policy.generation.colocated.enabled": False}
    (found,) = findings(site(workload={"recipe": SMOKE, "overrides": apart}))
    split = "policy.generation.colocated.resources.gpus_per_node"
    assert found.hint == f"set `policy.generation.colocated.enabled: true`, or `{split}: 4`"
    assert findings(site(workload={"recipe": SMOKE, "overrides": apart | {split: 4}})) == []


@pytest.mark.parametrize(("batch", "mend"), [(511, 512), (100, 128), (97, 128), (1024, 512)])
def test_a_batch_that_divides(batch: int, mend: int) -> None:
    key = "policy.train_global_batch_size"
    (found,) = findings(site(workload={"recipe": SMOKE, "overrides": {key: batch}}))
    assert found.hint.startswith(f"set `{key}: {mend}`")
    assert findings(site(workload={"recipe": SMOKE, "overrides": {key: mend}})) == []


@settings(max_examples=60, deadline=None)
@given(
    recipe=st.sampled_from([SMOKE, "grpo-gemma3-27b-gsm8k", "grpo-qwen3-32b-megatron"]),
    nodes=st.integers(2, 8),
    prompts=st.integers(1, 80),
    generations=st.integers(1, 40),
    batch=st.integers(1, 2048),
)
def test_a_hint_that_is_followed_passes(recipe: str, nodes: int, prompts: int, generations: int, batch: int) -> None:
    """Whatever the numbers: what the hint of `batch-size` sets first, and each count of nodes that it names."""
    overrides: dict[str, Any] = {
        "grpo.num_prompts_per_step": prompts,
        "grpo.num_generations_per_prompt": generations,
        "policy.train_global_batch_size": batch,
    }

    def said(nodes: int, overrides: dict[str, Any]) -> list[Finding]:
        of = site(workload={"recipe": recipe, "nodes": nodes, "overrides": overrides})
        return [f for f in findings(of) if f.rule == "batch-size"]

    found = said(nodes, overrides)
    assert len(found) <= 1
    for finding in found:
        numbers = {path: int(value) for path, value in re.findall(r"`((?:grpo|policy)[.\w]+): (\d+)`", finding.hint)}
        assert numbers and said(nodes, overrides | numbers) == []
        for count in re.findall(r"`workload.nodes: (\d+)`", finding.hint):
            assert said(int(count), overrides) == []
