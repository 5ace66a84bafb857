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
from groundplan.workload.values import JobValues


def claims(job: JobValues) -> dict[str, str]:
    """Name of each claim of a worker -> the template that it comes from."""
    found = {}
    if job.pool and job.pool.claimed_nics:
        found["rdma"] = f"{job.name}-rdma"
    if job.pool and job.pool.nvlink_nodes:
        found["nvlink"] = f"{job.name}-nvlink"
    return found


def documents(job: JobValues, metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """The claims' templates; of the NVLink domain the domain, whose controller makes the template."""
    found: list[dict[str, Any]] = []
    templates = claims(job)
    if "rdma" in templates and job.pool:
        request = {
            "name": "nics",
            "exactly": {
                "deviceClassName": RDMA_DEVICE_CLASS,
                "allocationMode": "ExactCount",
                "count": job.pool.claimed_nics,
            },
        }
        found.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaimTemplate",
                "metadata": {**metadata, "name": templates["rdma"]},
                "spec": {"spec": {"devices": {"requests": [request]}}},
            }
        )
    if "nvlink" in templates:
        found.append(nvlink.compute_domain(metadata, job.nodes, templates["nvlink"]))
    return found


def in_pod(job: JobValues) -> list[dict[str, str]]:
    """For the worker's pod."""
    return [{"name": name, "resourceClaimTemplateName": template} for name, template in claims(job).items()]


def in_container(job: JobValues) -> list[dict[str, str]]:
    """For the worker's container, which alone gets the devices."""
    return [{"name": name} for name in claims(job)]
