"""What it means that a resource goes away, in the words of the site: nodes, GPUs, jobs, data."""

from __future__ import annotations

from collections.abc import Callable

from groundplan.on_plans import capacity, ray
from plan_review import helm_values, values
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
            f"{nodes} with {gpus_of(pool)} {verb} drained and deleted{_until(change)}; a running RayJob is lost"
            f"{_fabric(change)}",
            grave=True,
            totals=(("node", pool.most), (f"{short_gpu(pool.gpu)} GPU", pool.gpus)),
        )
    lost = "pods on them are evicted (the Ray head and operators too: a running RayJob is lost)"
    return Loss(f"node pool {change.label}", f"{nodes} {verb} drained and deleted; {lost}")


def managed_fabric(pool: object) -> bool:
    """Whether GKE makes the networks of a pool's fast NICs itself (managed DRANET)."""
    return bool(values.text(pool, "network_config.accelerator_network_profile"))


def _fabric(change: Change) -> str:
    """Whose the fabric is from now on, where a replacement changes that."""
    if change.action is not Action.REPLACE or managed_fabric(change.before) == managed_fabric(change.after):
        return ""
    if managed_fabric(change.after):
        return "; the fabric is now GKE's: it makes the networks of the fast NICs, and pods take NICs by claims"
    return "; the fabric is now the site's own: its networks must stand first, and pods name NICs by annotations"


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
    chart = values.last_part(values.text(change.before, "chart"))
    if "kuberay" in chart:
        return Loss(f"Helm release {change.label}", "no operator watches RayJobs meanwhile")
    if "crd" in chart:
        text = "EVERY object of the kinds that it defines is deleted with it, unless it keeps its CRDs"
        return Loss(f"Helm release {change.label}", text, grave=True)
    if "operator" in chart or chart in _OPERATORS:
        text = "no operator watches its objects meanwhile; if it brings its CRDs as templates, all their objects go"
        return Loss(f"Helm release {change.label}", text)
    return Loss(f"Helm release {change.label}", "every object that it brought is deleted")


def _network(change: Change) -> Loss:
    what = "network" if change.type.endswith("_network") else "subnetwork"
    return Loss(f"{what} {change.label}", "whatever is attached must go first, or the apply fails")


def _nat(change: Change) -> Loss:
    text = "machines without a public address reach nothing outside: no image is pulled, no package is loaded"
    return Loss(f"Cloud NAT {change.label}", text + _until(change))


def _router(change: Change) -> Loss:
    text = "its Cloud NAT and its routes go with it: machines without a public address reach nothing outside"
    return Loss(f"Cloud Router {change.label}", text + _until(change))


def _firewall(change: Change) -> Loss:
    if values.blocks(change.before, "deny"):
        text = "what it denied is admitted, where another rule allows it"
    else:
        text = "what it admitted is cut off, where no other rule allows it"
    return Loss(f"firewall {change.label}", text + _until(change))


def _project(change: Change) -> Loss:
    what = f"{change.type.removeprefix('google_')} {change.label}"
    return Loss(what, "EVERYTHING in it goes: clusters, buckets, disks, accounts", grave=True, data=True)


def _key(change: Change) -> Loss:
    if change.type.endswith("key_ring"):
        return Loss(f"key ring {change.label}", "Google keeps it for good; no state knows it any more")
    text = "what was encrypted with it can be read by nobody any more, once its versions are destroyed"
    return Loss(f"key {change.label}", text, grave=True, data=True)


def _secret(change: Change) -> Loss:
    return Loss(
        f"secret {change.label}",
        "its value is gone; whatever reads it fails at its next start",
        grave=True,
        data=True,
    )


def _instance(change: Change) -> Loss:
    held = capacity.instance_gpus(Resource(change.stack, change.address, change.type, change.before))
    noun = f"{change.type.removeprefix('google_compute_').replace('_', ' ')} {change.label}"
    if not held:
        return Loss(noun, f"it is gone{_until(change)}, and with it what is on its local and auto-deleted disks")
    gpus = count(held.amount, f"{short_gpu(held.kind)} GPU")
    text = f"{gpus} and what is on its local and auto-deleted disks are gone{_until(change)}; what runs there is lost"
    return Loss(f"GPU {noun}", text, grave=True, totals=((f"{short_gpu(held.kind)} GPU", held.amount),))


def _manifest(change: Change) -> Loss:
    manifest = values.get(change.before, "manifest") or helm_values.parse(values.text(change.before, "yaml_body"))
    manifest = manifest if isinstance(manifest, dict) else {}
    kind, name = str(manifest.get("kind") or change.type), values.text(manifest, "metadata.name") or change.label
    if kind == "CustomResourceDefinition":
        return Loss(
            f"CRD {name}", "EVERY object of its kind, in all namespaces, is deleted with it", grave=True, data=True
        )
    return Loss(f"{kind} {name}", f"it is deleted{_until(change)}")


def _peering(change: Change) -> Loss:
    text = "the two networks no longer reach each other; what is mounted or called across is cut off"
    return Loss(f"peering {change.label}", text + _until(change))


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


#: Charts that bring an operator and do not say so in their name.
_OPERATORS = frozenset({"kueue", "jobset", "lws", "cert-manager", "argo-cd", "karpenter", "keda", "external-secrets"})

_OWN: dict[str, Callable[[Change], Loss]] = {
    "google_container_node_pool": _pool,
    "google_container_cluster": _cluster,
    "google_lustre_instance": _lustre,
    "google_storage_bucket": _bucket,
    "google_compute_network": _network,
    "google_compute_subnetwork": _network,
    "google_compute_router": _router,
    "google_compute_router_nat": _nat,
    "google_compute_firewall": _firewall,
    "google_compute_network_peering": _peering,
    "google_compute_instance": _instance,
    "google_compute_instance_template": _instance,
    "google_compute_instance_from_template": _instance,
    "google_project": _project,
    "google_folder": _project,
    "google_kms_crypto_key": _key,
    "google_kms_crypto_key_version": _key,
    "google_kms_key_ring": _key,
    "google_secret_manager_secret": _secret,
    "google_secret_manager_secret_version": _secret,
    "kubernetes_secret": _secret,
    "kubernetes_secret_v1": _secret,
    "kubernetes_manifest": _manifest,
    "kubectl_manifest": _manifest,
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
