"""What a report says: every section in every format, differences in a release's values, and what is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from findings import Location
from findings.text import format_finding
from groundplan.on_plans.assess import Provenance, assess
from groundplan.on_plans.mermaid import MOST
from plan_review import helm_values, html, markdown, reading, text
from plan_review.model import Action
from review.plans import change, create, destroy, document, judged, replaced, same, slugs, update

POOL = "google_container_node_pool.x"
ROLE = {"project": "p", "role": "roles/logging.logWriter", "member": "user:a@b"}


def job(name: str, script: str, image: str = "r/a:v1") -> str:
    return (
        f"manifests:\n  job:\n    kind: RayJob\n    apiVersion: ray.io/v1\n    metadata: {{name: {name}}}\n"
        f"    data:\n      train.sh: |\n{script}    containers:\n"
        f"    - {{name: head, image: r/h:v1}}\n    - {{name: worker, image: '{image}'}}\n"
    )


def test_a_job_that_changes_is_one_line_for_each_change() -> None:
    old = job("grpo-11111111", "        run \\\n          steps=1\n          last=1\n")
    new = job("grpo-22222222", "        run \\\n          steps=2\n          more=3\n          last=1\n", "r/a:v2")
    path = "values.manifests.job.data.train.sh"
    assert list(helm_values.differences(old, new)) == [
        ("values.name", "grpo-11111111", "grpo-22222222"),
        (path, "steps=1", "steps=2"),
        (path, None, "more=3"),
        ("values.manifests.job.containers[worker].image", "r/a:v1", "r/a:v2"),
    ]
    assert list(helm_values.differences(new, new)) == []


def test_values_that_are_no_mapping_are_compared_by_line() -> None:
    assert list(helm_values.differences("- a\n- b\n", "x: 1\n")) == [("values", "- a", "x: 1"), ("values", "- b", None)]


def test_containers_are_paired_by_name_and_others_by_position() -> None:
    before, after = "l: [{name: a, v: 1}, {name: b, v: 2}]", "l: [{name: b, v: 2}, {name: a, v: 3}]"
    assert list(helm_values.differences(before, after)) == [("values.l[a].v", 1, 3)]
    assert list(helm_values.differences("l: [{v: 1}, {v: 2}]", "l: [{v: 1}, {v: 3}]")) == [("values.l[1].v", 2, 3)]


def report_of(*changes: dict[str, Any], **more: Any) -> tuple[str, str]:
    result = judged(*changes, more=more)
    return text.render(result), markdown.render(result)


def test_every_section_that_has_something_to_say_is_there() -> None:
    hidden = {"actions": ["update"], "before": "a", "after": "b", "after_sensitive": True}
    shown = {"actions": ["create"], "before": None, "after": "there"}
    quiet = {"actions": ["no-op"], "before": "quiet", "after": "quiet"}
    plain, marked = report_of(
        create("google_project_iam_member.m", **ROLE),
        create("google_compute_subnetwork.s", name="nodes", ip_cidr_range="10.0.0.0/24"),
        same("google_compute_firewall.f", name="f", allow=[{"protocol": "tcp", "ports": ["22"]}]),
        output_changes={"hidden": hidden, "shown": shown, "quiet": quiet},
        resource_drift=[{"address": "a_b.drifted"}],
        simulated=True,
    )
    for report, title in ((plain, ""), (marked, "### ")):
        for section in ("Opens and grants", "Changes", "Changed outside Terraform", "Already so before"):
            assert f"{title}{section}" in report
        assert "user:a@b gets roles/logging.logWriter on project p" in report
        assert "The plans are simulated: made by " in report
        assert "a_b.drifted" in report
        assert '"there"' in report
        assert "hidden: (sensitive) or known after apply" in report
        assert "quiet" not in report


def test_addresses_that_nodes_take_are_told() -> None:
    plain, marked = report_of(
        create("google_compute_subnetwork.s", name="rdma", ip_cidr_range="10.0.0.0/28"),
        create(
            POOL, name="g", node_count=2,
            network_config=[{"additional_node_network_configs": [{"subnetwork": "rdma"}]}],
        ),
    )  # fmt: skip
    assert "rdma 10.0.0.0/28: 0 -> 2 of 12 addresses" in plain
    assert "<details><summary>Addresses</summary>" in marked
    assert "| rdma | 10.0.0.0/28 | 0 -> 2 | 12 |" in marked


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ([], "Nothing changes."),
        ([same("a_b.c", x=1)], "Nothing changes."),
        ([create("a_b.c", x=1)], "A first creation: everything is new, nothing that exists is touched."),
        (
            [create("a_b.c", x=1), same("a_b.d", x=1)],
            "Nothing that exists is replaced, destroyed, disturbed, opened or left unprotected.",
        ),
    ],
)
def test_a_plan_without_trouble_says_so(changes: list[dict[str, Any]], says: str) -> None:
    result = judged(*changes)
    assert result.verdict == "safe"
    for render in (text.render, markdown.render, html.render):
        assert says in render(result)


def test_a_comparison_names_both_sides_and_a_review_none() -> None:
    plan = reading.plan_of(document(), "s")
    both = assess([replace(plan, configuration=True)], provenance=Provenance("0", compared=("old", "new")))
    assert "compared: old with new" in text.render(both)
    assert "Compared without state" in markdown.render(both)
    assert "compared" not in text.render(judged()).lower()


def test_the_rows_of_a_terminal_are_sixty_over_all_stacks() -> None:
    plans = [
        reading.plan_of(document(*(update(f"a_b.x{n:02}", {"v": "old"}, {"v": n}) for n in range(40))), name)
        for name in ("one", "two")
    ]
    said = text.render(assess(plans, provenance=Provenance("0")))
    assert said.count("  update   a_b.x") == 60
    assert "and 20 more; --format html shows all" in said


def test_a_picture_of_too_much_is_none() -> None:
    def nets(amount: int) -> str:
        entries = (create(f"google_compute_network.n{n}", name=f"n{n}") for n in range(amount))
        return markdown.render(judged(*entries))

    assert "```mermaid" in nets(3)
    assert "```mermaid" not in nets(MOST + 1)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "firewall f: admits anyone to tcp 22"),
        ({"disabled": True, "source_ranges": ["10.0.0.0/8"]}, "firewall f: admits 10.0.0.0/8 to tcp 22 (disabled)"),
        ({"source_tags": ["t"]}, "firewall f: admits t to tcp 22"),
        ({"allow": [{"protocol": "icmp"}, {"protocol": "udp"}]}, "firewall f: admits anyone to icmp; udp all ports"),
        ({"allow": [], "deny": [{"protocol": "all"}], "source_ranges": ["::/0"]}, "firewall f: denies ::/0"),
        ({"direction": "EGRESS"}, "firewall f: admits the way out to anywhere to tcp 22"),
    ],
)
def test_a_firewall_in_words(given: dict[str, Any], says: str) -> None:
    body = {"name": "f", "allow": [{"protocol": "tcp", "ports": ["22"]}], **given}
    assert f"+ {says}\n" in text.render(judged(create("google_compute_firewall.f", **body)))


def test_a_role_that_is_not_known_yet() -> None:
    plain, _ = report_of(create("google_project_iam_member.m", project="p", member="user:a@b"))
    assert "+ user:a@b gets (a role not known yet) on project p" in plain


def test_what_stands_only_until_the_new_one_does() -> None:
    (notice, *_) = judged(replaced("aws_sqs_queue.r", {"name": "r"}, {"name": "s"})).counting
    assert notice.consequence == "it is gone until the new one stands"
    (notice,) = judged(destroy("aws_sqs_queue.r", name="r")).counting
    assert notice.consequence == "it is gone"


def test_placement_and_throughput_that_are_fine() -> None:
    spot = {"name": "p", "placement_policy": [{"type": "COMPACT"}], "node_config": [{"spot": True}]}
    assert "placement-conflict" not in slugs(judged(create(POOL, **spot)))
    assert "lustre-throughput" not in slugs(judged(create("google_lustre_instance.l", capacity_gib="36000")))


def test_a_token_is_named_by_its_issuer() -> None:
    token = "hf_" + "a1" * 10
    (notice,) = judged(create("a_b.c", note=token)).counting
    assert notice.message == "a_b.c shows a Hugging Face token in note"


def test_a_long_line_is_cut_around_its_caret() -> None:
    """120 columns: sixty before the caret, which stands below the 500th letter."""
    line = "a" * 499 + "X" + "b" * 500
    (finding,) = judged(destroy("google_container_cluster.c", name="c")).counting
    *_, shown, caret = format_finding(replace(finding, hint="", location=Location("f", 1, 500, line))).splitlines()
    assert shown == " 1 | " + "a" * 60 + "X" + "b" * 59
    assert caret.index("^") == shown.index("X")


@pytest.mark.parametrize(
    ("actions", "more", "action"),
    [
        (["delete", "create"], {}, Action.REPLACE),
        (["create", "delete"], {}, Action.REPLACE),
        (["create"], {}, Action.CREATE),
        (["delete"], {}, Action.DESTROY),
        (["update"], {}, Action.UPDATE),
        (["update"], {"previous_address": "a_b.old"}, Action.UPDATE),
        (["forget"], {}, Action.FORGET),
        (["create", "forget"], {}, Action.FORGET),
        (["no-op"], {"importing": {"id": "i"}}, Action.IMPORT),
        (["no-op"], {"previous_address": "a_b.old"}, Action.MOVE),
        (["no-op"], {}, Action.NONE),
        (["read"], {}, Action.READ),
    ],
)
def test_what_terraform_says_it_does(actions: list[str], more: dict[str, Any], action: Action) -> None:
    (found,) = reading.plan_of(document(change("a_b.c", actions, {"x": 1}, {"x": 1}, **more)), "s").changes
    assert found.action is action
    assert found.create_first is (actions == ["create", "delete"])
    assert found.gone is (action in (Action.REPLACE, Action.DESTROY))


def test_a_sensitive_text_of_three_letters_hides_nothing_and_one_of_four_is_hidden() -> None:
    for secret, hidden in (("abc", set()), ("abcd", {"abcd"})):
        entry = change("a_b.c", ["create"], None, {"x": secret, "y": "other"}, after_sensitive={"x": True})
        assert reading.plan_of(document(entry), "s").hidden == hidden
