"""Kubernetes objects of a job, as small as they may be."""

from __future__ import annotations

RAY_JOB = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "metadata": {"name": "train-1"},
    "spec": {"entrypoint": "echo ${HOME}"},
}
SCRIPTS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "train-1"}, "data": {}}
