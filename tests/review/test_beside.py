"""What stands beside the changes of a plan: drift by value, checks, deferred changes, actions, imports, outputs."""

from __future__ import annotations

from typing import Any

import pytest

from groundplan.on_plans.mermaid import mermaid
from groundplan.on_plans.topology import topology
from plan_review import text
from plan_review.reading import plan_of
from review.cases_of_risk import CLUSTER, FIREWALL, LUSTRE, POOL
from review.plans import change, create, destroy, document, judged, replaced, same, slugs, update, written

Object = dict[str, Any]

FIREWALL_AT = "google_compute_firewall.f"
INSIDE, OPEN = {**FIREWALL, "source_ranges": ["10.0.0.0/8"]}, {**FIREWALL, "source_ranges": ["0.0.0.0/0"]}
POOL_AT = "google_container_node_pool.p"
MANAGED_FABRIC: Object = {"accelerator_network_profile": "auto"}
OWN_FABRIC: Object = {"additional_node_network_configs": [{"network": "rdma", "subnetwork": f"r{n}"} for n in range(8)]}
CONFIGURED = written(FIREWALL_AT, source_ranges={"constant_value": ["10.0.0.0/8"]})


def first_ten(result: Any) -> str:
    return "\n".join(text.render(result).splitlines()[:10])


@pytest.mark.parametrize(
    ("planned", "fate"),
    [
        (update(FIREWALL_AT, OPEN, INSIDE), "this plan puts it back"),
        (same(FIREWALL_AT, **OPEN), "this plan leaves it as it is now"),
        (update(FIREWALL_AT, OPEN, {**OPEN, "priority": 2}), "this plan leaves that as it is now"),
        (update(FIREWALL_AT, OPEN, {**INSIDE, "source_ranges": ["10.1.0.0/16"]}), "this plan changes it once more"),
        (destroy(FIREWALL_AT, **OPEN), "this plan destroys it"),
    ],
)
def test_a_firewall_that_somebody_opened(planned: Object, fate: str) -> None:
    more = {"resource_drift": [update(FIREWALL_AT, INSIDE, OPEN)], "configuration": CONFIGURED}
    report = first_ten(judged(planned, more=more))
    assert f'{FIREWALL_AT} was changed outside Terraform: source_ranges "10.0.0.0/8" -> "0.0.0.0/0"' in report
    assert fate in report


@pytest.mark.parametrize(
    ("planned", "fate"),
    [
        ([create("google_storage_bucket.b", name="b")], "this plan makes it anew, empty"),
        ([], "this plan does not make it anew"),
    ],
)
def test_what_somebody_deleted(planned: list[Object], fate: str) -> None:
    more = {"resource_drift": [change("google_storage_bucket.b", ["delete"], {"name": "b"}, None)]}
    result = judged(*planned, more=more)
    assert result.verdict == "needs a decision"
    assert "bucket b was deleted outside Terraform" in first_ten(result)
    assert fate in first_ten(result)


def test_a_sensitive_value_that_drifted_is_in_no_report() -> None:
    entry = update("a_b.c", {"password_note": "old-hidden"}, {"password_note": "new-hidden"})
    entry["change"] |= {"before_sensitive": {"password_note": True}, "after_sensitive": {"password_note": True}}
    report = text.render(judged(more={"resource_drift": [entry]}))
    assert "password_note (sensitive) -> (sensitive)" in report
    assert "hidden" not in report


def test_a_check_that_fails_says_its_message() -> None:
    address = {"kind": "check", "name": "quota", "to_display": "check.quota"}
    instance = {"address": {"to_display": "check.quota"}, "status": "fail", "problems": [{"message": "only 8\n  left"}]}
    result = judged(more={"checks": [{"address": address, "status": "fail", "instances": [instance]}]})
    assert result.verdict == "needs a decision"
    assert "check.quota fails: only 8 left" in first_ten(result)
    unknown = [{"address": address, "status": "unknown", "instances": []}]
    assert judged(more={"checks": unknown}).verdict == "safe"


def test_deferred_changes_are_named() -> None:
    entries = [
        {"reason": "resource_config_unknown", "resource_change": {"address": f"google_compute_subnetwork.s[{n}]"}}
        for n in range(3)
    ]
    report = first_ten(judged(more={"deferred_changes": entries, "complete": False}))
    assert "google_compute_subnetwork.s[0] and 2 more google_compute_subnetwork are deferred" in report
    assert "resource config unknown" in report


def test_what_is_replaced_by_a_new_one_and_forgotten() -> None:
    entry = change("google_lustre_instance.l", ["create", "forget"], LUSTRE, {**LUSTRE, "location": "us-central1-c"})
    result = judged(entry)
    assert result.verdict == "needs a decision"
    assert "is made anew, and the old one is forgotten, not destroyed" in first_ten(result)
    assert "both stand" in first_ten(result)


