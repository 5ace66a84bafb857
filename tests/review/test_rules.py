"""Each rule of plans: one input that trips it, and its mended twin that does not."""

from __future__ import annotations

from typing import Any

import pytest

from groundplan.on_plans.assess import plan_rules
from plan_review import text
from plan_review.acceptance import Acceptance
from review.cases_of_claim import CLAIMED
from review.cases_of_place import PLACE
from review.cases_of_risk import FIREWALL, ON_WHOLE_PLANS, POOL, RISK
from review.cases_of_size import QUEUE, SIZE, job
from review.plans import change, create, destroy, document, judged, same, slugs, update

#: Rule -> (severity, what trips it, what does not).
TABLE = {**RISK, **SIZE, **PLACE}


def test_every_rule_is_in_the_table() -> None:
    assert set(TABLE) | set(ON_WHOLE_PLANS) | set(CLAIMED) == set(plan_rules())


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
    acceptance = Acceptance("resource-destroyed", "google_container_node_pool.p", "moved away")
    result = judged(destroy("google_container_node_pool.p", **POOL), acceptances=[acceptance])
    assert result.verdict == "accepted"
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
    result = judged(unknown)
    assert slugs(result) == {"unknown-until-apply": "warning"}
    assert result.counting[0].message == "google_compute_firewall.f: source_ranges is known only after the apply"


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


def test_a_chart_that_goes_back_is_told_so() -> None:
    kuberay = {"name": "kuberay-operator", "chart": "kuberay-operator", "repository": "https://x", "version": "1.10.0"}
    (notice,) = judged(update("helm_release.k", kuberay, {**kuberay, "version": "1.6.2"})).counting
    assert "goes back from 1.10.0 to 1.6.2, and its CRDs stay at 1.10.0" in notice.message


def test_a_gpu_pool_more_is_a_decision_and_a_first_one_is_not() -> None:
    other = {**POOL, "name": "other"}
    more = judged(same("google_container_node_pool.p", **POOL), create("google_container_node_pool.o", **other))
    assert slugs(more) == {"gpu-capacity-grows": "warning"}
    assert "GPU pool other is made, of 2 nodes with 16 B200 GPUs" in more.counting[0].message
    assert judged(create("google_container_node_pool.p", **POOL)).verdict == "safe"
    renamed = judged(destroy("google_container_node_pool.p", **POOL), create("google_container_node_pool.o", **other))
    assert "gpu-capacity-grows" not in slugs(renamed)


@pytest.mark.parametrize(("old", "new", "comes_back"), [("Prod", "prod", False), ("a", "a ", False)])
def test_letters_of_a_label_count(old: str, new: str, comes_back: bool) -> None:
    result = judged(update("google_storage_bucket.b", {"labels": {"v": old}}, {"labels": {"v": new}}))
    assert ("perpetual-diff" in slugs(result)) is comes_back
    assert result.verdict == "safe"


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
