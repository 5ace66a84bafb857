"""What trips the rules on plans that judge losses, secrets, openings and guards, and its near twin."""

from __future__ import annotations

from typing import Any

from review.plans import change, create, destroy, replaced, same, update, written

POOL = {
    "name": "gpu",
    "cluster": "c",
    "node_count": 2,
    "node_locations": ["us-central1-b"],
    "node_config": [
        {
            "machine_type": "a4-highgpu-8g",
            "disk_type": "hyperdisk-balanced",
            "guest_accelerator": [{"type": "nvidia-b200", "count": 8}],
            "ephemeral_storage_local_ssd_config": [{"local_ssd_count": 32}],
            "reservation_affinity": [
                {"consume_reservation_type": "SPECIFIC_RESERVATION", "values": ["projects/p/reservations/r"]}
            ],
        }
    ],
}
NODE = POOL["node_config"][0]  # type: ignore[index]
FIREWALL = {"name": "f", "network": "n", "direction": "INGRESS", "allow": [{"protocol": "tcp", "ports": ["443"]}]}
CLUSTER = {
    "name": "c",
    "control_plane_endpoints_config": [{"ip_endpoints_config": [{"enabled": False}]}],
    "deletion_protection": True,
}
BUCKET = {"name": "b", "versioning": [{"enabled": True}]}
LUSTRE = {"instance_id": "l", "capacity_gib": "36000", "per_unit_storage_throughput": "500"}
KUBERAY = {"name": "kuberay-operator", "chart": "kuberay-operator", "repository": "https://x", "version": "1.5.2"}
ROCE = {"name": "rdma", "mtu": 8896, "network_profile": "projects/p/global/networkProfiles/us-central1-b-vpc-roce"}


def pool(**changed: Any) -> dict[str, Any]:
    return {**POOL, **changed}


def node(**changed: Any) -> dict[str, Any]:
    return pool(node_config=[{**NODE, **changed}])


