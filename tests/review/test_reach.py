"""Who reaches what after a change, and what Google makes of changes in place: each sentence beside its opposite."""

from __future__ import annotations

from typing import Any

import pytest

from plan_review import text
from review.cases_of_place import CLUSTER_AT, MOVED, POOL_AT, SUBNETWORK, USES, WALL, listed, wall
from review.cases_of_risk import CLUSTER, pool
from review.plans import judged, same, slugs, update

Object = dict[str, Any]

TCP = [{"protocol": "tcp", "ports": ["443"]}]
DENY: Object = {"allow": [], "deny": TCP}


def first_ten(result: Any) -> str:
    return "\n".join(text.render(result).splitlines()[:10])


@pytest.mark.parametrize(
    ("before", "after", "opens", "closes"),
    [
        (wall(), wall(source_ranges=["10.0.0.0/16", "10.9.0.0/24"]), "further admits: 10.9.0.0/24", ""),
        (wall(), wall(source_ranges=["10.0.0.0/15"]), "further admits: 10.0.0.0/15", ""),
        (wall(), wall(source_ranges=["10.0.0.0/17", "10.0.128.0/17"]), "", "no longer admits: 10.0.0.0/16"),
        (wall(), wall(allow=[{"protocol": "tcp", "ports": ["443", "988"]}]), "further admits: tcp 988", ""),
        (wall(allow=TCP), wall(allow=[{"protocol": "tcp", "ports": ["22"]}]), "admits: tcp 22", "admits: tcp 443"),
        (wall(disabled=True), wall(disabled=False), "further admits: it is enabled", ""),
        (wall(disabled=False), wall(disabled=True), "", "no longer admits: it is disabled"),
        (wall(allow=[{"protocol": "tcp", "ports": ["1-100"]}]), wall(allow=[{"protocol": "tcp", "ports": ["22"]}]), "",
         "no longer admits: tcp 1-100"),
        (wall(allow=TCP), wall(allow=[{"protocol": "tcp", "ports": ["400-500"]}]), "further admits: tcp 400-500", ""),
        (wall(allow=TCP), wall(allow=[{"protocol": "all"}]), "further admits: all (all ports)", ""),
        (wall(target_tags=["a"]), wall(target_tags=[]), "further admits: at every machine", ""),
        (wall(**DENY), wall(**DENY, source_ranges=["10.0.0.0/15"]), "", "further denies: 10.0.0.0/15"),
        (wall(**DENY), wall(**DENY, source_ranges=["10.0.7.0/24"]), "denies no more: 10.0.0.0/16", ""),
        (wall(**DENY), wall(**DENY, disabled=True), "denies no more: it is disabled", ""),
        (wall(**DENY), wall(allow=TCP, deny=[]), "it denied and allows now", ""),
        (wall(disabled=True), wall(disabled=True, source_ranges=["10.0.0.0/15"]), "", ""),
    ],
)  # fmt: skip
def test_what_a_firewall_rule_admits_and_refuses(before: Object, after: Object, opens: str, closes: str) -> None:
    result = judged(update(WALL, before, after))
    said = {each.rule: each.message for each in result.counting}
    assert opens in said.get("firewall-widened", "")
    assert closes in said.get("firewall-narrowed", "")
    assert ("firewall-widened" in said) is bool(opens)
    assert ("firewall-narrowed" in said) is bool(closes)
    assert result.verdict != "safe"


ON: Object = {"control_plane_endpoints_config": [{"ip_endpoints_config": [{"enabled": True}]}]}
PRIVATE: Object = {"private_cluster_config": [{"enable_private_endpoint": True}]}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (listed("10.0.0.0/8"), listed("10.0.0.0/16"), {"control-plane-closed"}),  # narrowed: nothing opens
        (listed("10.0.0.0/16"), listed("10.0.0.0/8"), {"control-plane-access"}),
        (listed("10.0.0.0/16"), listed("10.1.0.0/16"), {"control-plane-access", "control-plane-closed"}),
        ({**listed("10.0.0.0/16"), **ON}, {**CLUSTER, **ON}, {"public-endpoint-unrestricted"}),
        ({**listed("10.0.0.0/16"), **ON, **PRIVATE}, {**CLUSTER, **ON, **PRIVATE}, {"control-plane-access"}),
    ],
)
def test_authorized_networks(before: Object, after: Object, said: set[str]) -> None:
    assert set(slugs(judged(update(CLUSTER_AT, before, after)))) == said


