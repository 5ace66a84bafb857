"""NVLink domains over several machines (A4X: 18 machines of 4 GPUs): the workload policy that keeps a pool in one
sub-block, and NVIDIA's DRA driver, which lets pods share memory over NVLink.

Source: GKE, "Set up Ray on GKE with A4X and GB200" (2026-04-10); GoogleCloudPlatform/cluster-toolkit v1.95.0,
examples/gke-a4x (resource policy, quota, chart's values).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groundplan.catalog import Gpu, shipped
from groundplan.gpu.transports.base import NVIDIA
from groundplan.kernel.gke import ACCELERATOR_LABEL, ARCH_LABEL, GPU_TAINT

NAMESPACE = "nvidia-dra-driver-gpu"
CHART = "nvidia-dra-driver-gpu"

#: Class of the claim for a place in a domain, as NVIDIA's driver installs it.
DEVICE_CLASS = "compute-domain-default-channel.nvidia.com"


def repository() -> str:
    """The chart's."""
    return str(shipped("nvidia_dra")["repository"])


def version() -> str:
    """The chart's release."""
    return str(shipped("nvidia_dra")["version"])


def topology(gpu: Gpu) -> str:
    """``1x72``: what the workload policy says of a domain; empty where NVLink ends at the machine."""
    return f"1x{gpu.nvlink_nodes * gpu.count}" if gpu.nvlink_nodes else ""


def compute_domain(metadata: dict[str, Any], nodes: int, template: str) -> dict[str, Any]:
    """The domain of a job's pods; its controller makes the claim's template."""
    return {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": metadata,
        "spec": {"numNodes": nodes, "channel": {"resourceClaimTemplate": {"name": template}}},
    }


def driver_values(accelerators: Sequence[str], archs: Sequence[str]) -> dict[str, Any]:
    """The chart's values: NVLink domains alone, for GPUs are GKE's own device plugin's."""
    on_gpus = _required({"key": ACCELERATOR_LABEL, "operator": "In", "values": list(accelerators)})
    off_gpus = _required({"key": GPU_TAINT, "operator": "DoesNotExist"})
    tolerations: list[dict[str, str]] = [{"key": GPU_TAINT, "operator": "Exists", "effect": "NoSchedule"}]
    tolerations += [arch_toleration(arch) for arch in archs if arch != "amd64"]
    return {
        "nvidiaDriverRoot": NVIDIA[0],
        "resources": {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}},
        "controller": {"affinity": off_gpus},
        "kubeletPlugin": {"affinity": on_gpus, "tolerations": tolerations},
    }


def quota(nodes: int) -> dict[str, dict[str, Any]]:
    """The driver's pods are of system priority, which GKE lets into another namespace by a quota alone: two a node and
    the controller."""
    priorities = {"operator": "In", "scopeName": "PriorityClass"}
    classes = ["system-node-critical", "system-cluster-critical"]
    return {
        "quota": {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": f"{NAMESPACE}-quota", "namespace": NAMESPACE},
            "spec": {
                "hard": {"pods": str(2 * nodes + 1)},
                "scopeSelector": {"matchExpressions": [{**priorities, "values": classes}]},
            },
        }
    }


def arch_toleration(arch: str) -> dict[str, str]:
    """Of GKE's own taint of nodes that are no amd64."""
    return {"key": ARCH_LABEL, "operator": "Equal", "value": arch, "effect": "NoSchedule"}


def _required(expression: dict[str, Any]) -> dict[str, Any]:
    terms = [{"matchExpressions": [expression]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