#: Rule -> (severity, what trips it, what does not).
RISK: dict[str, tuple[str, list[dict[str, Any]], list[dict[str, Any]]]] = {
    "resource-replaced": (
        "error",
        [replaced("google_lustre_instance.l", LUSTRE, {**LUSTRE, "location": "z"}, replace_paths=[["location"]])],
        [update("google_lustre_instance.l", {**LUSTRE, "description": "a"}, {**LUSTRE, "description": "b"})],
    ),
    "resource-destroyed": ("error", [destroy("google_container_node_pool.p", **POOL)], [create("a_b.c", name="x")]),
    "resource-forgotten": (
        "warning",
        [change("google_storage_bucket.b", ["forget"], BUCKET, None)],
        [same("google_storage_bucket.b", **BUCKET)],
    ),
    "secret-value": (
        "error",
        [create("helm_release.r", values=["env:\n- name: HF_TOKEN\n  value: letmein\n"])],
        [create("helm_release.r", values=["env:\n- name: HF_TOKEN\n  valueFrom: {secretKeyRef: {name: hf}}\n"])],
    ),
    "secret-in-state": (
        "warning",
        [create("kubernetes_secret_v1.s", data={"token": "x"}, metadata=[{"name": "s"}])],
        [create("kubernetes_secret_v1.s", data=None, data_wo_revision=1, metadata=[{"name": "s"}])],
    ),
    "firewall-open": (
        "error",
        [create("google_compute_firewall.f", **FIREWALL, source_ranges=["0.0.0.0/0"])],
        [create("google_compute_firewall.f", **FIREWALL, source_ranges=["203.0.113.0/24"])],
    ),
    "firewall-ports": (
        "error",
        [
            create(
                "google_compute_firewall.f",
                **{**FIREWALL, "allow": [{"protocol": "tcp"}]},
                source_ranges=["10.9.0.0/20"],
            )
        ],
        [create("google_compute_firewall.f", **FIREWALL, source_ranges=["10.9.0.0/20"])],
    ),
    "firewall-roce": (
        "error",
        [
            create("google_compute_network.r", **ROCE),
            create("google_compute_firewall.f", **{**FIREWALL, "network": "rdma"}, source_ranges=["10.0.0.0/24"]),
        ],
        [
            create("google_compute_network.r", **ROCE),
            create("google_compute_firewall.f", **FIREWALL, source_ranges=["10.0.0.0/24"]),
        ],
    ),
    "open-control-plane": (
        "error",
        [
            create(
                "google_container_cluster.c",
                **CLUSTER,
                master_authorized_networks_config=[{"cidr_blocks": [{"cidr_block": "0.0.0.0/0"}]}],
            )
        ],
        [
            create(
                "google_container_cluster.c",
                **CLUSTER,
                master_authorized_networks_config=[{"cidr_blocks": [{"cidr_block": "10.0.0.0/8"}]}],
            )
        ],
    ),
    "public-endpoint-unrestricted": (
        "error",
        [create("google_container_cluster.c", name="c")],
        [create("google_container_cluster.c", **CLUSTER)],
    ),
    "nodes-public": (
        "warning",
        [create("google_container_node_pool.p", **pool(network_config=[{"enable_private_nodes": False}]))],
        [create("google_container_node_pool.p", **pool(network_config=[{"enable_private_nodes": True}]))],
    ),
    "public-address": (
        "warning",
        [create("google_compute_address.a", name="a", address_type="EXTERNAL")],
        [create("google_compute_address.a", name="a", address_type="INTERNAL")],
    ),
    "ingress-open": (
        "error",
        [create("aws_security_group.s", name="s", ingress=[{"cidr_blocks": ["0.0.0.0/0"]}])],
        [create("aws_security_group.s", name="s", ingress=[{"cidr_blocks": ["10.0.0.0/8"]}])],
    ),
    "iam-public": (
        "error",
        [create("google_pubsub_topic_iam_member.m", topic="t", role="roles/viewer", member="allUsers")],
        [create("google_pubsub_topic_iam_member.m", topic="t", role="roles/viewer", member="user:a@example.com")],
    ),
    "bucket-public": (
        "error",
        [create("google_storage_bucket_iam_binding.m", bucket="b", role="roles/x", members=["allAuthenticatedUsers"])],
        [create("google_storage_bucket_iam_binding.m", bucket="b", role="roles/x", members=["user:a@example.com"])],
    ),
    "iam-broad": (
        "error",
        [create("google_project_iam_member.m", project="p", role="roles/owner", member="user:a@example.com")],
        [
            create(
                "google_project_iam_member.m", project="p", role="roles/logging.logWriter", member="user:a@example.com"
            )
        ],
    ),
    "iam-authoritative": (
        "warning",
        [create("google_project_iam_binding.m", project="p", role="roles/x", members=["user:a@example.com"])],
        [create("google_project_iam_member.m", project="p", role="roles/x", member="user:a@example.com")],
    ),
    "service-account-key": (
        "error",
        [create("google_service_account_key.k", service_account_id="projects/p/serviceAccounts/a@p.example")],
        [create("google_service_account.k", account_id="a")],
    ),
    "protection-removed": (
        "warning",
        [update("google_storage_bucket.b", BUCKET, {**BUCKET, "versioning": [{"enabled": False}]})],
        [update("google_storage_bucket.b", {**BUCKET, "versioning": [{"enabled": False}]}, BUCKET)],
    ),
    "guarded": (
        "error",
        [replaced("google_container_cluster.c", CLUSTER, {**CLUSTER, "name": "d"}, replace_paths=[["name"]])],
        [
            replaced(
                "google_container_cluster.c",
                {**CLUSTER, "deletion_protection": False},
                {**CLUSTER, "name": "d"},
                replace_paths=[["name"]],
            )
        ],
    ),
    "deletion-unprotected": (
        "warning",
        [
            create(
                "google_container_cluster.c",
                **{**CLUSTER, "deletion_protection": False, "resource_labels": {"environment": "prod"}},
            )
        ],
        [
            create(
                "google_container_cluster.c",
                **{**CLUSTER, "deletion_protection": False, "resource_labels": {"environment": "dev"}},
            )
        ],
    ),
    "maintenance-guard": (
        "warning",
        [
            update(
                "google_container_cluster.c",
                {**CLUSTER, "maintenance_policy": [{"maintenance_exclusion": [{"exclusion_name": "run"}]}]},
                {**CLUSTER, "maintenance_policy": [{"maintenance_exclusion": []}]},
            )
        ],
        [
            update(
                "google_container_cluster.c",
                {**CLUSTER, "maintenance_policy": [{"maintenance_exclusion": []}]},
                {**CLUSTER, "maintenance_policy": [{"maintenance_exclusion": [{"exclusion_name": "run"}]}]},
            )
        ],
    ),
    "control-plane-access": (
        "warning",
        [
            update(
                "google_container_cluster.c",
                CLUSTER,
                {**CLUSTER, "master_authorized_networks_config": [{"cidr_blocks": [{"cidr_block": "192.0.2.0/24"}]}]},
            )
        ],
        [
            update(
                "google_container_cluster.c",
                {**CLUSTER, "master_authorized_networks_config": [{"cidr_blocks": [{"cidr_block": "192.0.2.0/24"}]}]},
                CLUSTER,
            )
        ],
    ),
}