def test_an_old_object_that_an_earlier_apply_left() -> None:
    entry = change("google_container_node_pool.p", ["delete"], POOL, None, deposed="abcd1234")
    report = first_ten(judged(same("google_container_node_pool.p", **POOL), entry))
    assert "GPU pool gpu is destroyed: an earlier apply made the new one and left this old object behind" in report


def test_what_is_imported() -> None:
    entry = change("google_storage_bucket.b", ["no-op"], {"name": "b"}, {"name": "b"}, importing={"id": "p/b"})
    result = judged(entry)
    assert (result.verdict, dict(result.counts)) == ("safe", {"import": 1})
    assert "taken into the state (import): google_storage_bucket.b from p/b" in first_ten(result)
    entry = change("x_y.z", ["update"], {"name": "b", "a": 1}, {"name": "b", "a": 2}, importing={"id": "p/b"})
    assert "no rule knows: x_y.z a 1 -> 2" in first_ten(judged(entry))
    assert "x_y.z from p/b" in first_ten(judged(entry))


def test_an_action_that_the_apply_runs() -> None:
    trigger = {"triggering_resource_address": "aws_s3_bucket.b", "action_trigger_event": "AfterUpdate"}
    entry = {"address": "action.aws_lambda_invoke.clean", "lifecycle_action_trigger": trigger}
    report = first_ten(judged(more={"action_invocations": [entry]}))
    assert "the apply runs action.aws_lambda_invoke.clean (after update of aws_s3_bucket.b)" in report


def test_outputs_alone_change() -> None:
    outputs = {"o": {"actions": ["update"], "before": "a", "after": "b"}}
    assert "No resource changes; 1 output will." in first_ten(judged(more={"output_changes": outputs}))
    assert "Nothing changes." in first_ten(judged())


def test_what_is_left_of_an_earlier_apply_is_no_first_creation() -> None:
    state = {"values": {"root_module": {"resources": [{"mode": "managed", "address": "a_b.c"}]}}}
    report = first_ten(judged(create("google_storage_bucket.b", name="b"), more={"prior_state": state}))
    assert "Everything here is new; the state holds 1 resource more, not shown by the plan." in report
    assert "A first creation" in first_ten(judged(create("google_storage_bucket.b", name="b")))


@pytest.mark.parametrize(
    ("address", "guard"),
    [
        ("google_container_cluster.c", {"deletion_protection": True}),
        ("aws_db_instance.d", {"deletion_protection": True}),
        ("aws_lb.l", {"enable_deletion_protection": True}),
        ("google_lustre_instance.l", {"deletion_policy": "PREVENT"}),
    ],
)
def test_a_guard_that_stops_the_apply_half_way(address: str, guard: Object) -> None:
    before = {**CLUSTER, **guard}
    for entry in (destroy(address, **before), replaced(address, before, {**before, "x": 1}, replace_paths=[["x"]])):
        result = judged(entry)
        assert slugs(result)["guarded"] == "error"
        assert f"and {next(iter(guard))}" in first_ten(result)
        assert "the apply stops half-way" in first_ten(result)
    assert "guarded" not in slugs(judged(destroy(address, name="x")))


def test_addresses_in_modules_are_found_in_the_configuration() -> None:
    address = 'module.net["a.b"].google_compute_firewall.f[0]'
    module = {"module_calls": {"net": {"module": CONFIGURED["root_module"]}}}
    entry = {**update(FIREWALL_AT, INSIDE, OPEN), "address": address}
    result = judged(more={"resource_drift": [entry], "configuration": {"root_module": module}})
    assert f"{address} was changed outside Terraform: source_ranges" in first_ten(result)
    quiet = {**update(FIREWALL_AT, INSIDE, {**INSIDE, "uid": "7"}), "address": address}
    assert judged(more={"resource_drift": [quiet], "configuration": {"root_module": module}}).verdict == "safe"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (OWN_FABRIC, MANAGED_FABRIC, "the fabric is now GKE's"),
        (MANAGED_FABRIC, OWN_FABRIC, "the fabric is now the site's own"),
    ],
)
def test_whose_the_fabric_is_after_the_pool_is_replaced(before: Object, after: Object, said: str) -> None:
    planned = replaced(POOL_AT, {**POOL, "network_config": [before]}, {**POOL, "network_config": [after]})
    assert said in first_ten(judged(planned))
    picture = mermaid(topology([plan_of(document(planned), "stack", "plan.json")]))
    assert ("Fabric of GKE" in picture) == ("-- DRANET ---" in picture) == (after is MANAGED_FABRIC)
    assert ("-- 8 NICs ---" in picture) == (after is OWN_FABRIC)


def test_a_pool_replaced_on_the_same_fabric_says_nothing_of_it() -> None:
    block = {"network_config": [MANAGED_FABRIC]}
    assert "fabric" not in first_ten(judged(replaced(POOL_AT, {**POOL, **block}, {**POOL, **block, "version": "2"})))
