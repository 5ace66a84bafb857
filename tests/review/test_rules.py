"""Each rule of plans: one input that trips it, and its mended twin that does not."""

from __future__ import annotations

from typing import Any

import pytest

from groundplan.on_plans.assess import plan_rules
from plan_review import text
from review.plans import change, create, destroy, document, judged, replaced, same, slugs, update

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
QUEUE = {
    "name": "queue",
    "chart": "./chart",
    "values": ["manifests: {q: {apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: rl-gpus}}}\n"],
}
RUNS = "{{apiVersion: v1, kind: {kind}, metadata: {{name: {name}}}, spec: {{containers: [{{image: '{image}'}}]}}}}"
ROCE = {"name": "rdma", "mtu": 8896, "network_profile": "projects/p/global/networkProfiles/us-central1-b-vpc-roce"}


def pool(**changed: Any) -> dict[str, Any]:
    return {**POOL, **changed}


def node(**changed: Any) -> dict[str, Any]:
    return pool(node_config=[{**NODE, **changed}])


def job(name: str, steps: int) -> dict[str, Any]:
    values = f"manifests:\n  job:\n    apiVersion: ray.io/v1\n    kind: RayJob\n    metadata: {{name: {name}}}\n"
    return {"name": "job", "chart": "./chart", "values": [f"{values}    spec: {{entrypoint: run {steps}}}\n"]}


#: Rule -> (severity, what trips it, what does not).
TABLE: dict[str, tuple[str, list[dict[str, Any]], list[dict[str, Any]]]] = {
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
    "queue-removed": (
        "warning",
        [update("helm_release.q", QUEUE, {**QUEUE, "values": ["manifests: {}\n"]})],
        [update("helm_release.q", QUEUE, {**QUEUE, "timeout": 3})],
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
}

#: Rules on a plan as such: what its JSON says that trips it, and what does not.
ON_WHOLE_PLANS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plan-errored": ({"errored": True, "complete": True}, {"errored": False, "complete": True}),
    "plan-incomplete": ({"errored": False, "complete": False}, {"errored": False, "complete": True}),
}


def test_every_rule_is_in_the_table() -> None:
    assert set(TABLE) | set(ON_WHOLE_PLANS) == set(plan_rules())


@pytest.mark.parametrize("slug", ON_WHOLE_PLANS)
def test_a_rule_on_a_plan_as_such(slug: str) -> None:
    bad, good = ON_WHOLE_PLANS[slug]
    assert set(slugs(judged(more=bad))) == {slug}
    assert slugs(judged(more=good)) == {}


@pytest.mark.parametrize("slug", TABLE)
def test_a_rule_is_tripped_and_not_tripped(slug: str) -> None:
    severity, bad, good = TABLE[slug]
    assert slugs(judged(*bad)).get(slug) == severity
    assert slug not in slugs(judged(*good))


@pytest.mark.parametrize("slug", TABLE)
def test_a_finding_says_what_and_how_to_mend_it(slug: str) -> None:
    (notice, *_) = [each for each in judged(*TABLE[slug][1]).counting if each.rule == slug]
    assert notice.message
    assert notice.hint
    assert notice.address
    assert notice.rule == slug


def test_an_errored_plan_is_not_called_incomplete_too() -> None:
    assert slugs(judged(more={"errored": True, "complete": False})) == {"plan-errored": "error"}
    assert slugs(judged(more={"complete": False})) == {"plan-incomplete": "warning"}


def test_what_was_so_before_does_not_weigh() -> None:
    opened = {**FIREWALL, "source_ranges": ["0.0.0.0/0"]}
    result = judged(same("google_compute_firewall.f", **opened))
    assert result.verdict == "safe"
    assert [(each.rule, each.standing) for each in result.notices] == [("firewall-open", True)]
    wider = judged(update("google_compute_firewall.f", {**opened, "source_ranges": ["10.0.0.0/8"]}, opened))
    assert wider.verdict == "dangerous"


def test_an_ignored_rule_stays_in_the_report_and_does_not_weigh() -> None:
    result = judged(destroy("google_container_node_pool.p", **POOL), ignores={"resource-destroyed": "moved away"})
    assert result.verdict == "safe"
    assert [each.ignored for each in result.notices] == ["moved away"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("https://www.googleapis.com/compute/v1/projects/p/global/networks/n", "projects/p/global/networks/n"),
        ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00Z"),
        ("REGULAR", "regular"),
        (None, ""),
        ([], None),
        ("16", 16),
        (True, "true"),
    ],
)
def test_another_notation_is_suspected_to_come_back(before: Any, after: Any) -> None:
    assert "perpetual-diff" in slugs(judged(update("a_thing.x", {"v": before}, {"v": after})))


