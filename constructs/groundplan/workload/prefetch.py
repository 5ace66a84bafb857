"""An optional Job that downloads models, and a recipe's data set, to Lustre before the training: once, without a GPU.

Without it every node asks Hugging Face at once, which answers with rate limits (NVIDIA-NeMo/RL PR 2272). The training
waits for a mark on Lustre, so that no pod needs a right to watch another.
"""

from __future__ import annotations

import shlex
from typing import Any

from groundplan.workload.environment import container_environment
from groundplan.workload.pods import cpu_placement, fuse_annotations, pod_base, shared_mounts, shared_volumes
from groundplan.workload.values import JobValues

#: Variables that keep Hugging Face's libraries from downloading: not for this Job.
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
#: Attempts of the Job before the mark of failure is set.
ATTEMPTS = 4


def documents(job: JobValues) -> list[dict[str, Any]]:
    """The Job. It carries the RayJob's name, so that it is made anew with it."""
    container = {
        "name": "prefetch",
        "image": job.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["bash", "-c", _script(job)],
        "env": [each for each in container_environment(job) if each["name"] not in OFFLINE],
        "resources": {"requests": {"cpu": "2", "memory": "8Gi"}, "limits": {"memory": "16Gi"}},
        "volumeMounts": shared_mounts(job),
    }
    pod = {
        **pod_base(job),
        **cpu_placement(job),
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": shared_volumes(job),
    }
    metadata: dict[str, Any] = {"labels": {"app.kubernetes.io/part-of": job.site}}
    if mounts := fuse_annotations(job):
        metadata["annotations"] = mounts
    return [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": f"{job.name}-prefetch", "namespace": job.namespace, "labels": dict(job.labels)},
            "spec": {
                "backoffLimit": 0,
                # A pod that is evicted, or whose node goes, is made again; it starts from what is there.
                "podFailurePolicy": {
                    "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
                },
                "activeDeadlineSeconds": job.spec.prefetch.timeout_minutes * 60,
                "template": {"metadata": metadata, "spec": pod},
            },
        }
    ]


def _script(job: JobValues) -> str:
    """Download with a few attempts within the one pod, so that exactly one pod writes the marks."""
    done, failed, folder = (
        shlex.quote(path) for path in (job.prefetch_mark("done"), job.prefetch_mark("failed"), job.folder)
    )
    fetch = (
        "import sys; from huggingface_hub import snapshot_download; "
        "[print(name, snapshot_download(name), flush=True) for name in sys.argv[1:]]"
    )
    if job.recipe.dataset == "gsm8k":
        fetch += "; from datasets import load_dataset; print(load_dataset('openai/gsm8k', 'main'))"
    models = " ".join(shlex.quote(model) for model in job.models)
    return "\n".join(
        [
            "set -u",
            f"mkdir -p {folder}",
            f"rm -f {failed}",
            f"for attempt in $(seq {ATTEMPTS}); do",
            f"  if python -c {shlex.quote(fetch)} {models}; then touch {done}; exit 0; fi",
            "  sleep $((attempt * 30))",
            "done",
            f"touch {failed}",
            "exit 1",
            "",
        ]
    )
