"""What a worker claims of its node beside GPUs: the RDMA NICs of networks that GKE makes, and a place in the NVLink
domain.

A claim asks for the exact number of NICs: a node with one less stays empty instead of running slow. The templates stand
in the job's namespace, for a pod names them without one.

Source: GKE, "Allocate network resources by using GKE managed DRANET" (2026-04-10); container-engine-accelerators,
gpudirect-rdma/nccl-test-managed-rdma.yaml (c9204987, 2026-03-25); GKE, "Set up Ray on GKE with A4X and GB200"
(2026-04-10), ComputeDomain.
"""

from __future__ import annotations

from typing import Any

from groundplan.gpu import nvlink
from groundplan.kernel.gke import RDMA_DEVICE_CLASS
from groundplan.workload.values import JobValues, Share


def claims(job: JobValues, share: Share) -> dict[str, str]:
    """Name of each claim of a worker -> the template that it comes from. An NVLink domain is a pool's own."""
    found = {}
    if share.pool.claimed_nics:
        found["rdma"] = f"{job.name}-rdma"
    if share.pool.nvlink_nodes:
        found["nvlink"] = f"{job.name}-nvlink{share.end}"
    return found


def documents(job: JobValues, metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """The claims' templates; of NVLink domains the domains, whose controller makes the templates."""
    found: dict[str, dict[str, Any]] = {}
    for share in job.worker_groups:
        templates = claims(job, share)
        if "rdma" in templates:
            name = templates["rdma"]
            found[name] = _nics({**metadata, "name": name}, share.pool.claimed_nics)
        if "nvlink" in templates:
            name = templates["nvlink"]
            found[name] = nvlink.compute_domain({**metadata, "name": f"{job.name}{share.end}"}, share.nodes, name)
    return list(found.values())


def _nics(metadata: dict[str, Any], count: int) -> dict[str, Any]:
    """The template of a claim for so many RDMA NICs."""
    exactly = {"deviceClassName": RDMA_DEVICE_CLASS, "allocationMode": "ExactCount", "count": count}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": {"spec": {"devices": {"requests": [{"name": "nics", "exactly": exactly}]}}},
    }


def in_pod(job: JobValues, share: Share) -> list[dict[str, str]]:
    """For the worker's pod."""
    return [{"name": name, "resourceClaimTemplateName": template} for name, template in claims(job, share).items()]


def in_container(job: JobValues, share: Share) -> list[dict[str, str]]:
    """For the worker's container, which alone gets the devices."""
    return [{"name": name} for name in claims(job, share)]
