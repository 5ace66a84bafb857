"""What trips the rules on plans that judge shape, size, images and jobs, and its near twin."""

from __future__ import annotations

from typing import Any

from review.cases_of_risk import CLUSTER, KUBERAY, LUSTRE, POOL, ROCE, node, pool
from review.plans import create, same, update

RUNS = "{{apiVersion: v1, kind: {kind}, metadata: {{name: {name}}}, spec: {{containers: [{{image: '{image}'}}]}}}}"


QUEUE = {
    "name": "queue",
    "chart": "./chart",
    "values": ["manifests: {q: {apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: rl-gpus}}}\n"],
}


def job(name: str, steps: int) -> dict[str, Any]:
    values = f"manifests:\n  job:\n    apiVersion: ray.io/v1\n    kind: RayJob\n    metadata: {{name: {name}}}\n"
    return {"name": "job", "chart": "./chart", "values": [f"{values}    spec: {{entrypoint: run {steps}}}\n"]}


#: Rule -> (severity, what trips it, what does not).
SIZE: dict[str, tuple[str, list[dict[str, Any]], list[dict[str, Any]]]] = {
    "node-count-mode": (
        "error",
        [create("google_container_node_pool.p", **pool(autoscaling=[{"min_node_count": 0, "max_node_count": 2}]))],
        [create("google_container_node_pool.p", **POOL)],
    ),
    "auto-upgrade-channel": (
        "error",
        [
            same("google_container_cluster.c", **CLUSTER, release_channel=[{"channel": "REGULAR"}]),
            create("google_container_node_pool.p", **pool(management=[{"auto_upgrade": False}])),
        ],
        [
            same("google_container_cluster.c", **CLUSTER, release_channel=[{"channel": "REGULAR"}]),
            create("google_container_node_pool.p", **pool(management=[{"auto_upgrade": True}])),
        ],
    ),
    "placement-conflict": (
        "error",
        [create("google_container_node_pool.p", **pool(placement_policy=[{"type": "COMPACT"}]))],
        [create("google_container_node_pool.p", **POOL)],
    ),
    "reservation-missing": (
        "error",
        [
            create(
                "google_container_node_pool.p",
                **node(reservation_affinity=[{"consume_reservation_type": "SPECIFIC_RESERVATION"}]),
            )
        ],
        [create("google_container_node_pool.p", **POOL)],
    ),
    "accelerator-machine": (
        "error",
        [create("google_container_node_pool.p", **node(guest_accelerator=[{"type": "nvidia-h200-141gb", "count": 8}]))],
        [create("google_container_node_pool.p", **POOL)],
    ),
    "local-ssds": (
        "error",
        [create("google_container_node_pool.p", **node(ephemeral_storage_local_ssd_config=[{"local_ssd_count": 16}]))],
        [create("google_container_node_pool.p", **POOL)],
    ),
    "gpu-disk-type": (
        "error",
        [create("google_container_node_pool.p", **node(disk_type="pd-balanced"))],
        [create("google_container_node_pool.p", **POOL)],
    ),
    "roce-mtu": (
        "error",
        [create("google_compute_network.r", **{**ROCE, "mtu": 1460})],
        [create("google_compute_network.r", **ROCE)],
    ),
    "roce-zone": (
        "error",
        [
            create("google_compute_network.r", **ROCE),
            create(
                "google_container_node_pool.p",
                **pool(
                    node_locations=["us-central1-c"],
                    network_config=[{"additional_node_network_configs": [{"network": "rdma"}]}],
                ),
            ),
        ],
        [
            create("google_compute_network.r", **ROCE),
            create(
                "google_container_node_pool.p",
                **pool(network_config=[{"additional_node_network_configs": [{"network": "rdma"}]}]),
            ),
        ],
    ),
    "lustre-capacity-least": (
        "error",
        [create("google_lustre_instance.l", **{**LUSTRE, "capacity_gib": "9000"})],
        [create("google_lustre_instance.l", **LUSTRE)],
    ),
    "lustre-throughput": (
        "error",
        [create("google_lustre_instance.l", **{**LUSTRE, "per_unit_storage_throughput": "300"})],
        [create("google_lustre_instance.l", **LUSTRE)],
    ),
    "lustre-shrinks": (
        "error",
        [update("google_lustre_instance.l", LUSTRE, {**LUSTRE, "capacity_gib": "18000"})],
        [update("google_lustre_instance.l", LUSTRE, {**LUSTRE, "description": "d"})],
    ),
    "lustre-grows": (
        "warning",
        [update("google_lustre_instance.l", LUSTRE, {**LUSTRE, "capacity_gib": "54000"})],
        [update("google_lustre_instance.l", LUSTRE, {**LUSTRE, "description": "d"})],
    ),
    "machine-type-in-place": (
        "error",
        [update("google_container_node_pool.p", POOL, node(machine_type="a3-ultragpu-8g"))],
        [update("google_container_node_pool.p", POOL, pool(node_count=2, labels={}))],
    ),
    "gpu-capacity-grows": (
        "warning",
        [update("google_container_node_pool.p", POOL, pool(node_count=3))],
        [create("google_container_node_pool.p", **POOL)],
    ),
    "capacity-shrinks": (
        "warning",
        [update("google_container_node_pool.p", POOL, pool(node_count=1))],
        [update("google_container_node_pool.p", POOL, pool(labels={}))],
    ),
    "nodes-recreated": (
        "warning",
        [update("google_container_node_pool.p", node(image_type="COS"), node(image_type="UBUNTU"))],
        [update("google_container_node_pool.p", POOL, pool(upgrade_settings=[{"max_surge": 1}]))],
    ),
    "crd-upgrade": (
        "warning",
        [update("helm_release.k", KUBERAY, {**KUBERAY, "version": "1.6.2"})],
        [update("helm_release.k", KUBERAY, {**KUBERAY, "timeout": 3})],
    ),
    "job-restarts": (
        "warning",
        [update("helm_release.j", job("a-11111111", 1), job("a-22222222", 2))],
        [update("helm_release.j", job("a-11111111", 1), {**job("a-11111111", 1), "timeout": 4})],
    ),
    "job-image": (
        "warning",
        [create("helm_release.j", name="j", values=[RUNS.format(kind="RayJob", name="j", image="r:5000/x:master")])],
        [create("helm_release.j", name="j", values=[RUNS.format(kind="RayJob", name="j", image="r:5000/x:v1")])],
    ),
    "gib-image-floating": (
        "warning",
        [create("helm_release.g", name="g", values=[RUNS.format(kind="DaemonSet", name="gib", image="r/gib")])],
        [create("helm_release.g", name="g", values=[RUNS.format(kind="DaemonSet", name="gib", image="r/gib:v1.1.0")])],
    ),
    "image-floating": (
        "warning",
        [create("helm_release.o", name="o", values=["image: {repository: r/operator, tag: nightly}"])],
        [create("helm_release.o", name="o", values=["image: {repository: r/operator, tag: v1.6.2}"])],
    ),
    "perpetual-diff": (
        "warning",
        [update("google_compute_network.n", {"tags": ["a", "b"], "x": ""}, {"tags": ["b", "a"], "x": None})],
        [update("google_compute_network.n", {"tags": ["a", "b"]}, {"tags": ["b", "c"]})],
    ),
    "queue-removed": (
        "warning",
        [update("helm_release.q", QUEUE, {**QUEUE, "values": ["manifests: {}\n"]})],
        [update("helm_release.q", QUEUE, {**QUEUE, "timeout": 3})],
    ),
}
