"""Kueue: the operator's values, and the queue that admits a training when all of its pods can be placed.

Facts: Kueue v0.19.2 (API v1beta2). A RayJob asks for CPUs and memory beside its GPUs, so the ClusterQueue covers all
three, in one group with a flavor for each kind of node: the CPU pool for the head, each GPU pool for workers. A queue
that covers GPUs alone never admits a RayJob.

A queued pool has an admission check besides: GKE makes its nodes for a ProvisioningRequest alone, which Kueue then
writes (GKE documentation, "Run GPUs with queued provisioning"; Kueue documentation, "Provisioning Admission Check").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundplan.catalog import Machine
from groundplan.cluster.allocatable import allocatable
from groundplan.gpu import nvlink
from groundplan.gpu.values import PoolValues, gpu_toleration, own_tolerations
from groundplan.kernel.gke import ACCELERATOR_LABEL, POOL_LABEL, RDMA_DEVICE_CLASS
from groundplan.kernel.yaml_text import to_yaml
from groundplan.platform.values import QueueValues

API = "kueue.x-k8s.io/v1beta2"
KUEUE_REPOSITORY = "oci://registry.k8s.io/kueue/charts"

#: Levels by which GKE tells how close nodes stand, coarsest first.
TOPOLOGY_LEVELS = (
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gce-topology-subblock",
    "cloud.google.com/gce-topology-host",
    "kubernetes.io/hostname",
)


def kueue_objects(queue: QueueValues) -> dict[str, dict[str, Any]]:
    """The queue's objects, keyed for the pass-through chart."""
    found: dict[str, dict[str, Any]] = {}
    topology = queue.scoped("gpu") if queue.topology != "none" else ""
    if topology:
        levels = [{"nodeLabel": label} for label in TOPOLOGY_LEVELS]
        found["topology"] = _object("Topology", topology, {"levels": levels})
    found["flavor-cpu"] = _object(
        "ResourceFlavor", queue.scoped("cpu"), {"nodeLabels": _cpu_labels(queue.cpu_pool.name)}
    )
    for pool in queue.pools:
        found[f"flavor-{pool.name}"] = _gpu_flavor(queue.scoped(pool.name), pool, topology)
    for pool in queue.queued_pools:
        found[f"provisioning-{pool.name}"] = _provisioning_config(queue.scoped(pool.name), pool)
        found[f"check-{pool.name}"] = _admission_check(queue.scoped(pool.name))
    found["cluster-queue"] = _cluster_queue(queue)
    local = _object("LocalQueue", queue.name, {"clusterQueue": queue.cluster_queue})
    local["metadata"]["namespace"] = queue.namespace
    found["local-queue"] = local
    return found


#: Claimed device class -> the resource that a queue counts it as. Since Kueue 0.18 a claim of a class that is not
#: mapped keeps a job from being admitted for ever (kubernetes-sigs/kueue, keps/2941-DRA; pkg/dra/claims.go).
DEVICES = {RDMA_DEVICE_CLASS: "google.com/rdma-nic", nvlink.DEVICE_CLASS: "nvidia.com/nvlink-domain"}
_MAPS_DEVICES = (0, 18)


def counted_devices(queue: QueueValues) -> dict[str, str]:
    """Device class -> counted resource, of all that pods of the queue's pools claim; none before Kueue 0.18."""
    if tuple(int(n) for n in queue.version.split(".")[:2]) < _MAPS_DEVICES:
        return {}
    claimed = {device for pool in queue.pools for device in _devices(pool)}
    return {device: resource for device, resource in DEVICES.items() if device in claimed}


def _devices(pool: PoolValues) -> dict[str, int]:
    """Device class -> how many a pod of the pool claims."""
    found = {RDMA_DEVICE_CLASS: pool.claimed_nics, nvlink.DEVICE_CLASS: 1 if pool.nvlink_nodes else 0}
    return {device: count for device, count in found.items() if count}


