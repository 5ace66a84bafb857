"""What trips the rules on changes in place and on who reaches what, and its near twin."""

from __future__ import annotations

from typing import Any

from review.cases_of_risk import CLUSTER, FIREWALL, POOL, node, pool
from review.plans import create, same, update

Object = dict[str, Any]

CLUSTER_AT, POOL_AT, WALL = "google_container_cluster.c", "google_container_node_pool.p", "google_compute_firewall.f"
PODS = [{"range_name": "pods", "ip_cidr_range": "10.4.0.0/14"}]
SUBNETWORK = {"name": "nodes", "ip_cidr_range": "10.0.0.0/20", "secondary_ip_range": PODS}
MOVED = {**SUBNETWORK, "secondary_ip_range": [{"range_name": "pods", "ip_cidr_range": "10.12.0.0/14"}]}
USES = {**CLUSTER, "ip_allocation_policy": [{"cluster_secondary_range_name": "pods"}]}


def wall(**more: Any) -> Object:
    return {**FIREWALL, "source_ranges": ["10.0.0.0/16"], **more}


def listed(*ranges: str) -> Object:
    """A cluster whose control plane admits these ranges."""
    blocks = [{"cidr_block": each, "display_name": ""} for each in ranges]
    return {**CLUSTER, "master_authorized_networks_config": [{"cidr_blocks": blocks}]}


#: Rule -> (severity, what trips it, what does not).
PLACE: dict[str, tuple[str, list[Object], list[Object]]] = {
    "firewall-widened": (
        "warning",
        [update(WALL, wall(), wall(source_ranges=["10.0.0.0/16", "10.9.0.0/24"]))],
        [update(WALL, wall(), wall(source_ranges=["10.0.7.0/24"]))],
    ),
    "firewall-narrowed": (
        "warning",
        [update(WALL, wall(), wall(source_ranges=["10.0.7.0/24"]))],
        [update(WALL, wall(), wall(source_ranges=["10.0.0.0/8"]))],
    ),
    "control-plane-closed": (
        "warning",
        [update(CLUSTER_AT, listed("192.0.2.0/24", "198.51.100.0/24"), listed("192.0.2.0/24"))],
        [update(CLUSTER_AT, listed("192.0.2.0/24"), listed("192.0.2.0/24", "198.51.100.0/24"))],
    ),
    "control-plane-upgrade": (
        "warning",
        [update(CLUSTER_AT, {**CLUSTER, "master_version": "1.35.2-gke.1"}, {**CLUSTER, "min_master_version": "1.36"})],
        [update(CLUSTER_AT, {**CLUSTER, "master_version": "1.35.2-gke.1"}, {**CLUSTER, "min_master_version": "1.35"})],
    ),
    "release-channel": (
        "warning",
        [
            update(
                CLUSTER_AT,
                {**CLUSTER, "release_channel": [{"channel": "REGULAR"}]},
                {**CLUSTER, "release_channel": [{"channel": "RAPID"}]},
            )
        ],
        [update(CLUSTER_AT, CLUSTER, {**CLUSTER, "resource_labels": {"a": "b"}})],
    ),
    "network-mtu": (
        "warning",
        [update("google_compute_network.n", {"name": "n", "mtu": 8896}, {"name": "n", "mtu": 1460})],
        [update("google_compute_network.n", {"name": "n", "mtu": 8896}, {"name": "n", "mtu": 8896, "x": 1})],
    ),
    "range-in-use": (
        "error",
        [same(CLUSTER_AT, **USES), update("google_compute_subnetwork.s", SUBNETWORK, MOVED)],
        [
            same(CLUSTER_AT, **USES),
            update(
                "google_compute_subnetwork.s",
                SUBNETWORK,
                {**SUBNETWORK, "secondary_ip_range": [*PODS, {"range_name": "more", "ip_cidr_range": "10.12.0.0/14"}]},
            ),
        ],
    ),
    "pool-zones": (
        "warning",
        [update(POOL_AT, POOL, pool(node_locations=["us-central1-c"]))],
        [update(POOL_AT, POOL, pool(node_locations=["us-central1-b"], node_count=3))],
    ),
    "autoscaling-off": (
        "warning",
        [
            update(
                POOL_AT,
                pool(autoscaling=[{"total_min_node_count": 0, "total_max_node_count": 2}], node_count=0),
                pool(autoscaling=[], node_count=2),
            )
        ],
        [update(POOL_AT, POOL, pool(node_count=4))],
    ),
    "node-taints": (
        "warning",
        [update(POOL_AT, POOL, node(taint=[{"key": "team", "value": "x", "effect": "NO_SCHEDULE"}]))],
        [update(POOL_AT, POOL, node(labels={"a": "b"}))],
    ),
    "peering": (
        "warning",
        [
            create(
                "google_compute_network_peering.p", name="p", network="a", peer_network="projects/x/global/networks/b"
            )
        ],
        [same("google_compute_network_peering.p", name="p", network="a", peer_network="b")],
    ),
    "external-login": (
        "warning",
        [
            create(
                "google_iam_workload_identity_pool_provider.g",
                name="g",
                oidc=[{"issuer_uri": "https://token.actions.githubusercontent.com"}],
            )
        ],
        [create("google_service_account.a", account_id="a")],
    ),
    "iam-external": (
        "warning",
        [
            create(
                "google_storage_bucket_iam_member.m",
                bucket="b",
                role="roles/storage.objectViewer",
                member="principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/ci/*",
            )
        ],
        [
            create(
                "google_storage_bucket_iam_member.m",
                bucket="b",
                role="roles/storage.objectViewer",
                member="serviceAccount:a@p.iam.gserviceaccount.com",
            )
        ],
    ),
}
