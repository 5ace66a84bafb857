"""What no rule knows needs a decision; what is safe has a reason; what is accepted covers no more than it names."""

from __future__ import annotations

from typing import Any

import pytest

from plan_review import text
from plan_review.acceptance import Acceptance, parse
from review.cases_of_risk import CLUSTER, LUSTRE, POOL, pool
from review.plans import change, create, destroy, judged, slugs, update, written

Object = dict[str, Any]

CLUSTER_AT, POOL_AT, BUCKET = "google_container_cluster.c", "google_container_node_pool.p", "google_storage_bucket.b"
WINDOW = {"maintenance_policy": [{"recurring_window": [{"start_time": "a", "end_time": "b", "recurrence": "c"}]}]}

#: Updates that the review called safe, and that somebody must decide on: address, before, after, what must be said.
DECISIONS: list[tuple[str, Object, Object, str]] = [
    (CLUSTER_AT, {"database_encryption": [{"state": "ENCRYPTED"}]}, {"database_encryption": [{"state": "DECRYPTED"}]},
     'database_encryption.state "ENCRYPTED" -> "DECRYPTED"'),
    (CLUSTER_AT, {"binary_authorization": [{"evaluation_mode": "A"}]},
     {"binary_authorization": [{"evaluation_mode": "DISABLED"}]}, 'evaluation_mode "A" -> "DISABLED"'),
    (CLUSTER_AT, {"network_policy": [{"enabled": True}]}, {"network_policy": [{"enabled": False}]},
     "network_policy.enabled true -> false"),
    ("aws_s3_bucket_public_access_block.b", {"block_public_acls": True}, {"block_public_acls": False},
     "block_public_acls true -> false"),
    ("azurerm_storage_account.s", {"public_network_access_enabled": False}, {"public_network_access_enabled": True},
     "public_network_access_enabled false -> true"),
    ("aws_instance.i", {"tags": {"kubernetes.io/cluster/x": "owned"}}, {"tags": {}}, "tags.kubernetes.io/cluster/x"),
    (POOL_AT, {"management": [{"auto_repair": True}]}, {"management": [{"auto_repair": False}]}, "auto_repair"),
    ("kubernetes_namespace.n", {"metadata": [{"labels": {"enforce": "restricted"}}]},
     {"metadata": [{"labels": {"enforce": "privileged"}}]}, 'enforce "restricted" -> "privileged"'),
    ("helm_release.o", {"values": ["a: 1"]}, {"values": ["a: 2"]}, "values.a 1 -> 2"),
    ("some_thing.x", {"a": 1, "b": [1]}, {"a": 2, "b": [1, 2]}, "a 1 -> 2"),
]  # fmt: skip

#: Updates that are safe: address, before, after, the reason.
HARMLESS: list[tuple[str, Object, Object, str]] = [
    (BUCKET, {"labels": {"a": "b"}}, {"labels": {"a": "c"}, "terraform_labels": {"a": "c"}}, "labels of"),
    (BUCKET, {"versioning": []}, {"versioning": [{"enabled": True}]}, "a guard more"),
    (CLUSTER_AT, {"deletion_protection": False}, {"deletion_protection": True}, "a guard more"),
    (CLUSTER_AT, {"master_version": "1.35.2-gke.1"}, {"master_version": "1.35.2-gke.1", "min_master_version": "1.35"},
     "the control plane runs it already"),
    (CLUSTER_AT, {}, WINDOW, "the next upgrades come at another time"),
    (POOL_AT, {"node_config": [{"machine_type": "n2-standard-8"}], "node_count": 1},
     {"node_config": [{"machine_type": "n2-standard-8"}], "node_count": 3}, "more nodes may come"),
    ("google_compute_subnetwork.s", {"ip_cidr_range": "10.0.0.0/20"}, {"ip_cidr_range": "10.0.0.0/19"},
     "more addresses"),
    ("aws_s3_bucket.b", {"tags": {"a": "b"}}, {"tags": {"a": "c"}}, "labels of"),
    ("google_lustre_instance.l", LUSTRE, {**LUSTRE, "deletion_policy": "PREVENT"}, "a guard more"),
    ("helm_release.o", {"timeout": 1}, {"timeout": 2}, "how Helm installs"),
]  # fmt: skip