def kueue_values(cpu_pool: str, namespace: str, devices: Mapping[str, str]) -> dict[str, Any]:
    """Values of the operator's chart, which manages jobs in `namespace` alone.

    Two replicas, as its webhooks stand in the way of every job while it is down. By default those of pods, Deployments
    and StatefulSets refuse everything (`failurePolicy: Fail`) in all namespaces but two then, so nothing could start
    anywhere. With Ray's frameworks alone they let pass what they cannot judge, and the selector keeps them to the jobs'
    namespace. `devices` has the device classes that pods claim, and what they are counted as.

    Source: kueue, charts/kueue/templates/webhook/manifests.yaml and values.yaml (the rest of the configuration is the
    chart's own: this text takes the place of the whole of it).
    """
    configuration: dict[str, Any] = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "clientConnection": {"qps": 50, "burst": 100},
        "managedJobsNamespaceSelector": {
            "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]}]
        },
        "integrations": {"frameworks": ["ray.io/rayjob", "ray.io/raycluster"]},
    }
    if devices:
        mapped = [{"name": resource, "deviceClassNames": [device]} for device, resource in devices.items()]
        configuration["resources"] = {"deviceClassMappings": mapped}
    return {
        "controllerManager": {"replicas": 2, "nodeSelector": _cpu_labels(cpu_pool)},
        "managerConfig": {"controllerManagerConfigYaml": to_yaml(configuration)},
    }


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _cpu_labels(cpu_pool: str) -> dict[str, str]:
    return {POOL_LABEL: cpu_pool}


def _gpu_flavor(name: str, pool: PoolValues, topology: str) -> dict[str, Any]:
    """Tolerations of the flavor are added to what it admits; the pods carry GKE's own already."""
    spec: dict[str, Any] = {"nodeLabels": {ACCELERATOR_LABEL: pool.accelerator, POOL_LABEL: pool.name}}
    spec["tolerations"] = [gpu_toleration(), *own_tolerations(pool)]
    if topology:
        spec["topologyName"] = topology
    return _object("ResourceFlavor", name, spec)


def _cluster_queue(queue: QueueValues) -> dict[str, Any]:
    cpu_pool = queue.cpu_pool
    counted = counted_devices(queue)
    none = {"nvidia.com/gpu": 0, **dict.fromkeys(counted.values(), 0)}
    flavors = [_quota(queue.scoped("cpu"), queue.cpu_machine, cpu_pool.max_nodes, cpu_pool.max_pods_per_node, none)]
    for pool in queue.pools:
        has = _devices(pool)
        devices = {"nvidia.com/gpu": pool.gpus_per_node}
        devices |= {resource: has.get(device, 0) for device, resource in counted.items()}
        name = queue.scoped(pool.name)
        flavors.append(_quota(name, pool.machine, pool.max_nodes, pool.max_pods_per_node, devices))
    spec: dict[str, Any] = {
        "namespaceSelector": {
            "matchLabels": {"kubernetes.io/metadata.name": queue.namespace},
        },
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": [{"coveredResources": ["cpu", "memory", *none], "flavors": flavors}],
    }
    names = [queue.scoped(pool.name) for pool in queue.queued_pools]
    checks = [{"name": name, "onFlavors": [name]} for name in names]
    if checks:
        # By flavor: a job on another pool asks GKE for nothing.
        spec["admissionChecksStrategy"] = {"admissionChecks": checks}
    return _object("ClusterQueue", queue.cluster_queue, spec)


def _admission_check(name: str) -> dict[str, Any]:
    """Holds a job back until GKE has made its nodes."""
    parameters = {"apiGroup": API.partition("/")[0], "kind": "ProvisioningRequestConfig", "name": name}
    spec = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": parameters}
    return _object("AdmissionCheck", name, spec)


def _provisioning_config(name: str, pool: PoolValues) -> dict[str, Any]:
    """How Kueue asks GKE for the nodes of a queued pool: for the pods with GPUs, all of them or none.

    The pods get a selector for the nodes that were made for them, by the name that GKE gives the request.
    """
    selector = {
        "key": "autoscaling.gke.io/provisioning-request",
        "valueFromProvisioningClassDetail": "ResizeRequestName",
    }
    spec: dict[str, Any] = {
        "provisioningClassName": "queued-provisioning.gke.io",
        "managedResources": ["nvidia.com/gpu"],
        "podSetUpdates": {"nodeSelector": [selector]},
    }
    if pool.spec.max_run_hours:
        spec["parameters"] = {"maxRunDurationSeconds": str(pool.spec.max_run_hours * 3600)}
    return _object("ProvisioningRequestConfig", name, spec)


def _quota(name: str, machine: Machine | None, nodes: int, max_pods: int, devices: Mapping[str, int]) -> dict[str, Any]:
    """All that the nodes have for pods; `devices` is of one node. Placing is for the scheduler; the quota only must not
    stand in the way."""
    free = allocatable(machine, max_pods) if machine else None
    amounts = {
        "cpu": str(free.cpu_millis * nodes // 1000 if free else 0),
        "memory": f"{free.memory_mib * nodes if free else 0}Mi",
        **{resource: str(count * nodes) for resource, count in devices.items()},
    }
    return {"name": name, "resources": [{"name": r, "nominalQuota": amount} for r, amount in amounts.items()]}
