"""The Kubernetes objects of the workload stack, as plain dictionaries: pure functions of the JobValues."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from groundplan.catalog import shipped
from groundplan.kernel.gke import parse
from groundplan.workload import claims, prefetch
from groundplan.workload.pods import JOB_LABEL, cpu_placement, head_group, pod_base, worker_group
from groundplan.workload.preflight import preflight_scripts, probe_minutes
from groundplan.workload.script import FOLDER, TRAIN, scripts
from groundplan.workload.values import JobValues

#: The longest name that KubeRay takes: it adds its own endings for cluster, service and pods.
MAX_NAME = 47
#: Digits of the hash at the end of the name.
HASH_DIGITS = 8

ENTRYPOINT = f"bash {FOLDER}/{TRAIN}"


def documents(job: JobValues) -> list[dict[str, Any]]:
    """The objects of a job, in the order in which they are created."""
    found = [_config_map(job), _disruption_budget(job), *claims.documents(job, _metadata(job))]
    if job.spec.prefetch.enabled:
        found += prefetch.documents(job)
    found.append(ray_cluster(job) if job.spec.mode == "cluster" else ray_job(job))
    return found


def digest(job: JobValues) -> str:
    """A short hash of what no update changes once it runs: KubeRay ignores edits of a RayJob's cluster, and a script
    that has been started is read no more. Labels, deadlines and retries are not in it: those are changed in place."""
    fixed: dict[str, Any] = {
        "mode": job.spec.mode,
        "submission": job.spec.submission,
        "run": job.spec.run,
        "cluster": _cluster_spec(job),
        "scripts": _all_scripts(job),
    }
    if claimed := claims.documents(job, {}):
        fixed["claims"] = claimed
    text = json.dumps(fixed, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]


def ray_job(job: JobValues) -> dict[str, Any]:
    """The RayJob.

    HTTPMode by default: the operator hands the job to Ray's dashboard itself, so that there is no further pod that
    would need image, tolerations and secrets of its own and that breaks gang scheduling. Retries are 0 unless asked
    for: each is a whole new cluster. The cluster goes when the job ends; the RayJob stays, so that Terraform sees no
    change.
    """
    spec: dict[str, Any] = {
        "entrypoint": ENTRYPOINT,
        "submissionMode": job.spec.submission,
        "shutdownAfterJobFinishes": True,
        "ttlSecondsAfterFinished": job.spec.keep_minutes * 60,
        "activeDeadlineSeconds": job.spec.deadline_hours * 3600,
        "backoffLimit": job.spec.retries,
    }
    if job.spec.suspend and job.queue is None:  # under Kueue the field is Kueue's
        spec["suspend"] = True
    if knows(job.kuberay, "pre_running_deadline"):
        spec["preRunningDeadlineSeconds"] = startup_seconds(job)
    if job.spec.submission == "K8sJobMode":
        spec["submitterConfig"] = {"backoffLimit": 5}
        spec["submitterPodTemplate"] = _submitter(job)
    spec["rayClusterSpec"] = _cluster_spec(job)
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": _metadata(job, queued=True), "spec": spec}


def ray_cluster(job: JobValues) -> dict[str, Any]:
    """The same cluster without a job: it stays until it is taken away, and scripts are started on its head by hand."""
    metadata = _metadata(job, queued=True)
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": _cluster_spec(job)}


def startup_seconds(job: JobValues) -> int:
    """Seconds until the cluster must be ready, checks before the start included."""
    checks = probe_minutes(job) if job.spec.preflight.enabled else 0
    return (job.spec.startup_minutes + checks) * 60


def knows(kuberay: str, feature: str) -> bool:
    """Whether that release of KubeRay has the feature (catalog/kuberay_fields.yaml)."""
    since: dict[str, list[str]] = shipped("kuberay_fields")["since"]
    try:
        return any(feature in features and parse(kuberay) >= parse(first) for first, features in since.items())
    except ValueError:
        return False


def _cluster_spec(job: JobValues) -> dict[str, Any]:
    return {
        # Chooses the operator's probe, so it is the image's own (catalog/nemo_rl.yaml).
        "rayVersion": job.release.ray,
        "enableInTreeAutoscaling": False,
        "headGroupSpec": head_group(job),
        "workerGroupSpecs": [worker_group(job, share) for share in job.worker_groups],
    }


def _all_scripts(job: JobValues) -> dict[str, str]:
    return scripts(job) | (preflight_scripts() if job.spec.preflight.enabled else {})


def _metadata(job: JobValues, *, queued: bool = False) -> dict[str, Any]:
    labels: Mapping[str, str] = job.labels
    if queued and job.queue:
        labels = {**labels, "kueue.x-k8s.io/queue-name": job.queue.name}
    return {"name": job.name, "namespace": job.namespace, "labels": dict(labels)}


def _config_map(job: JobValues) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(job), "data": _all_scripts(job)}


def _disruption_budget(job: JobValues) -> dict[str, Any]:
    """Keeps head and workers from voluntary eviction: one pod less ends the training.

    A number of pods, not `maxUnavailable`: that needs an owner with a scale, which a RayCluster has not.
    """
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(job),
        "spec": {"minAvailable": job.nodes + 1, "selector": {"matchLabels": {JOB_LABEL: job.name}}},
    }


def _submitter(job: JobValues) -> dict[str, Any]:
    """KubeRay's own submitter pod has neither pull secret nor selector nor account of the head."""
    container = {
        "name": "ray-job-submitter",
        "image": job.image,
        "resources": {
            "requests": {"cpu": "500m", "memory": "512Mi"},
            "limits": {"cpu": "1", "memory": "2Gi"},
        },
    }
    return {"spec": {**pod_base(job), **cpu_placement(job), "restartPolicy": "Never", "containers": [container]}}