def first_ten(result: Any) -> str:
    return "\n".join(text.render(result).splitlines()[:10])


@pytest.mark.parametrize(("address", "before", "after", "says"), DECISIONS)
def test_what_no_rule_knows_is_a_decision(address: str, before: Object, after: Object, says: str) -> None:
    result = judged(update(address, {"name": "x", **before}, {"name": "x", **after}))
    assert result.verdict == "needs a decision"
    assert f"no rule knows: {address} " in first_ten(result)
    assert says in first_ten(result)


@pytest.mark.parametrize(("address", "before", "after", "why"), HARMLESS)
def test_what_is_safe_is_so_for_a_reason(address: str, before: Object, after: Object, why: str) -> None:
    result = judged(update(address, {"name": "x", **before}, {"name": "x", **after}))
    assert (result.verdict, slugs(result)) == ("safe", {})
    assert why in first_ten(result)
    # The way back is not.
    back = judged(update(address, {"name": "x", **after}, {"name": "x", **before}))
    assert back.verdict == "safe" or back.counting


@pytest.mark.parametrize(
    ("address", "before", "after"),
    [
        (CLUSTER_AT, {"master_version": "1.35.2-gke.1", "min_master_version": "1.35"}, {"min_master_version": "1.36"}),
        (CLUSTER_AT, {"master_version": "1.35.2-gke.1"}, {"min_master_version": "1.3"}),
        ("google_compute_subnetwork.s", {"ip_cidr_range": "10.0.0.0/19"}, {"ip_cidr_range": "10.0.0.0/20"}),
        (BUCKET, {"retention_policy": [{"retention_period": 9}]}, {"retention_policy": [{"retention_period": 3}]}),
        (POOL_AT, {"node_config": [{"labels": {"a": "b"}}]}, {"node_config": [{"labels": {}}]}),
        ("google_compute_router_nat.n", {"min_ports_per_vm": 64}, {"min_ports_per_vm": 32}),
    ],
)
def test_the_near_twin_of_what_is_safe_is_not(address: str, before: Object, after: Object) -> None:
    result = judged(update(address, {"name": "x", **before}, {"name": "x", **after}))
    assert result.verdict != "safe"


def test_what_a_rule_says_is_not_said_again() -> None:
    result = judged(update("google_lustre_instance.l", LUSTRE, {**LUSTRE, "capacity_gib": "54000"}))
    assert set(slugs(result)) == {"lustre-grows"}
    result = judged(update("google_lustre_instance.l", LUSTRE, {**LUSTRE, "capacity_gib": "54000", "x": 1}))
    assert set(slugs(result)) == {"lustre-grows", "unjudged-update"}


def test_an_update_that_the_plan_does_not_show() -> None:
    result = judged(update("google_sql_user.u", {"name": "u"}, {"name": "u"}))
    assert "google_sql_user.u is updated, and the plan does not show what changes" in first_ten(result)


def test_a_sensitive_value_is_not_shown_as_unjudged() -> None:
    entry = update("a_thing.x", {"v": "one-secret"}, {"v": "two-secret"}, before_sensitive={"v": True})
    report = text.render(judged(entry))
    assert "no rule knows: a_thing.x v (sensitive) -> (sensitive)" in report
    assert "secret" not in report.replace("secret-", "")


