"""Each guard that a plan takes away, and what each thing that goes away costs, in words."""

from __future__ import annotations

from typing import Any

import pytest

from groundplan.on_plans.protection import GUARDS
from review.plans import change, create, destroy, judged, replaced, slugs, update

BUCKET, POOL, CLUSTER = "google_storage_bucket.x", "google_container_node_pool.x", "google_container_cluster.x"

#: Type, path, guarded value, value without the guard, what then can happen.
LIFTED = [
    (CLUSTER, "deletion_protection", True, False, "Terraform may destroy it with the next plan"),
    ("google_alloydb_cluster.x", "deletion_protection", "true", "false", "Terraform may destroy it with the next plan"),
    ("google_x.x", "deletion_protection_enabled", True, False, "it may be destroyed with the next plan"),
    ("google_x.x", "lifecycle.prevent_destroy", True, None, "Terraform may destroy it"),
    (BUCKET, "force_destroy", False, True, "destroying the bucket deletes its objects too"),
    (BUCKET, "versioning.enabled", True, False, "overwritten and deleted objects cannot be had back"),
    (BUCKET, "retention_policy.retention_period", "86400", "86399", "objects may be deleted earlier"),
    (BUCKET, "retention_policy.retention_period", 86400, None, "objects may be deleted earlier"),
    (BUCKET, "soft_delete_policy.retention_duration_seconds", 604800, 0, "deleted objects are gone earlier"),
    (BUCKET, "uniform_bucket_level_access", True, False, "single objects can be made public"),
    (BUCKET, "public_access_prevention", "enforced", "inherited", "the bucket can be made public"),
    (CLUSTER, "enable_shielded_nodes", True, False, "nodes start without verified boot"),
    (POOL, "node_config.shielded_instance_config.enable_secure_boot", True, False, "unsigned kernel code can run"),
    (POOL, "node_config.workload_metadata_config.mode", "GKE_METADATA", "GCE_METADATA", "pods get the rights of the"),
    (
        "kubernetes_persistent_volume_v1.x",
        "spec.persistent_volume_reclaim_policy",
        "Retain",
        "Delete",
        "data goes with the claim",
    ),
    ("google_project_service.x", "disable_on_destroy", False, True, "destroying it disables the API for the project"),
]


def at(path: str, value: Any) -> dict[str, Any]:
    for step in reversed(path.split(".")[1:]):
        value = [{step: value}]
    return {"name": "x", path.partition(".")[0]: value}


def test_every_guard_is_tried() -> None:
    assert {path for _, path, *_ in LIFTED} == {guard.path for guard in GUARDS}


@pytest.mark.parametrize(("address", "path", "guarded", "bare", "risk"), LIFTED)
def test_a_guard_that_is_lifted(address: str, path: str, guarded: Any, bare: Any, risk: str) -> None:
    found = judged(update(address, at(path, guarded), at(path, bare)))
    (notice,) = [each for each in found.counting if each.rule == "protection-removed"]
    assert f"loses a guard: {path} " in notice.message
    assert notice.consequence.startswith(risk)
    assert str(notice.severity) == "warning"
    assert "protection-removed" not in slugs(judged(update(address, at(path, bare), at(path, guarded))))
    assert "protection-removed" not in slugs(judged(create(address, **at(path, bare))))


def test_a_guard_whose_new_value_is_unknown_is_not_lifted_yet() -> None:
    before, after = at("deletion_protection", True), at("deletion_protection", False)
    entry = update(CLUSTER, before, after, after_unknown={"deletion_protection": True})
    assert "protection-removed" not in slugs(judged(entry))


@pytest.mark.parametrize("environment", ["prod", "production"])
def test_a_prod_cluster_without_protection(environment: str) -> None:
    given = {"name": "x", "resource_labels": {"environment": environment}}
    assert "deletion-unprotected" in slugs(judged(create(CLUSTER, **given, deletion_protection=False)))
    assert "deletion-unprotected" not in slugs(judged(create(CLUSTER, **given, deletion_protection=True)))
    assert "deletion-unprotected" not in slugs(judged(create(CLUSTER, **given)))


def test_a_window_that_is_taken_away() -> None:
    window = {"maintenance_policy": [{"daily_maintenance_window": [{"start_time": "02:00"}]}]}
    found = judged(update(CLUSTER, {"name": "x", **window}, {"name": "x"}))
    assert [each.message for each in found.counting] == ["cluster x loses the maintenance window"]
    assert judged(update(CLUSTER, {"name": "x"}, {"name": "x", **window})).verdict == "safe"


