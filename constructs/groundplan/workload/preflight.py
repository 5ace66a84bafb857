"""Checks on every GPU node before Ray starts there, at the start of the worker's own container.

Not as an init container: GKE mounts the RDMA devices into the first non-init container alone, so a check anywhere else
would find none. And not as a Job of its own: the checks need all GPUs of all nodes, and the workers of the RayJob want
the same ones; one of the two would wait for the other's GPUs for ever, unless something with rights of its own held the
RayJob back. In the container the order holds by itself: Ray starts on a node when its checks have passed, and KubeRay
submits the training when Ray runs on all of them. Under Kueue it is also one admission instead of two.
"""

from __future__ import annotations

from typing import Any

from groundplan.workload.script import FOLDER, program
from groundplan.workload.values import JobValues

SCRIPT, HEALTH, _SPEED = "preflight.py", "gpu_health.py", "gpu_speed.py"
#: Pod annotation under which KubeRay takes a container's command as it stands.
OWN_COMMAND = "ray.io/overwrite-container-cmd"
#: Is there when the checks of this container have passed.
PASSED = "/tmp/groundplan-preflight-passed"

_PROBE_SECONDS = 10
#: Minutes for the checks beside the wait for the other nodes: the writing, NCCL's start, 24 all-reduces.
_CHECKS = 10
#: Minutes beyond the program's own limit, so that it is the program that fails, with its message.
_SPARE = 5


def preflight_scripts() -> dict[str, str]:
    """File name -> text: programs of their own, for the node alone (two) and for all nodes together."""
    return {HEALTH: program(HEALTH), _SPEED: program(_SPEED), SCRIPT: program("node_check.py")}


def before_ray(job: JobValues) -> dict[str, Any]:
    """What the worker's container gets besides: the command, its settings, and a startup probe.

    The command ends in the one that KubeRay generates for Ray, which KubeRay leaves to us under :data:`OWN_COMMAND`. A
    check that fails ends the container with its message; the RayJob's `preRunningDeadlineSeconds` bounds the attempts.
    The startup probe keeps KubeRay's liveness probe, which asks Ray, away until the checks have passed.
    """
    health = f"python -u {FOLDER}/{HEALTH} {' '.join(_health_options(job))}"
    check = (
        f'{health} && python -u {FOLDER}/{SCRIPT} && touch {PASSED} && exec /bin/bash -c "$KUBERAY_GEN_RAY_START_CMD"'
    )
    return {
        "command": ["/bin/bash", "-c"],
        "args": [check],
        "startupProbe": {
            "exec": {"command": ["test", "-e", PASSED]},
            "periodSeconds": _PROBE_SECONDS,
            "failureThreshold": probe_minutes(job) * 60 // _PROBE_SECONDS,
        },
    }


def _health_options(job: JobValues) -> list[str]:
    """What gpu_health.py is to expect of a node, from the catalog, and where its result is kept.

    NCCL's version is not among it: gIB puts its own before the image's. RDMA devices are counted by preflight.py.
    """
    gpu = job.pool.machine.gpu if job.pool and job.pool.machine else None
    figures: dict[str, float] = {
        "gpus": job.gpus,
        "min-driver": max(job.release.min_driver, gpu.min_driver if gpu else 0),
    }
    if gpu:
        figures |= {"nvlinks": gpu.nvlinks, "hbm-tb-per-s": gpu.hbm_tb_per_s, "bf16-tflops": gpu.bf16_tflops}
    found = [f"--{name} {value}" for name, value in figures.items() if value]
    return [*found, '--folder "$PREFLIGHT_FOLDER"', '--json "$PREFLIGHT_FOLDER/health/$PREFLIGHT_NODE_NAME.json"']


def probe_minutes(job: JobValues) -> int:
    """Minutes after which the container is given up: five more than the program takes at worst."""
    return job.spec.preflight.timeout_minutes + _CHECKS + _SPARE


def mount() -> dict[str, Any]:
    """Where the script stands in the container."""
    return {"name": "scripts", "mountPath": FOLDER, "readOnly": True}


def settings(job: JobValues) -> list[dict[str, Any]]:
    """The script's settings, as environment variables of the worker's container."""
    gpu = job.pool.machine.gpu if job.pool and job.pool.machine else None
    spec = job.spec.preflight
    floor = (gpu.bus_gb_per_s if gpu else 0) if spec.min_bus_gb_per_s is None else spec.min_bus_gb_per_s
    values = {
        "PREFLIGHT_NODES": job.nodes,
        "PREFLIGHT_GPUS": job.gpus,
        "PREFLIGHT_RDMA": gpu.rdma_nics if gpu else 0,
        "PREFLIGHT_INTERFACES": ",".join(nic.interface for nic in job.nics),
        "PREFLIGHT_PLUGIN": job.transport.plugin,
        "PREFLIGHT_FLOOR": floor if job.nodes > 1 else 0,
        "PREFLIGHT_TIMEOUT": spec.timeout_minutes * 60,
        "PREFLIGHT_LIMIT": (spec.timeout_minutes + _CHECKS) * 60,
    }
    pod = {"POD_NAME": "metadata.name", "POD_IP": "status.podIP", "RAY_CLUSTER": "metadata.labels['ray.io/cluster']"}
    pod["PREFLIGHT_NODE_NAME"] = "spec.nodeName"
    found: list[dict[str, Any]] = [{"name": name, "value": str(value)} for name, value in values.items()]
    found += [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in pod.items()]
    # A folder for each Ray cluster: a retry is a new one, perhaps on other nodes.
    return [*found, {"name": "PREFLIGHT_FOLDER", "value": f"{job.folder}/preflight/$(RAY_CLUSTER)"}]
