"""The job as YAML for readers: a comment before each object says what it is for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groundplan.kernel.yaml_text import to_yaml
from groundplan.site.resolve import Site

_ABOUT = {
    "ConfigMap": "The scripts: what the trainer is started with, one override a line.",
    "PodDisruptionBudget": "Keeps all pods of the job from voluntary eviction: one less ends the training.",
    "ResourceClaimTemplate": "What each worker claims of its node: the RDMA NICs of networks that GKE makes.",
    "ComputeDomain": "The NVLink domain of the workers; its controller makes the template of their claims.",
    "Job": "Downloads the models to Lustre, once for all nodes; the training waits for it.",
    "RayJob": "The training: Ray head on the CPU pool, one worker for each GPU node, one entry script.",
    "RayCluster": "Head and workers without a job: log in to the head and start scripts there.",
}

#: Line of the RayJob or RayCluster, without its indentation -> comment before it.
_GROUPS = {
    "submissionMode:": "How it is handed to Ray, when it ends, what is kept.",
    "rayVersion:": "The image's own: it chooses the operator's probe.",
    "headGroupSpec:": "The head: no GPU; the driver runs here.",
    "workerGroupSpecs:": "The workers: as many as nodes, never more or less.",
    "networking.gke.io/default-interface:": "The NICs: gVNICs, then the RDMA networks.",
    "env:": "One list for head and workers: the driver's variables overwrite the workers'.",
    "readinessProbe:": "Ready when the dashboard takes jobs.",
    "tolerations:": "GPU nodes are tainted.",
    "resourceClaims:": "Where the container's claims come from.",
    "startupProbe:": "Passes when the checks before Ray have.",
}


def head_line(site: Site) -> str:
    """What a file of the job's objects begins with."""
    job, it = ("jobs", "them") if site.parts else ("job", "it")
    what = f"The {job} of site {site.name}, as its workload stack applies {it}"
    return f"# {what}. Written by groundplan; edit the profile.\n"


def job_text(site: Site, views: Sequence[Site] = ()) -> str:
    """All objects of the job, or of the jobs of some views, as one commented YAML stream."""
    return head_line(site) + "".join(_document(each) for view in views or site.views for each in view.job_objects)


def _document(document: dict[str, Any]) -> str:
    text = to_yaml(document)
    if document["kind"] in ("RayJob", "RayCluster"):
        text = "".join(_commented(line) for line in text.splitlines(keepends=True))
    return f"---\n# {_ABOUT[document['kind']]}\n{text}"


def _commented(line: str) -> str:
    word = line.strip().partition(" ")[0]
    comment = _GROUPS.get(word)
    indentation = line[: len(line) - len(line.lstrip())]
    return f"{indentation}# {comment}\n{line}" if comment else line
