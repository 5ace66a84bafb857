"""The script that checks a GPU node: each check passes on a good node and says what is wrong with a bad one."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from groundplan.workload import node_check
from groundplan.workload.node_check import Failed
from workload.jobs import objects, site


def test_network(tmp_path: Path) -> None:
    for name in ("eth1", "eth2"):
        (tmp_path / "sys/class/net" / name).mkdir(parents=True)
    (tmp_path / "dev/infiniband").mkdir(parents=True)
    with pytest.raises(Failed, match="0 RDMA devices, 1 expected"):
        node_check.check_network(["eth1", "eth2"], 1, tmp_path)
    (tmp_path / "dev/infiniband/uverbs0").touch()
    assert node_check.check_network(["eth1", "eth2"], 1, tmp_path) == "2 networks, 1 RDMA devices"
    with pytest.raises(Failed, match="no network interface eth3"):
        node_check.check_network(["eth1", "eth3"], 1, tmp_path)


def test_plugin(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="is the gIB installer done"):
        node_check.check_plugin(tmp_path, "")
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64/libnccl-net_internal.so").touch()
    assert node_check.check_plugin(tmp_path, "") == "gIB plugin and tuner file"
    with pytest.raises(Failed, match="no tuner file"):
        node_check.check_plugin(tmp_path, str(tmp_path / "tuner"))


def test_nodes_meet_in_one_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three nodes that start at their own times agree on who is who; a pod that died before is left out."""
    monkeypatch.setattr(node_check, "BEAT", 0.05)
    monkeypatch.setattr(node_check, "GONE", 2.0)
    dead = tmp_path / "pod-0"
    dead.write_text("10.0.0.99")
    import os

    os.utime(dead, (1, 1))
    found: dict[str, list[tuple[str, str]]] = {}

    def node(n: int) -> None:
        found[f"pod-{n}"] = node_check.meet(tmp_path, f"pod-{n}", f"10.0.0.{n}", 3, 10)

    threads = [threading.Timer(0.1 * n, node, (n,)) for n in (3, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [("pod-1", "10.0.0.1"), ("pod-2", "10.0.0.2"), ("pod-3", "10.0.0.3")]
    assert found == {f"pod-{n}": expected for n in (1, 2, 3)}


def test_a_node_that_never_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_check, "BEAT", 0.05)
    with pytest.raises(Failed, match=r"1 of 2 nodes showed up within 0 s: pod-1"):
        node_check.meet(tmp_path, "pod-1", "10.0.0.1", 2, 0.3)


def test_bus_bandwidth_is_nccl_tests() -> None:
    """16 ranks, 1 GiB in 5 ms: algorithm bandwidth 214.7 GB/s times 2 x 15 / 16."""
    assert node_check.bus_bandwidth(1 << 30, 16, 0.005) == pytest.approx(402.7, abs=0.1)


def test_it_stands_alone() -> None:
    """It is copied into a ConfigMap: nothing of groundplan can be imported there."""
    text = Path(node_check.__file__).read_text()
    assert "import groundplan" not in text and "from groundplan" not in text
    of = site(workload={"preflight": {"enabled": True}})
    assert objects(of)["ConfigMap"]["data"]["preflight.py"] == text


def worker(of: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The worker's pod template and its Ray container."""
    template = objects(of)["RayJob"]["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]
    return template, template["spec"]["containers"][0]


def test_it_runs_in_the_container_that_has_the_rdma_devices_and_ends_in_ray() -> None:
    """GKE mounts them into the first non-init container alone."""
    of = site("h200", workload={"preflight": {"enabled": True, "min_bus_gb_per_s": 300}, "release": "v0.7.0"})
    template, container = worker(of)
    assert all("preflight" not in str(each) for each in template["spec"].get("initContainers", []))
    assert template["metadata"]["annotations"]["ray.io/overwrite-container-cmd"] == "true"
    assert container["command"] == ["/bin/bash", "-c"]
    health, _, rest = container["args"][0].partition(" && ")
    assert health == (
        "python -u /etc/groundplan/gpu_health.py --gpus 8 --min-driver 580 --nvlinks 18 --hbm-tb-per-s 4.8"
        ' --bf16-tflops 989 --folder "$PREFLIGHT_FOLDER" --json "$PREFLIGHT_FOLDER/health/$PREFLIGHT_NODE_NAME.json"'
    )
    assert rest.startswith("python -u /etc/groundplan/preflight.py && ")
    assert container["args"][0].endswith('exec /bin/bash -c "$KUBERAY_GEN_RAY_START_CMD"')
    probe = container["startupProbe"]
    # Five minutes more than the program's own limit: ten for the checks, and the wait for the other nodes.
    assert probe["periodSeconds"] * probe["failureThreshold"] == (30 + 10 + 5) * 60
    assert {"name": "scripts", "mountPath": "/etc/groundplan", "readOnly": True} in container["volumeMounts"]
    values = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert values["PREFLIGHT_NODES"] == "2" and values["PREFLIGHT_GPUS"] == "8" and values["PREFLIGHT_RDMA"] == "8"
    assert values["PREFLIGHT_INTERFACES"] == "eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8,eth9"
    assert values["PREFLIGHT_FLOOR"] == "300"
    assert (values["PREFLIGHT_TIMEOUT"], values["PREFLIGHT_LIMIT"]) == ("1800", "2400")
    plain = objects(site("h200", workload={"release": "v0.7.0"}))["RayJob"]["spec"]["preRunningDeadlineSeconds"]
    assert objects(of)["RayJob"]["spec"]["preRunningDeadlineSeconds"] == plain + 45 * 60


def test_without_it_the_container_has_no_command() -> None:
    template, container = worker(site())
    assert not {"command", "args", "startupProbe"} & set(container)
    assert "ray.io/overwrite-container-cmd" not in template["metadata"]["annotations"]


def test_a_failed_check_does_not_start_ray(tmp_path: Path) -> None:
    """The very command of the manifest, with a stand-in for python: Ray's own command runs only after a pass."""
    _, container = worker(site(workload={"preflight": {"enabled": True}}))
    started, passed = tmp_path / "ray", tmp_path / "passed"
    command = container["args"][0].replace("/tmp/groundplan-preflight-passed", str(passed))
    for code in (1, 0):
        stand_in = tmp_path / "python"
        stand_in.write_text(f"#!/bin/sh\nexit {code}\n")
        stand_in.chmod(0o755)
        environment = {
            "PATH": f"{tmp_path}:/usr/bin:/bin",
            "KUBERAY_GEN_RAY_START_CMD": f"ulimit -c 0; touch {started}",
        }
        done = subprocess.run(["/bin/bash", "-c", command], env=environment, check=False)
        assert (done.returncode == 0, started.exists(), passed.exists()) == ((code == 0,) * 3)


def test_one_node_has_no_floor() -> None:
    _, container = worker(site(workload={"recipe": "grpo-qwen2.5-1.5b-gsm8k-smoke", "preflight": {"enabled": True}}))
    values = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert values["PREFLIGHT_FLOOR"] == "0"


@pytest.mark.parametrize(
    ("machine", "floor", "plugin"),
    [
        ("a4-highgpu-8g", "200", "/usr/local/gib"),
        ("a3-megagpu-8g", "250", "/usr/local/nvidia"),
        ("g4-standard-384", "0", ""),
    ],
)
def test_floor_and_plugin_are_the_machine_types(machine: str, floor: str, plugin: str) -> None:
    _, container = worker(
        site(gpu={"pools": [{"machine_type": machine}]}, workload={"nodes": 2, "preflight": {"enabled": True}})
    )
    values = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert (values["PREFLIGHT_FLOOR"], values["PREFLIGHT_PLUGIN"]) == (floor, plugin)


@pytest.mark.parametrize(("interfaces", "code"), [("eth77", 1), ("", 0)])
def test_a_failed_preflight_says_so_and_exits_with_1(tmp_path: Path, interfaces: str, code: int) -> None:
    """The program itself, on a cluster whose all-reduce has passed before."""
    (tmp_path / "passed").touch()
    done = preflight(tmp_path, PREFLIGHT_INTERFACES=interfaces)
    assert done.returncode == code
    assert ("FAILED no network interface eth77" in done.stderr) is (code == 1)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = preflight(tmp_path, PREFLIGHT_FOLDER=str(tmp_path / "file" / "folder"))
    assert done.returncode == 1
    assert done.stderr.startswith("FAILED ") and "Not a directory" in done.stderr
    assert "Traceback" not in done.stderr


def preflight(folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": "/usr/bin:/bin",
        "PREFLIGHT_NODES": "1",
        "PREFLIGHT_GPUS": "8",
        "PREFLIGHT_RDMA": "0",
        "PREFLIGHT_INTERFACES": "",
        "PREFLIGHT_PLUGIN": "",
        "PREFLIGHT_LIMIT": "60",
        "PREFLIGHT_FOLDER": str(folder),
    }
    program = [sys.executable, str(node_check.__file__)]
    return subprocess.run(program, env=environment | settings, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("nodes", [3, 4, 7, 8])
def test_every_node_meets_both_neighbours(nodes: int) -> None:
    rounds = node_check.neighbours(nodes)
    assert all(len({n for pair in pairs for n in pair}) == 2 * len(pairs) for pairs in rounds)
    assert sorted(pair for pairs in rounds for pair in pairs) == sorted((n, (n + 1) % nodes) for n in range(nodes))


def test_the_slow_node_is_the_one_that_is_slow_with_both() -> None:
    """Node 2 of four: rounds (0,1) (2,3) and (1,2) (3,0)."""
    assert node_check.slow_nodes([[300, 300, 90, 90], [310, 95, 95, 310]], 200) == [2]
    assert node_check.slow_nodes([[300, 300, 300, 300], [310, 310, 310, 310]], 200) == []
    assert node_check.slow_nodes([[90, 90, 0], [0, 95, 95], [300, 0, 300]], 200) == [1]