@pytest.mark.parametrize(("before", "after"), [("a", "b"), (1, 2), (True, False), (None, "x"), (["a"], ["a", "b"])])
def test_another_value_is_not(before: Any, after: Any) -> None:
    assert "perpetual-diff" not in slugs(judged(update("a_thing.x", {"v": before}, {"v": after})))


def test_what_is_not_known_yet_is_no_perpetual_diff() -> None:
    entry = update("a_thing.x", {"v": "", "id": "1"}, {"v": None}, after_unknown={"id": True})
    assert "perpetual-diff" not in slugs(judged(entry))


def test_roles_that_administer_a_project_are_a_decision_and_those_on_one_thing_are_not() -> None:
    member = {"role": "roles/storage.objectAdmin", "member": "user:a@example.com"}
    assert slugs(judged(create("google_project_iam_member.m", project="p", **member))) == {"iam-broad": "warning"}
    assert slugs(judged(create("google_storage_bucket_iam_member.m", bucket="b", **member))) == {}


def test_a_policy_document_is_read() -> None:
    data = '{"bindings": [{"role": "roles/editor", "members": ["group:all@example.com"]}]}'
    found = slugs(judged(create("google_project_iam_policy.p", project="p", policy_data=data)))
    assert found == {"iam-broad": "error", "iam-authoritative": "warning"}


def test_a_firewall_without_a_source_admits_everyone() -> None:
    (notice, *_) = judged(create("google_compute_firewall.f", **FIREWALL)).counting
    assert (notice.rule, "because it names no source" in notice.message) == ("firewall-open", True)
    unknown = change("google_compute_firewall.f", ["create"], None, FIREWALL, after_unknown={"source_ranges": True})
    assert judged(unknown).verdict == "safe"


def test_the_example_that_opened_all_ports_by_a_key_too_high_is_caught() -> None:
    """cluster-toolkit's example: `ports` beside `allow`, dropped by Terraform."""
    rule = {**FIREWALL, "allow": [{"protocol": "tcp", "ports": []}], "source_ranges": ["10.9.0.0/20"]}
    subnetwork = create("google_compute_subnetwork.s", name="s", ip_cidr_range="10.9.0.0/20")
    assert slugs(judged(subnetwork, create("google_compute_firewall.f", **rule))) == {"firewall-ports": "error"}


def test_all_ports_among_own_ranges_are_no_opening() -> None:
    rule = {**FIREWALL, "allow": [{"protocol": "tcp", "ports": ["0-65535"]}], "source_ranges": ["10.9.0.0/24"]}
    subnetwork = create("google_compute_subnetwork.s", name="s", ip_cidr_range="10.9.0.0/20")
    assert judged(subnetwork, create("google_compute_firewall.f", **rule)).verdict == "safe"
    assert judged(create("google_compute_firewall.f", **rule)).verdict == "dangerous"


def test_plans_are_plans() -> None:
    assert document()["format_version"] == "1.2"


def test_a_release_that_is_written_differently_restarts_no_job() -> None:
    before = job("a-11111111", 1)
    after = {**before, "values": [before["values"][0].replace("kind: RayJob", "kind: 'RayJob'")]}
    result = judged(update("helm_release.j", before, after))
    assert result.verdict == "safe"
    assert "the same content, written differently" in text.render(result)


def test_kueue_that_is_switched_off_under_a_job() -> None:
    """K6: both releases go, and each says what it waits for; the workload stack's own end is no such thing."""
    kueue = {"name": "kueue", "chart": "kueue", "repository": "oci://x", "version": "0.19.2"}
    result = judged(destroy("helm_release.queue", **QUEUE), destroy("helm_release.kueue", **kueue))
    said = {each.message for each in result.counting if each.rule == "queue-removed"}
    assert said == {"ClusterQueue rl-gpus goes", "Kueue goes"}
    (hint,) = {each.hint for each in result.counting if each.rule == "queue-removed"}
    assert hint.startswith("destroy the workload stack first")
    assert "queue-removed" not in slugs(judged(destroy("helm_release.job", **job("a-11111111", 1))))
    assert "queue-removed" not in slugs(judged(update("helm_release.kueue", kueue, {**kueue, "version": "0.20.0"})))