GPUS = {"name": "gpu", "node_count": 2, "node_config": [{"machine_type": "a4-highgpu-8g"}]}
CPUS = {"name": "cpu", "node_count": 1, "node_config": [{"machine_type": "n2-standard-8"}]}
SCALED = {"name": "gpu", "autoscaling": [{"total_min_node_count": 0, "total_max_node_count": 3}]}
JOB = "m: {j: {apiVersion: ray.io/v1, kind: RayJob, metadata: {name: j}}}\n"

#: What goes, how it is called, what is lost, whether that is an error, and the kind of trouble.
LOST: list[tuple[str, dict[str, Any], str, str, str, str]] = [
    (POOL, GPUS, "GPU pool gpu", "2 nodes with 16 B200 GPUs are drained and deleted", "error", "destroy"),
    (POOL, {**GPUS, "node_count": 1}, "GPU pool gpu", "1 node with 8 B200 GPUs is drained", "error", "destroy"),
    (POOL, {**GPUS, "node_count": 0}, "node pool gpu", "it holds no nodes", "warning", "destroy"),
    (POOL, {**SCALED, **GPUS, **SCALED}, "GPU pool gpu", "up to 3 nodes with 24 B200 GPUs are", "error", "destroy"),
    (POOL, CPUS, "node pool cpu", "1 node is drained and deleted; pods on them are evicted", "warning", "destroy"),
    (CLUSTER, {"name": "c"}, "cluster c", "every pool, operator and object in it goes", "error", "destroy"),
    (
        "google_lustre_instance.x",
        {"instance_id": "l", "capacity_gib": "36000"},
        "Lustre instance l",
        "its 36,000 GiB and ALL DATA on it are deleted",
        "error",
        "data",
    ),
    (BUCKET, {"name": "b"}, "bucket b", "it is deleted, once it is empty", "error", "data"),
    (BUCKET, {"name": "b", "force_destroy": True}, "bucket b", "it and ALL OBJECTS in it", "error", "data"),
    (
        "kubernetes_persistent_volume_v1.x",
        {"metadata": [{"name": "v"}], "spec": [{"persistent_volume_reclaim_policy": "Retain"}]},
        "volume v",
        "the volume object goes; what it points to stays",
        "warning",
        "destroy",
    ),
    (
        "kubernetes_persistent_volume.x",
        {"metadata": [{"name": "v"}], "spec": [{"persistent_volume_reclaim_policy": "Delete"}]},
        "volume v",
        "the volume and its data are deleted",
        "error",
        "data",
    ),
    ("kubernetes_namespace_v1.x", {"metadata": [{"name": "n"}]}, "namespace n", "every object in", "error", "destroy"),
    ("google_service_account.x", {"account_id": "a"}, "service account a", "its grants and keys", "warning", "destroy"),
    ("google_compute_network.x", {"name": "n"}, "network n", "whatever is attached must", "warning", "destroy"),
    ("google_compute_subnetwork.x", {"name": "n"}, "subnetwork n", "whatever is attached", "warning", "destroy"),
    (
        "google_project_service.x",
        {"service": "lustre.googleapis.com", "disable_on_destroy": False},
        "API lustre.googleapis.com",
        "it stays enabled",
        "warning",
        "destroy",
    ),
    (
        "google_project_service.x",
        {"service": "lustre.googleapis.com"},
        "API lustre.googleapis.com",
        "it is disabled for the whole project",
        "error",
        "destroy",
    ),
    (
        "google_service_networking_connection.x",
        {"network": "n"},
        "private service access",
        "Managed Lustre is cut off",
        "error",
        "destroy",
    ),
    ("helm_release.x", {"name": "r", "values": [JOB]}, "Helm release r", "RayJob j is deleted", "warning", "destroy"),
    (
        "helm_release.x",
        {"name": "r", "chart": "kuberay-operator"},
        "Helm release r",
        "no operator watches RayJobs meanwhile",
        "warning",
        "destroy",
    ),
    ("helm_release.x", {"name": "r"}, "Helm release r", "every object that it brought", "warning", "destroy"),
    ("aws_db_instance.x", {"name": "d"}, "aws_db_instance d", "what it holds is deleted with it", "error", "data"),
    ("google_kms_crypto_key.x", {"name": "k"}, "key k", "what was encrypted with it can", "error", "data"),
    ("google_kms_key_ring.x", {"name": "k"}, "key ring k", "Google keeps it", "warning", "destroy"),
    ("google_compute_router.x", {"name": "r"}, "Cloud Router r", "its Cloud NAT and its routes", "warning", "destroy"),
    ("google_compute_router_nat.x", {"name": "n"}, "Cloud NAT n", "machines without a public", "warning", "destroy"),
    ("google_project.x", {"name": "p"}, "project p", "EVERYTHING in it goes", "error", "data"),
    ("azurerm_resource_group.x", {"name": "g"}, "azurerm_resource_group g", "EVERYTHING in it goes", "error", "data"),
    ("google_secret_manager_secret.x", {"secret_id": "s"}, "secret s", "its value is gone", "error", "data"),
    ("google_compute_firewall.x", {"name": "f", "deny": [{"protocol": "tcp"}]}, "firewall f",
     "what it denied is admitted", "warning", "destroy"),
    ("google_compute_firewall.x", {"name": "f", "allow": [{"protocol": "tcp"}]}, "firewall f",
     "what it admitted is cut off", "warning", "destroy"),
    ("google_compute_instance.x", {"name": "m", "machine_type": "a3-ultragpu-8g"}, "GPU instance m",
     "8 H200 GPUs and what is on its local", "error", "destroy"),
    ("google_compute_instance.x", {"name": "m", "machine_type": "n2-standard-8"}, "instance m",
     "it is gone, and with it what is on its local", "warning", "destroy"),
    ("kubernetes_manifest.x", {"manifest": {"kind": "CustomResourceDefinition", "metadata": {"name": "jobs.ray.io"}}},
     "CRD jobs.ray.io", "EVERY object of its kind", "error", "data"),
    ("helm_release.x", {"name": "r", "chart": "keda"}, "Helm release r", "no operator watches", "warning", "destroy"),
    ("google_storage_bucket_iam_member.x", {"bucket": "b", "role": "r", "member": "m"},
     "google_storage_bucket_iam_member x", "it is gone", "warning", "destroy"),
    ("aws_s3_bucket_notification.x", {"bucket": "b"}, "aws_s3_bucket_notification x", "it is gone", "warning",
     "destroy"),
    ("google_storage_notification.x", {"bucket": "b"}, "google_storage_notification x", "it is gone", "warning",
     "destroy"),
    ("aws_rds_cluster.x", {"name": "d"}, "aws_rds_cluster d", "what it holds is deleted with it", "error", "data"),
]  # fmt: skip


