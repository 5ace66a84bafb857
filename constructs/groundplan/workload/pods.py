"""Pod templates of the Ray head and of the workers, shared by the RayJob and the interactive RayCluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from groundplan.gpu.fabric_values import Nic
from groundplan.gpu.values import PoolValues, gpu_toleration, own_tolerations
from groundplan.kernel.gke import ACCELERATOR_LABEL, MANAGED_NETWORKS_LABEL, POOL_LABEL
from groundplan.kernel.quantities import MIB, parse_bytes
from groundplan.storage.buckets import sidecar_annotations
from groundplan.workload import claims, preflight, waiting
from groundplan.workload.environment import container_environment
from groundplan.workload.script import FOLDER
from groundplan.workload.values import JobValues, Share

#: Label of all pods of one job: the name of the RayCluster, which KubeRay's own labels carry, has a random end.
JOB_LABEL = "groundplan/job"
#: With this annotation the cluster autoscaler never drains the pod's node.
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"

DASHBOARD_PORT = 8265
#: Ray's worker ports. Its default range, 10002 to 19999, overlaps vLLM's and NeMo Gym's (11001 to 20000).
WORKER_PORTS = {"min-worker-port": "10002", "max-worker-port": "11000"}
#: Share of /dev/shm for Ray's object store; the rest is NCCL's and the data loaders'.
OBJECT_STORE_SHARE = 0.4


def head_group(job: JobValues) -> dict[str, Any]:
    """The head: CPUs only, on the CPU pool, so that the driver and Ray's own services never compete with training.

    `num-gpus` is written out, so that no resource elsewhere can make Ray count one. `no-monitor`: Ray's monitor removes
    workers that it takes for idle even when autoscaling is off (NVIDIA's own manifests).
    """
    start = {"dashboard-host": "0.0.0.0", "no-monitor": "true", "num-gpus": "0", **_start_params(job.spec.head.shm)}
    return {"serviceType": "ClusterIP", "rayStartParams": start, "template": _template(job, _head_spec(job), {})}


def worker_group(job: JobValues, share: Share) -> dict[str, Any]:
    """The workers of one pool: one pod a node. Replicas are fixed, for a training that loses a node has to start again
    anyway."""
    own = network_annotations(job.nics)
    if job.pool and job.pool.gpu:
        own |= job.transport.annotations(job.pool.gpu)
    if job.spec.preflight.enabled:
        own[preflight.OWN_COMMAND] = "true"
    if job.queue and job.queue.topology:
        own["kueue.x-k8s.io/podset-preferred-topology"] = job.queue.topology
    return {
        "groupName": f"gpu{share.end}",
        "replicas": share.nodes,
        "minReplicas": share.nodes,
        "maxReplicas": share.nodes,
        "rayStartParams": _start_params(job.worker_shm),
        "template": _template(job, _worker_spec(job, share), own),
    }


def object_store_bytes(shm: str) -> int:
    """Size of Ray's object store within a /dev/shm of that size, in whole MiB."""
    return int(parse_bytes(shm) * OBJECT_STORE_SHARE) // MIB * MIB


def _start_params(shm: str) -> dict[str, str]:
    return {"object-store-memory": str(object_store_bytes(shm)), **WORKER_PORTS}


def _template(job: JobValues, spec: dict[str, Any], own: dict[str, str]) -> dict[str, Any]:
    labels = {JOB_LABEL: job.name, "app.kubernetes.io/part-of": job.site}
    found = {SAFE_TO_EVICT: "false", **own, **fuse_annotations(job)}
    return {"metadata": {"labels": labels, "annotations": found}, "spec": spec}


def network_annotations(nics: Sequence[Nic]) -> dict[str, str]:
    """The NICs. They are read from the pod template and from nowhere else; without them a pod has no RDMA. A machine
    without a fabric has the primary one alone, and wants no annotation."""
    if not nics:
        return {}
    interfaces = [{"interfaceName": "eth0", "network": "default"}]
    interfaces += [{"interfaceName": nic.interface, "network": nic.name} for nic in nics]
    return {
        "networking.gke.io/default-interface": "eth0",
        "networking.gke.io/interfaces": json.dumps(interfaces, separators=(",", ":")),
    }


def pod_base(job: JobValues) -> dict[str, Any]:
    """What every pod of the job has. Service links are off: they would add a variable for each Service of the
    namespace, and NeMo RL sends its whole environment through Ray (NVIDIA-NeMo/RL#309)."""
    base: dict[str, Any] = {"serviceAccountName": job.service_account, "enableServiceLinks": False}
    if job.image_pull_secret:
        base["imagePullSecrets"] = [{"name": job.image_pull_secret}]
    return base


def cpu_placement(job: JobValues) -> dict[str, Any]:
    """On the CPU pool."""
    return {"nodeSelector": {POOL_LABEL: job.cpu_pool}}


def shared_volumes(job: JobValues) -> list[dict[str, Any]]:
    """The file systems that all pods share: the shared volume, and the buckets that are mounted."""
    own, buckets = job.volumes.shared, [bucket.volume() for bucket in job.volumes.mounted]
    claim = {"name": own.name, "persistentVolumeClaim": {"claimName": own.claim}}
    return [claim, *buckets] if own.claim else buckets


def shared_mounts(job: JobValues) -> list[dict[str, Any]]:
    """Where they are mounted."""
    own, buckets = job.volumes.shared, [bucket.volume_mount() for bucket in job.volumes.mounted]
    claim = {"name": own.name, "mountPath": own.mount_path}
    return [claim, *buckets] if own.claim else buckets


def fuse_annotations(job: JobValues) -> dict[str, str]:
    """Of each pod that mounts buckets: GKE's sidecar and its sizes."""
    return sidecar_annotations(job.fuse) if job.volumes.mounted else {}


def _shm(size: str) -> dict[str, Any]:
    return {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": size}}


def _head_spec(job: JobValues) -> dict[str, Any]:
    resources = {"cpu": str(job.head_cpu), "memory": job.head_memory}
    container = {
        "name": "ray-head",
        "image": job.image,
        "imagePullPolicy": "IfNotPresent",
        "ports": [
            {"name": "gcs", "containerPort": 6379},
            {"name": "dashboard", "containerPort": DASHBOARD_PORT},
            {"name": "client", "containerPort": 10001},
        ],
        "env": container_environment(job),
        "resources": {"requests": resources, "limits": resources},
        # Ready when jobs can be submitted; the operator's own probe looks at other services (kuberay#4760).
        "readinessProbe": {
            "httpGet": {"path": "/api/version", "port": DASHBOARD_PORT},
            "initialDelaySeconds": 10,
            "periodSeconds": 10,
            # While 16 nodes start their 128 actors the dashboard answers late; an unready head loses its Service, by
            # which the operator asks for the job. Five minutes, then.
            "timeoutSeconds": 10,
            "failureThreshold": 30,
        },
        "volumeMounts": [
            {"name": "scripts", "mountPath": FOLDER, "readOnly": True},
            {"name": "shm", "mountPath": "/dev/shm"},
            *shared_mounts(job),
        ],
    }
    scripts = {"name": "scripts", "configMap": {"name": job.name}}
    return {
        **pod_base(job),
        **cpu_placement(job),
        "containers": [container],
        "volumes": [scripts, _shm(job.spec.head.shm), *shared_volumes(job)],
    }


def worker_resources(job: JobValues) -> dict[str, str]:
    """What a worker asks for, as request and limit alike: Ray counts GPUs by the limit alone."""
    return {"cpu": str(job.worker_cpu), "memory": job.worker_memory, "nvidia.com/gpu": str(job.gpus)}


def _worker_spec(job: JobValues, share: Share) -> dict[str, Any]:
    resources = worker_resources(job)
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}, *shared_mounts(job)]
    mounts += job.transport.mounts()
    container: dict[str, Any] = {
        "name": "ray-worker",
        "image": job.image,
        "imagePullPolicy": "IfNotPresent",
        "env": container_environment(job),
        "resources": {"requests": resources, "limits": resources},
        "securityContext": security_context(job),
        "volumeMounts": mounts,
    }
    volumes = [_shm(job.worker_shm), *shared_volumes(job)]
    volumes += job.transport.volumes()
    spec: dict[str, Any] = {
        **pod_base(job),
        "nodeSelector": worker_selector(share.pool),
        "tolerations": tolerations(job.pool),
        "containers": [container],
        "volumes": volumes,
    }
    if before := [*waiting.init_containers(job), *job.transport.sidecars()]:
        spec["initContainers"] = before
    if claimed := claims.in_pod(job, share):
        spec["resourceClaims"] = claimed
        container["resources"] = {**container["resources"], "claims": claims.in_container(job, share)}
    if job.spec.preflight.enabled:
        container |= preflight.before_ray(job)
        container["env"] = [*container_environment(job), *preflight.settings(job)]
        container["volumeMounts"] = [*mounts, preflight.mount()]
        spec["volumes"] = [*volumes, {"name": "scripts", "configMap": {"name": job.name}}]
    return spec


def security_context(job: JobValues) -> dict[str, Any]:
    """RDMA registers memory, which the memlock limit forbids; root with IPC_LOCK is above it, and needs no more."""
    return {"privileged": True} if job.spec.worker.privileged else {"capabilities": {"add": ["IPC_LOCK"]}}


def worker_selector(pool: PoolValues) -> dict[str, str]:
    """The accelerator too, though the pool implies it: Kueue chooses a flavor by it before GKE adds anything."""
    managed = {MANAGED_NETWORKS_LABEL: "auto"} if pool.claimed_nics else {}
    return {ACCELERATOR_LABEL: pool.accelerator, POOL_LABEL: pool.name, **managed}


def tolerations(pool: PoolValues | None) -> list[dict[str, str]]:
    """GKE's own taint of GPU nodes, written out for Kueue (kuberay PR 1914), and the pool's own."""
    found = [gpu_toleration()]
    if pool is None:
        return found
    if pool.capacity == "queued":
        found.append({"key": "cloud.google.com/gke-queued", "operator": "Exists", "effect": "NoSchedule"})
    return [*found, *own_tolerations(pool)]
