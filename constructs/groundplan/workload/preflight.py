"""Checks on every GPU node before Ray starts there, as an init container of the worker pods.

An init container, and not a Job of its own: the checks need all GPUs of all nodes, and the workers of the RayJob want
the same ones. As a Job, one of the two would wait for the other's GPUs for ever, unless something with rights of its
own held the RayJob back. Within the worker pods the order holds by itself: Ray starts on a node when its checks have
passed, and KubeRay submits the training when Ray runs on all of them. Under Kueue it is also one admission instead of
two.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from groundplan.workload.environment import plain_environment
from groundplan.workload.job import JobPlan
from groundplan.workload.script import FOLDER

SCRIPT = "preflight.py"


def preflight_scripts() -> dict[str, str]:
    """File name -> text: node_check.py, which is a program of its own."""
    return {SCRIPT: resources.files(__package__).joinpath("node_check.py").read_text("utf-8")}


def init_container(
    job: JobPlan, resources_: dict[str, str], security: dict[str, Any], mounts: list[dict[str, Any]]
) -> dict[str, Any]:
    """The container: it has what the worker will have, but no secret."""
    return {
        "name": "preflight",
        "image": job.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", "-u", f"{FOLDER}/{SCRIPT}"],
        "env": [*plain_environment(job), *_settings(job)],
        "resources": {"requests": resources_, "limits": resources_},
        "securityContext": security,
        "volumeMounts": [*mounts, {"name": "scripts", "mountPath": FOLDER, "readOnly": True}],
    }


def _settings(job: JobPlan) -> list[dict[str, Any]]:
    gpu = job.pool.machine.gpu if job.pool and job.pool.machine else None
    spec = job.spec.preflight
    values = {
        "PREFLIGHT_NODES": job.nodes,
        "PREFLIGHT_GPUS": job.gpus,
        "PREFLIGHT_RDMA": gpu.rdma_nics if gpu else 0,
        "PREFLIGHT_INTERFACES": ",".join(nic.interface for nic in job.nics),
        "PREFLIGHT_MIN_DRIVER": max(job.release.min_driver, gpu.min_driver if gpu else 0),
        "PREFLIGHT_FLOOR": spec.min_bus_gb_per_s if job.nodes > 1 else 0,
        "PREFLIGHT_TIMEOUT": spec.timeout_minutes * 60,
    }
    pod = {"POD_NAME": "metadata.name", "POD_IP": "status.podIP", "RAY_CLUSTER": "metadata.labels['ray.io/cluster']"}
    found: list[dict[str, Any]] = [{"name": name, "value": str(value)} for name, value in values.items()]
    found += [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in pod.items()]
    # A folder for each Ray cluster: a retry is a new one, perhaps on other nodes.
    return [*found, {"name": "PREFLIGHT_FOLDER", "value": f"{job.folder}/preflight/$(RAY_CLUSTER)"}]