def test_authorized_networks_removed_with_their_endpoint() -> None:
    on, off = (
        {"control_plane_endpoints_config": [{"ip_endpoints_config": [{"enabled": each}]}]} for each in (True, False)
    )
    result = judged(update(CLUSTER_AT, {**listed("10.0.0.0/16"), **on}, {**CLUSTER, **off}))
    assert set(slugs(result)) == {"control-plane-closed"}
    assert "IP endpoint turned off; authorized network 10.0.0.0/16 removed" in first_ten(result)


def test_cluster_autoscaling_turned_off_is_a_decision() -> None:
    on, off = ({**CLUSTER, "cluster_autoscaling": [{"enabled": each}]} for each in (True, False))
    assert "no rule knows: google_container_cluster.c cluster_autoscaling.enabled true -> false" in first_ten(
        judged(update(CLUSTER_AT, on, off))
    )


@pytest.mark.parametrize(
    ("runs", "was", "least", "says"),
    [
        ("1.35.2-gke.100", None, "1.36", "is upgraded: 1.35.2-gke.100 -> 1.36"),
        ("1.35.2-gke.100", "1.35", "1.35.3", "is upgraded"),
        ("1.35.2-gke.100", "1.35", "latest", "is upgraded"),
        ("1.35.2-gke.100", None, "1.3", "is asked to go back"),
        ("1.35.2-gke.100", None, "1.35", ""),
        ("1.35.2-gke.100", "1.35", None, ""),
        ("1.35.2-gke.100", None, "1.35.2-gke.100", ""),
    ],
)
def test_versions_of_a_control_plane(runs: str, was: str | None, least: str | None, says: str) -> None:
    before, after = ({**CLUSTER, "master_version": runs, "min_master_version": each} for each in (was, least))
    result = judged(update(CLUSTER_AT, before, after))
    assert says in first_ten(result)
    assert (result.verdict == "safe") is (not says)


def test_a_range_that_a_cluster_uses_and_one_of_which_nobody_knows() -> None:
    result = judged(same(CLUSTER_AT, **USES), update("google_compute_subnetwork.s", SUBNETWORK, MOVED))
    assert "nodes changes its range pods: 10.4.0.0/14 -> 10.12.0.0/14" in first_ten(result)
    assert "Google will refuse it while cluster c uses it" in first_ten(result)
    alone = judged(update("google_compute_subnetwork.s", SUBNETWORK, MOVED))
    assert slugs(alone) == {"range-in-use": "warning"}
    assert "Google will refuse it while a cluster uses it" in first_ten(alone)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (["us-central1-b"], ["us-central1-c"], "its nodes in us-central1-b are drained and deleted, 16 B200 GPUs gone"),
        (["us-central1-b"], ["us-central1-b", "us-central1-c"], "nodes come in us-central1-c"),
    ],
)
def test_zones_of_a_pool(before: list[str], after: list[str], says: str) -> None:
    entry = update(POOL_AT, pool(node_locations=before), pool(node_locations=after))
    assert says in first_ten(judged(entry))


def test_the_size_of_an_autoscaled_pool_reads_as_ranges() -> None:
    sizes = [[{"total_min_node_count": 0, "total_max_node_count": most, "max_node_count": 0}] for most in (2, 6)]
    before, after = (pool(autoscaling=each, node_count=0) for each in sizes)
    assert "grows from 0-2 to 0-6 nodes: 16 -> 48 B200 GPUs" in first_ten(judged(update(POOL_AT, before, after)))