def test_many_alike_are_one_line_and_the_first_of_each_kind_comes_first() -> None:
    entries = [update(f"aws_instance.i{n}", {"x": "a"}, {"x": "b"}) for n in range(40)]
    entries += [destroy(f"google_container_node_pool.p{n}", **pool(name=f"p{n}")) for n in range(30)]
    entries += [destroy(f"google_lustre_instance.l{n}", **{**LUSTRE, "instance_id": f"l{n}"}) for n in range(3)]
    lines = text.render(judged(*entries)).splitlines()
    assert lines[1].startswith(" 1. Lustre instance l0 and 2 more google_lustre_instance are destroyed")
    assert "108,000 GiB in all" in lines[2]
    assert lines[3].startswith(" 2. GPU pool p0 and 29 more google_container_node_pool are destroyed")
    assert lines[5] == ' 3. no rule knows: aws_instance.i0 and 39 more aws_instance x "a" -> "b"'


def test_losses_for_different_reasons_leave_room_for_each_kind() -> None:
    entries = [
        change(f"google_container_node_pool.p{n}", ["delete"], pool(name=f"p{n}"), None, action_reason=reason)
        for n, reason in enumerate(["delete_because_no_module", "delete_because_count_index", ""] * 5)
    ]
    entries.append(update("aws_instance.i", {"x": "a"}, {"x": "b"}))
    assert "no rule knows: aws_instance.i" in first_ten(judged(*entries))


@pytest.mark.parametrize(
    ("kind", "decides"),
    [
        ("aws_iam_policy", True), ("google_compute_vpn_tunnel", True), ("aws_lb", True),
        ("azurerm_role_assignment", True),
        ("google_iam_workload_identity_pool", True), ("kubernetes_cluster_role_binding_v1", True),
        ("google_monitoring_alert_policy", False), ("aws_instance", False), ("google_compute_resource_policy", False),
        ("google_project_iam_member", False), ("aws_kms_key", False),
    ],
)  # fmt: skip
def test_what_is_new_and_decides_about_access(kind: str, decides: bool) -> None:
    found = slugs(judged(create(f"{kind}.x", name="x", role="roles/x", member="user:a@example.com")))
    assert ("unjudged-access" in found) is decides


def test_types_that_no_rule_reads_are_counted() -> None:
    result = judged(create("aws_instance.a"), create("aws_instance.b"), create("datadog_monitor.m"), create(BUCKET))
    assert result.not_looked_at == "2 aws_instance, 1 datadog_monitor"
    assert "Not looked at, for no rule reads these types: 2 aws_instance, 1 datadog_monitor" in first_ten(result)
    assert judged(create(BUCKET)).not_looked_at == ""


@pytest.mark.parametrize(
    ("written", "parsed"),
    [
        ("a-b@x.y=why", Acceptance("a-b", "x.y", "why")),
        ('a-b@x.y["k=v"]=a = b', Acceptance("a-b", 'x.y["k=v"]', "a = b")),
        ("a-b=why", None),
        ("a-b=see x@y=z", None),
        ("a-b@x.y", None),
        ("a-b@=why", None),
        ("a-b@x.y=", None),
    ],
)
def test_how_an_acceptance_is_written(written: str, parsed: Acceptance | None) -> None:
    assert parse(written) == parsed


LOST = destroy("google_lustre_instance.l", **LUSTRE)


@pytest.mark.parametrize(
    ("address", "verdict"),
    [
        ("google_lustre_instance.l", "accepted"),
        ("stack:google_lustre_instance.l", "accepted"),
        ("google_lustre_instance.*", "dangerous"),
        ("*", "dangerous"),
        ("", "dangerous"),
        ("google_lustre_instance.m", "dangerous"),
        ("other:google_lustre_instance.l", "dangerous"),
    ],
)
def test_loss_of_data_is_accepted_by_name_alone(address: str, verdict: str) -> None:
    result = judged(LOST, acceptances=[Acceptance("resource-destroyed", address, "moved away")])
    assert result.verdict == verdict
    report = first_ten(result)
    if verdict == "accepted":
        assert report.startswith("ACCEPTED: 1 to destroy in 1 stack")
        assert "accepted: Lustre instance l is destroyed" in report
        assert "ALL DATA on it are deleted" in report
    else:
        assert "Lustre instance l is destroyed" in report
        assert result.unused_acceptances


