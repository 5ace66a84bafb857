"""What it means that a resource goes away, in the words of the site: nodes, GPUs, jobs, data."""

from __future__ import annotations

from collections.abc import Callable

from groundplan.on_plans import capacity, ray
from plan_review import values
from plan_review.display import count
from plan_review.drift import MIRRORS
from plan_review.losses import LOSSES, Loss
from plan_review.model import Action, Change, Resource


def _until(change: Change) -> str:
    if change.action is not Action.REPLACE:
        return ""
    return " when the new one stands" if change.create_first else " until the new one stands"


def gpus_of(pool: capacity.Pool) -> str:
    """``16 B200 GPUs``, at the most nodes."""
    return count(pool.gpus, f"{short_gpu(pool.gpu)} GPU")


def short_gpu(accelerator: str) -> str:
    """``nvidia-b200`` -> ``B200``, ``nvidia-h200-141gb`` -> ``H200``."""
    parts = [part for part in accelerator.split("-") if part not in ("nvidia", "tesla") and not part.endswith("gb")]
    return "-".join(parts).upper() or accelerator


def _pool(change: Change) -> Loss:
    pool = capacity.pool(Resource(change.stack, change.address, change.type, change.before))
    verb = "is" if pool.most == 1 else "are"
    nodes = f"up to {count(pool.most, 'node')}" if pool.least != pool.most else count(pool.most, "node")
    if not pool.most:
        return Loss(f"node pool {change.label}", "it holds no nodes")
    if pool.gpu:
        return Loss(
            f"GPU pool {change.label}",
            f"{nodes} with {gpus_of(pool)} {verb} drained and deleted{_until(change)}; a running RayJob is lost",
            grave=True,
            totals=(("node", pool.most), (f"{short_gpu(pool.gpu)} GPU", pool.gpus)),
        )
    lost = "pods on them are evicted (the Ray head and operators too: a running RayJob is lost)"
    return Loss(f"node pool {change.label}", f"{nodes} {verb} drained and deleted; {lost}")


def _cluster(change: Change) -> Loss:
    return Loss(
        f"cluster {change.label}",
        "every pool, operator and object in it goes; running RayJobs are lost",
        grave=True,
    )


def _lustre(change: Change) -> Loss:
    size = values.number(values.get(change.before, "capacity_gib")) or 0
    return Loss(
        f"Lustre instance {change.label}",
        f"its {count(size, 'GiB', 'GiB')} and ALL DATA on it are deleted: checkpoints, models, data sets",
        grave=True,
        data=True,
        totals=(("GiB", size),),
    )


def _bucket(change: Change) -> Loss:
    forced = values.flag(change.before, "force_destroy")
    lost = "it and ALL OBJECTS in it are deleted (force_destroy)" if forced else "it is deleted, once it is empty"
    return Loss(f"bucket {change.label}", lost, grave=True, data=True)


def _volume(change: Change) -> Loss:
    policy = values.text(change.before, "spec.persistent_volume_reclaim_policy")
    kept = policy != "Delete"
    text = "the volume object goes; what it points to stays" if kept else "the volume and its data are deleted"
    return Loss(f"volume {change.label}", f"{text}; it waits until no pod uses its claim", not kept, not kept)


def _claim(change: Change) -> Loss:
    return Loss(f"claim {change.label}", "the apply waits until no pod uses it: end the running job first")


def _namespace(change: Change) -> Loss:
    return Loss(f"namespace {change.label}", "every object in it is deleted: jobs, claims, secrets", grave=True)


def _release(change: Change) -> Loss:
    work = ray.ray_work(change.before)
    if work:
        names = ", ".join(f"{each.kind} {each.name}" for each in work)
        return Loss(f"Helm release {change.label}", f"{names} is deleted; if it runs, it is lost")
    if "kuberay" in values.text(change.before, "chart"):
        return Loss(f"Helm release {change.label}", "no operator watches RayJobs meanwhile")
    return Loss(f"Helm release {change.label}", "every object that it brought is deleted")


def _network(change: Change) -> Loss:
    what = "network" if change.type.endswith("_network") else "subnetwork"
    return Loss(f"{what} {change.label}", "whatever is attached must go first, or the apply fails")


def _account(change: Change) -> Loss:
    return Loss(f"service account {change.label}", "its grants and keys are void, even under the same name")


def _service(change: Change) -> Loss:
    if values.flag(change.before, "disable_on_destroy") is False:
        return Loss(f"API {values.text(change.before, 'service')}", "it stays enabled")
    return Loss(f"API {values.text(change.before, 'service')}", "it is disabled for the whole project", grave=True)


def _connection(change: Change) -> Loss:
    return Loss(
        "private service access", "Managed Lustre is cut off; the producer may keep the peering for days", grave=True
    )


_OWN: dict[str, Callable[[Change], Loss]] = {
    "google_container_node_pool": _pool,
    "google_container_cluster": _cluster,
    "google_lustre_instance": _lustre,
    "google_storage_bucket": _bucket,
    "google_compute_network": _network,
    "google_compute_subnetwork": _network,
    "google_service_account": _account,
    "google_project_service": _service,
    "google_service_networking_connection": _connection,
    "kubernetes_persistent_volume": _volume,
    "kubernetes_persistent_volume_v1": _volume,
    "kubernetes_persistent_volume_claim": _claim,
    "kubernetes_persistent_volume_claim_v1": _claim,
    "kubernetes_namespace": _namespace,
    "kubernetes_namespace_v1": _namespace,
    "helm_release": _release,
}

LOSSES.update(_OWN)

# A cluster shows its pools, and the configuration of the first one's nodes.
MIRRORS["google_container_cluster"] = frozenset({"node_config", "node_pool"})