@pytest.mark.parametrize(("address", "values", "noun", "text", "severity", "category"), LOST)
def test_what_goes_with_it(
    address: str, values: dict[str, Any], noun: str, text: str, severity: str, category: str
) -> None:
    (notice,) = judged(destroy(address, **values)).counting
    assert notice.rule == "resource-destroyed"
    assert notice.message == f"{noun} is destroyed: the plan destroys it"
    assert notice.consequence.startswith(text)
    assert (str(notice.severity), str(notice.category)) == (severity, category)


@pytest.mark.parametrize(
    ("actions", "says"),
    [
        (["delete", "create"], "drained and deleted until the new one stands; a running RayJob is lost"),
        (["create", "delete"], "drained and deleted when the new one stands; a running RayJob is lost"),
    ],
)
def test_which_stands_first(actions: list[str], says: str) -> None:
    entry = change(POOL, actions, GPUS, {**GPUS, "name": "other"}, replace_paths=[["name"]])
    (notice,) = [each for each in judged(entry).counting if each.rule == "resource-replaced"]
    assert notice.consequence.endswith(says)


def test_markers_in_the_state_are_no_loss() -> None:
    entries = [replaced(f"{kind}.x", {"id": "1"}, {}) for kind in ("terraform_data", "null_resource")]
    assert judged(*entries).verdict == "safe"


def test_things_of_one_kind_that_go_for_one_cause_are_one_notice() -> None:
    routers = [destroy(f"google_compute_router.r{n}", name=f"r{n}") for n in range(3)]
    (notice,) = judged(*routers).counting
    assert notice.message.startswith("Cloud Router r0 and 2 more google_compute_router are destroyed")
    clusters = [destroy(f"google_container_cluster.c{n}", name=f"c{n}") for n in range(2)]
    (notice,) = judged(*clusters).counting
    assert notice.message.startswith("cluster c0 and 1 more google_container_cluster are destroyed")
    pools = [destroy(f"google_container_node_pool.p{n}", **{**GPUS, "name": f"p{n}"}) for n in range(3)]
    (notice,) = judged(*pools).counting
    assert notice.message.startswith("GPU pool p0 and 2 more google_container_node_pool are destroyed")
    assert notice.consequence.endswith("6 nodes and 48 B200 GPUs in all")