def test_one_of_many_that_are_alike_is_accepted_alone() -> None:
    entries = [destroy(f"google_lustre_instance.l{n}", **{**LUSTRE, "instance_id": f"l{n}"}) for n in range(3)]
    accept = Acceptance("resource-destroyed", "google_lustre_instance.l0", "moved away")
    result = judged(*entries, acceptances=[accept])
    assert result.verdict == "dangerous"
    (counts,) = result.counting
    assert counts.message.startswith("Lustre instance l1 and 1 more")


@pytest.mark.parametrize(
    ("address", "verdict"),
    [("aws_*", "accepted"), ("aws_instance.i", "accepted"), ("", "accepted"), ("aws_db*", "needs a decision")],
)
def test_a_warning_may_be_accepted_by_pattern(address: str, verdict: str) -> None:
    entry = update("aws_instance.i", {"x": "a"}, {"x": "b"})
    result = judged(entry, acceptances=[Acceptance("unjudged-update", address, "read up on it")])
    assert result.verdict == verdict
    if verdict != "accepted":
        assert "unjudged-update@aws_db*: nothing is accepted by it" in first_ten(result)


def test_an_accepted_update_is_not_told_as_unjudged() -> None:
    entry = update("google_lustre_instance.l", LUSTRE, {**LUSTRE, "capacity_gib": "54000"})
    accept = Acceptance("lustre-grows", "google_lustre_instance.l", "the space is needed")
    assert judged(entry, acceptances=[accept]).verdict == "accepted"


UNKNOWN = {"after_unknown": {"node_count": True, "etag": True}}


def test_a_number_of_nodes_that_only_the_apply_tells() -> None:
    result = judged(update(POOL_AT, POOL, {k: v for k, v in POOL.items() if k != "node_count"}, **UNKNOWN))
    assert "google_container_node_pool.p: node_count is known only after the apply (now 2)" in first_ten(result)
    assert "etag" not in first_ten(result)
    result = judged(change(POOL_AT, ["create"], None, POOL, **UNKNOWN))
    assert "node_count is known only after the apply" in first_ten(result)


def test_what_nobody_set_may_be_unknown() -> None:
    entry = change("google_container_node_pool.p", ["create"], None, POOL, **UNKNOWN)
    assert judged(entry, more={"configuration": written(POOL_AT, name={"constant_value": "p"})}).verdict == "safe"
    given = {"configuration": written(POOL_AT, node_count={"references": ["data.x.y.z", "data.x.y"]})}
    assert judged(entry, more=given).verdict == "needs a decision"


def test_a_block_that_may_be_dynamic_and_is_unknown() -> None:
    entry = update("x_y.z", {"rule": [{"a": 1}], "tag": "t"}, {"tag": "t"}, after_unknown={"rule": True})
    result = judged(entry, more={"configuration": written("x_y.z", tag={"constant_value": "t"})})
    assert "x_y.z: rule is known only after the apply" in first_ten(result)


def test_an_authorized_network_that_is_not_known_yet() -> None:
    networks = {"master_authorized_networks_config": [{"cidr_blocks": [{"cidr_block": "192.0.2.0/24"}]}]}
    after = {"master_authorized_networks_config": [{"cidr_blocks": [{}]}]}
    unknown = {"master_authorized_networks_config": [{"cidr_blocks": [{"cidr_block": True}]}]}
    result = judged(update(CLUSTER_AT, {**CLUSTER, **networks}, {**CLUSTER, **after}, after_unknown=unknown))
    assert 'cidr_block is known only after the apply (now "192.0.2.0/24")' in first_ten(result)
