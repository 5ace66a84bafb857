"""A Job that measures the fabric of the GPU nodes before anything trains on them: the checks of preflight, by
themselves.

Its pods are the workers' without Ray: the same image, NICs, plugin, variables and volumes, so that what it measures is
what a training will have. It wants whole nodes, and so runs when no training does: the run-book tells to start it after
the platform stack and before the workload stack.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from groundplan.workload import claims, preflight
from groundplan.workload.environment import plain_environment
from groundplan.workload.pods import worker_group
from groundplan.workload.script import FOLDER
from groundplan.workload.values import JobValues

#: Label by which each run has a folder of its own: a run that finds another's marks would measure nothing.
_RUN = "batch.kubernetes.io/controller-uid"
_KEPT_SECONDS = 3600


def name_of(job: JobValues) -> str:
    """Name of the Job."""
    return f"{job.site}-fabric-test"


def documents(job: JobValues) -> list[dict[str, Any]]:
    """The Job and what belongs to it, on the nodes of the job's first pool; none where it cannot run.

    Its nodes meet by files, which a mounted bucket shows too late; without a known machine there is nothing to ask; and
    the nodes of a queued pool come for a ProvisioningRequest alone, which nobody writes for it.
    """
    pool = job.pool
    if pool is None or pool.gpu is None or pool.capacity == "queued" or job.bucket_at(job.folder) is not None:
        return []
    test = _alone(job)
    labels = {"app.kubernetes.io/managed-by": "groundplan", "app.kubernetes.io/part-of": job.site}
    metadata = {"name": test.name, "namespace": job.namespace, "labels": labels}
    scripts = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": preflight.preflight_scripts(),
    }
    return [scripts, *claims.documents(test, metadata), _job(test, metadata)]


def _alone(job: JobValues) -> JobValues:
    """The job as the test has it: one pool, its own name and folder, the checks on."""
    share = replace(job.worker_groups[0], end="")
    checks = job.spec.preflight.model_copy(update={"enabled": True})
    return replace(
        job,
        name=name_of(job),
        folder=job.folder_of(name_of(job)),
        spec=job.spec.model_copy(update={"preflight": checks}),
        nodes=share.nodes,
        worker_groups=(share,),
        queue=None,
        operator_waits=True,  # so that its pods wait for NCCL's plugin, and for no Ray head
    )


def _job(test: JobValues, metadata: dict[str, Any]) -> dict[str, Any]:
    template = worker_group(test, test.worker_groups[0])["template"]
    template["metadata"]["annotations"].pop(preflight.OWN_COMMAND)
    pod = template["spec"]
    (container,) = pod["containers"]
    for of_ray in ("args", "startupProbe"):
        container.pop(of_ray)
    container |= {
        "name": "fabric-test",
        "command": ["python", "-u", f"{FOLDER}/{preflight.SCRIPT}"],
        "env": [*plain_environment(test), *_settings(test)],
    }
    pod["restartPolicy"] = "Never"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "completionMode": "Indexed",
            "completions": test.nodes,
            "parallelism": test.nodes,
            "backoffLimit": 0,
            "activeDeadlineSeconds": preflight.probe_minutes(test) * 60,
            "ttlSecondsAfterFinished": _KEPT_SECONDS,
            "template": template,
        },
    }


def _settings(test: JobValues) -> list[dict[str, Any]]:
    """The script's, by the run instead of the Ray cluster."""
    run = {"fieldRef": {"fieldPath": f"metadata.labels['{_RUN}']"}}
    return [each | {"valueFrom": run} if each["name"] == "RAY_CLUSTER" else each for each in preflight.settings(test)]