RISK |= {
    "unjudged-update": (
        "warning",
        [update("aws_db_instance.d", {"identifier": "d", "multi_az": True}, {"identifier": "d", "multi_az": False})],
        [update("aws_db_instance.d", {"identifier": "d", "tags": {"a": "b"}}, {"identifier": "d", "tags": {"a": "c"}})],
    ),
    "unknown-until-apply": (
        "warning",
        [change("google_compute_firewall.f", ["create"], None, FIREWALL, after_unknown={"source_ranges": True})],
        [
            change(
                "google_compute_firewall.f",
                ["create"],
                None,
                {**FIREWALL, "source_ranges": ["10.0.0.0/8"]},
                after_unknown={"self_link": True},
            )
        ],
    ),
    "unjudged-access": (
        "warning",
        [
            create(
                "aws_iam_role_policy_attachment.a", role="r", policy_arn="arn:aws:iam::aws:policy/AdministratorAccess"
            )
        ],
        [create("aws_cloudwatch_log_group.g", name="g")],
    ),
}

#: Rules on a plan as such: what its JSON says that trips it, and what does not.
ON_WHOLE_PLANS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plan-errored": ({"errored": True, "complete": True}, {"errored": False, "complete": True}),
    "changed-outside": (
        {
            "resource_drift": [update("google_compute_firewall.f", {"priority": 1000}, {"priority": 1})],
            "configuration": written("google_compute_firewall.f", priority={"constant_value": 1000}),
        },
        {
            "resource_drift": [update("google_compute_firewall.f", {"priority": 1000}, {"priority": 1000, "x": []})],
            "configuration": written("google_compute_firewall.f", priority={"constant_value": 1000}),
        },
    ),
    "check-failed": (
        {"checks": [{"address": {"to_display": "check.health"}, "status": "fail"}]},
        {"checks": [{"address": {"to_display": "check.health"}, "status": "pass"}]},
    ),
    "change-deferred": (
        {"deferred_changes": [{"reason": "provider_config_unknown", "resource_change": {"address": "a_b.c"}}]},
        {"deferred_changes": []},
    ),
    "action-invoked": (
        {"action_invocations": [{"address": "action.aws_lambda_invoke.clean", "type": "aws_lambda_invoke"}]},
        {"action_invocations": []},
    ),
    "output-revealed": (
        {"output_changes": {"o": {"actions": ["update"], "before_sensitive": True, "after_sensitive": False}}},
        {"output_changes": {"o": {"actions": ["update"], "before_sensitive": True, "after_sensitive": True}}},
    ),
    "plan-incomplete": ({"errored": False, "complete": False}, {"errored": False, "complete": True}),
}
