"""The manifest: the operator's own rules, what pods share, what the name depends on, what must never stand in it."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from groundplan.kernel.quantities import parse_bytes
from groundplan.kernel.yaml_text import to_yaml
from groundplan.site.resolve import Site
from workload.jobs import MACHINES, RECIPES, RELEASES, objects, site

AROUND = {"preflight": {"enabled": True}, "prefetch": {"enabled": True}}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "submitter": {"submission": "K8sJobMode", "retries": 2},
    "cluster": {"mode": "cluster"},
    "around": AROUND | {"export": {"enabled": True}},
    "old": {"release": "v0.5.0"},
    "privileged": {"worker": {"privileged": True}},
}
#: Ray of each image (NeMo RL's uv.lock at the tag).
RAY = {"v0.4.0": "2.46.0", "v0.5.0": "2.49.2", "v0.6.0": "2.54.0", "v0.7.0": "2.55.1"}


def every() -> Iterator[Site]:
    for recipe, machine in itertools.product(RECIPES, MACHINES):
        yield site(machine, workload={"recipe": recipe})
    for workload in VARIANTS.values():
        yield site(workload=workload)
        yield site(workload=workload, platform={"kueue": {"enabled": True}})


EVERY = list(every())
FORBIDDEN = (r"\bgit\b", r"\bapt(-get)?\b", r"\bpip3?\b", r"\blatest\b", r"\buv (run|pip|sync)\b", r"io/nvidian")


def ray_of(of: Site) -> dict[str, Any]:
    found = objects(of)
    return found.get("RayJob") or found["RayCluster"]


def cluster_of(of: Site) -> dict[str, Any]:
    ray = ray_of(of)
    cluster: dict[str, Any] = ray["spec"].get("rayClusterSpec", ray["spec"])
    return cluster


def groups(of: Site) -> list[dict[str, Any]]:
    cluster = cluster_of(of)
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


def pods(of: Site) -> tuple[dict[str, Any], dict[str, Any]]:
    head, worker = (group["template"]["spec"] for group in groups(of))
    return head, worker


def environment(container: dict[str, Any]) -> dict[str, Any]:
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container["env"]}


@pytest.mark.parametrize("of", EVERY)
def test_rules_of_the_operator(of: Site) -> None:
    """ray-operator/controllers/ray/utils/validation.go, v1.7.0: a violation is seen only after admission."""
    ray = ray_of(of)
    name, spec = ray["metadata"]["name"], ray["spec"]
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name) and len(name) <= 47
    cluster = cluster_of(of)
    for group in groups(of):
        assert len(group["template"]["spec"]["containers"]) >= 1
        assert group["template"]["spec"]["containers"][0]["name"].startswith("ray-")
        assert all(isinstance(v, str) for v in group["rayStartParams"].values())
        assert not {"labels", "resources"} & group["rayStartParams"].keys()
        assert "resources" not in group and "labels" not in group
    for group in cluster["workerGroupSpecs"]:
        assert 0 <= group["minReplicas"] <= group["maxReplicas"]
        assert group["groupName"] != "head"
    if ray["kind"] == "RayCluster":
        return
    assert spec["shutdownAfterJobFinishes"] is True
    assert spec["ttlSecondsAfterFinished"] >= 0 and spec["backoffLimit"] >= 0
    assert spec["activeDeadlineSeconds"] > 0 and spec["preRunningDeadlineSeconds"] > 0
    assert "suspend" not in spec and "clusterSelector" not in spec and "deletionStrategy" not in spec
    assert spec["submissionMode"] in ("HTTPMode", "K8sJobMode")
    assert ("submitterPodTemplate" in spec) == (spec["submissionMode"] == "K8sJobMode")
    assert "runtimeEnvYAML" not in spec
    assert not {"entrypointNumCpus", "entrypointNumGpus", "entrypointResources"} & spec.keys()
    assert spec["entrypoint"] == "bash /etc/groundplan/train.sh"


@pytest.mark.parametrize("of", EVERY)
def test_head_and_workers_share_one_environment(of: Site) -> None:
    head, worker = (pod["containers"][0] for pod in pods(of))
    # The preflight's own settings, which nothing after it reads, stand on the workers alone.
    own = ("PREFLIGHT_", "POD_", "RAY_CLUSTER")
    assert environment(head) == {k: v for k, v in environment(worker).items() if not k.startswith(own)}
    assert head["image"] == worker["image"]
    names = [entry["name"] for entry in head["env"]]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("of", EVERY)
def test_pods(of: Site) -> None:
    head, worker = pods(of)
    assert all(pod["enableServiceLinks"] is False and pod["serviceAccountName"] == "nemo-rl" for pod in (head, worker))
    assert head["nodeSelector"] == {"cloud.google.com/gke-nodepool": "cpu-pool"}
    assert "nvidia.com/gpu" not in head["containers"][0]["resources"]["limits"]
    resources = worker["containers"][0]["resources"]
    assert resources["limits"] == resources["requests"]
    assert resources["limits"]["nvidia.com/gpu"] == "8"
    for group, pod in zip(groups(of), (head, worker), strict=True):
        mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert mounts.keys() <= volumes.keys()
        assert mounts["shm"] == "/dev/shm" and mounts["lustre"] == "/data"
        shm = parse_bytes(volumes["shm"]["emptyDir"]["sizeLimit"])
        memory = parse_bytes(pod["containers"][0]["resources"]["limits"]["memory"])
        assert int(group["rayStartParams"]["object-store-memory"]) < shm < memory
        assert not [m for m in mounts.values() if m.startswith(("/opt/nemo-rl", "/opt/ray_venvs", "/opt/nemo_rl_venv"))]
        start, end = (int(group["rayStartParams"][f"{edge}-worker-port"]) for edge in ("min", "max"))
        assert (start, end) == (10002, 11000)


def test_workers_reach_all_networks() -> None:
    (worker,) = cluster_of(site())["workerGroupSpecs"]
    annotations = worker["template"]["metadata"]["annotations"]
    assert annotations["networking.gke.io/default-interface"] == "eth0"
    pairs = [(i["interfaceName"], i["network"]) for i in json.loads(annotations["networking.gke.io/interfaces"])]
    expected = [("eth0", "default"), ("eth1", "gvnic-1")] + [(f"eth{n + 2}", f"rdma-{n}") for n in range(8)]
    assert pairs == expected
    (head,) = [cluster_of(site())["headGroupSpec"]]
    assert not [key for key in head["template"]["metadata"]["annotations"] if key.startswith("networking")]


@pytest.mark.parametrize(
    ("machine", "accelerator", "tuner"),
    [("b200", "nvidia-b200", "tuner_config_a4.txtpb"), ("h200", "nvidia-h200-141gb", "tuner_config_a3u.txtpb")],
)
def test_by_accelerator(machine: str, accelerator: str, tuner: str) -> None:
    _, worker = pods(site(machine))
    assert worker["nodeSelector"]["cloud.google.com/gke-accelerator"] == accelerator
    assert environment(worker["containers"][0])["NCCL_TUNER_CONFIG_PATH"] == f"/usr/local/gib/configs/{tuner}"
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in worker["tolerations"]


@pytest.mark.parametrize("release", RELEASES)
def test_by_release(release: str) -> None:
    of = site(workload={"release": release})
    assert cluster_of(of)["rayVersion"] == RAY[release]
    container = pods(of)[0]["containers"][0]
    assert container["image"] == f"nvcr.io/nvidia/nemo-rl:{release}"
    path = environment(container)["LD_LIBRARY_PATH"].split(":")
    assert path[-2:] == ["/usr/local/gib/lib64", "/usr/local/nvidia/lib64"]
    ahead = {"v0.4.0": 0, "v0.5.0": 0, "v0.6.0": 1, "v0.7.0": 3}[release]
    assert len(path) == ahead + 2
    if ahead:
        assert path[0] == "/opt/nemo_rl_venv/lib/python3.13/site-packages/nvidia/cudnn/lib"
    script = objects(of)["ConfigMap"]["data"]["train.sh"]
    assert ("run_grpo_math.py" in script) == (release in ("v0.4.0", "v0.5.0"))


def test_privileges() -> None:
    assert pods(site())[1]["containers"][0]["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    asked = site(workload={"worker": {"privileged": True}})
    assert pods(asked)[1]["containers"][0]["securityContext"] == {"privileged": True}


def test_workers_are_as_many_as_nodes() -> None:
    (group,) = cluster_of(site(workload={"recipe": "grpo-llama3.1-8b-gsm8k", "nodes": 4}))["workerGroupSpecs"]
    assert (group["replicas"], group["minReplicas"], group["maxReplicas"]) == (4, 4, 4)
    assert cluster_of(site())["enableInTreeAutoscaling"] is False
    assert cluster_of(site())["headGroupSpec"]["rayStartParams"]["no-monitor"] == "true"


def test_the_disruption_budget_covers_all_pods() -> None:
    of = site()
    budget = objects(of)["PodDisruptionBudget"]["spec"]
    assert budget["minAvailable"] == 3
    for group in groups(of):
        assert budget["selector"]["matchLabels"].items() <= group["template"]["metadata"]["labels"].items()


def test_the_pre_running_deadline_needs_kuberay_1_6() -> None:
    for version, there in (("1.4.2", False), ("1.5.2", False), ("1.6.2", True), ("1.7.0", True)):
        spec = objects(site(platform={"kuberay": {"version": version}}))["RayJob"]["spec"]
        assert ("preRunningDeadlineSeconds" in spec) is there


def test_the_submitter_has_what_the_head_has() -> None:
    of = site(workload={"submission": "K8sJobMode"}, secrets={"image_pull": "nvcr"})
    spec = objects(of)["RayJob"]["spec"]
    pod = spec["submitterPodTemplate"]["spec"]
    assert pod["nodeSelector"] == {"cloud.google.com/gke-nodepool": "cpu-pool"}
    assert pod["imagePullSecrets"] == [{"name": "nvcr"}] == pods(of)[0]["imagePullSecrets"]
    assert spec["submitterConfig"]["backoffLimit"] >= 5
    assert "readinessProbe" in pods(of)[0]["containers"][0]


@pytest.mark.parametrize("of", EVERY)
def test_nothing_forbidden(of: Site) -> None:
    """No token, no download of code, nothing that moves."""
    text = "\n".join(to_yaml(document) for document in of.job_objects)
    for word in (
        r"\bgit\b",
        r"\bapt(-get)?\b",
        r"\bpip3?\b",
        r"\blatest\b",
        r"\buv (run|pip|sync)\b",
        r"nvcr\.io/nvidian",
    ):
        assert not re.search(word, text), word
    assert not re.search(r"\bhf_[A-Za-z0-9]{8}", text)
    for document in of.job_objects:
        for entry in _environment_entries(document):
            if re.search(r"TOKEN|KEY|SECRET|PASSWORD", entry["name"]):
                assert entry["valueFrom"]["secretKeyRef"].keys() == {"name", "key"}


def _environment_entries(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield from node.get("env", [])
        for value in node.values():
            yield from _environment_entries(value)
    elif isinstance(node, list):
        for item in node:
            yield from _environment_entries(item)


def name(workload: dict[str, Any] | None = None, machine: str = "b200", **sections: Any) -> str:
    of = site(machine, workload=workload, **sections)
    assert of.job
    return of.job.name


@pytest.mark.parametrize(
    "workload",
    [
        {"overrides": {"grpo.max_num_steps": 11}},
        {"image": "registry.example/nemo-rl:v0.6.0"},
        {"nodes": 4},
        {"release": "v0.5.0"},
        {"run": 2},
        {"worker": {"cpu": 200}},
        {"environment": {"A": "b"}},
        {"submission": "K8sJobMode"},
        {"preflight": {"enabled": True}},
    ],
)
def test_a_changed_job_has_another_name(workload: dict[str, Any]) -> None:
    assert name(workload) != name()


def test_the_name_stays_for_what_is_changed_in_place() -> None:
    assert name(labels={"team": "research"}) == name()
    assert name({"deadline_hours": 48, "retries": 1, "keep_minutes": 60}) == name()
    assert name(platform={"kuberay": {"version": "1.6.2"}}) == name()
    assert objects(site(labels={"team": "research"}))["RayJob"]["metadata"]["labels"]["team"] == "research"


def test_the_name_is_the_same_everywhere() -> None:
    """In another process, with another hash seed."""
    code = "from workload.jobs import site; print(site().job.name)"
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        assert run.stdout.strip() == name()
    assert re.fullmatch(r"grpo-gemma3-27b-gsm8k-[0-9a-f]{8}", name())
    assert len(name({"name": "a" * 45})) == 47


def test_each_run_has_its_own_folder() -> None:
    one, two = (objects(site(workload={"run": run}))["ConfigMap"]["data"]["train.sh"] for run in (1, 2))
    folder = re.search(r"checkpointing.checkpoint_dir=(\S+)", one)
    assert folder and folder.group(1).startswith("/data/jobs/grpo-gemma3-27b-gsm8k-")
    assert folder.group(1) not in two


@pytest.mark.parametrize("workload", VARIANTS.values(), ids=VARIANTS)
def test_scripts_are_valid_shell(workload: dict[str, Any]) -> None:
    found = objects(site(workload=workload))
    texts = [found["ConfigMap"]["data"]["train.sh"]]
    if "Job" in found:
        texts.append(found["Job"]["spec"]["template"]["spec"]["containers"][0]["command"][2])
    for text in texts:
        assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0


@pytest.mark.parametrize("workload", VARIANTS.values(), ids=VARIANTS)
def test_kubernetes_takes_every_object(workload: dict[str, Any]) -> None:
    """The API's own schemas, strict; KubeRay's kinds by the pods in them."""
    kubernetes = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    of = site(workload=workload)
    for document in of.job_objects:
        if document["kind"] not in ("RayJob", "RayCluster"):
            kubernetes.validate(document, "1.34", strict=True)
    for pod in pods(of):
        whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": pod}
        kubernetes.validate(whole, "1.34", strict=True)


def test_a_tutorial_profile_can_name_everything() -> None:
    of = site(platform={"namespace": "default", "service_account": "generic-ksa"}, workload={"name": "nemo"})
    for document in of.job_objects:
        assert document["metadata"]["namespace"] == "default"
    assert pods(of)[0]["serviceAccountName"] == "generic-ksa"
