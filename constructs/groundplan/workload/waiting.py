"""What a worker waits for before its container starts: NCCL's plugin on the node, and Ray's head.

A node that the autoscaler has just made takes pods before the installer has put the plugin there; NCCL then finds none
and goes over the primary network without a word. And KubeRay's own `wait-gcs-ready` has a fixed limit of 256 MiB, in
which NeMo RL's `ray` is killed again and again (kuberay#2735, #5138): the operator leaves it out
(`platform.kuberay.env`), and this does the same with memory enough.
"""

from __future__ import annotations

import shlex
from typing import Any

from groundplan.workload.values import JobValues

#: Not KubeRay's name: an operator that adds its own container as well must find a valid pod.
NAME = "wait-before-ray"
#: Request and limit alike, as for the other containers. `ray health-check` loads Ray, some 400 MiB.
RESOURCES = {"cpu": "1", "memory": "2Gi"}

_SAY = """\
say() { echo "$(date -u +%FT%TZ) waited $SECONDS s for $1"; }"""
_HEAD = """\
until why=$(ray health-check --address "$FQ_RAY_IP:6379" 2>&1); do
  say "Ray's head at $FQ_RAY_IP; ${why##*$'\\n'}"
  sleep 5
done
say "Ray's head: it is there\""""


def init_containers(job: JobValues) -> list[dict[str, Any]]:
    """The container; none when there is nothing to wait for. `FQ_RAY_IP` is KubeRay's, in every init container."""
    parts = [_plugin(job), "" if job.operator_waits else _HEAD]
    if not any(parts):
        return []
    mounts = [mount for mount in job.transport.mounts() if mount["mountPath"] == job.transport.plugin]
    container: dict[str, Any] = {
        "name": NAME,
        "image": job.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/bash", "-c", "\n".join(["set -u", _SAY, *filter(None, parts)]) + "\n"],
        "resources": {"requests": RESOURCES, "limits": RESOURCES},
    }
    if mounts:
        container["volumeMounts"] = [{**mount, "readOnly": True} for mount in mounts]
    return [container]


def _plugin(job: JobValues) -> str:
    """Until plugin and tuner file are there, and the installer's copy has stopped to grow."""
    folder = job.transport.plugin
    if not folder:
        return ""
    tuner = job.environment.get("NCCL_TUNER_CONFIG_PATH", "")
    tuned = f" && [ -e {shlex.quote(tuner)} ]" if tuner.startswith(f"{folder}/") else ""
    quoted = shlex.quote(folder)
    return f"""\
size=
until compgen -G {quoted}'/lib64/libnccl*net*.so*' >/dev/null{tuned} && [ "$size" = "$(du -s {quoted})" ]; do
  say "NCCL's plugin in {folder}; the installer's pods are in kube-system"
  size=$(du -s {quoted})
  sleep 5
done"""
