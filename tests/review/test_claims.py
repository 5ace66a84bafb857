"""What a change is meant to do: what claims cover, what stands outside, and what nobody understands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from groundplan.commands.review import review
from groundplan.on_plans.assess import Assessment
from plan_review.claims import Claim, parse_claim
from review.cases_of_claim import CLAIMED
from review.cases_of_risk import LUSTRE, POOL, pool
from review.cases_of_size import job
from review.plans import change, create, destroy, document, judged, replaced, same, slugs, update

GROWS = update("google_container_node_pool.p", POOL, pool(node_count=4))
LUSTRE_GROWS = update(
    "google_lustre_instance.l", {**LUSTRE, "capacity_gib": "18000"}, {**LUSTRE, "capacity_gib": "36000"}
)
KUBERAY = {"name": "kuberay", "repository": "oci://r", "chart": "kuberay-operator"}
CHART = update("helm_release.kuberay", {**KUBERAY, "version": "1.6.0"}, {**KUBERAY, "version": "1.7.0"})
JOB = update("helm_release.job", job("a-11111111", 2), job("b-22222222", 4))
CPU_POOL = {"name": "cpu", "node_config": [{"machine_type": "n2-highmem-80"}], "node_count": 1}


def claimed(*changes: dict[str, Any], claims: list[str]) -> Assessment:
    parsed = [parse_claim(each) for each in claims]
    assert all(isinstance(each, Claim) for each in parsed), parsed
    return judged(*changes, claims=parsed)


def outside(result: Assessment) -> list[str]:
    """What the rule says, which stands before all else."""
    said = [each.message for each in result.counting if each.rule == "outside-claim"]
    assert said == [each.message for each in result.counting[: len(said)]]
    return said


@pytest.mark.parametrize("slug", CLAIMED)
def test_a_claim_rule_is_tripped_and_not_tripped(slug: str) -> None:
    changes, bad, good = CLAIMED[slug]
    assert slugs(claimed(*changes, claims=[bad]))[slug] == "warning"
    assert slug not in slugs(claimed(*changes, claims=[good]))


@pytest.mark.parametrize(
    ("entry", "claim"),
    [
        (GROWS, "gpu pool grows 2 -> 4"),
        (GROWS, "GPU pools grow from 2 to 4 nodes"),
        (GROWS, "gpu pool 2->4"),
        (GROWS, "gpu pool grows 16 -> 32 GPUs"),
        (GROWS, "pool gpu grows"),
        (GROWS, "gpu pool"),
        (GROWS, "google_container_node_pool updated"),
        (GROWS, "google_container_node_pool.p updated"),
        (GROWS, "google_container_node_pool.p 2 -> 4"),
        (GROWS, "stack:google_container_node_pool.* grows"),
        (LUSTRE_GROWS, "lustre grows 18,000 -> 36,000 GiB"),
        (CHART, "chart kuberay"),
        (CHART, "chart kuberay 1.6.0 -> 1.7.0"),
        (JOB, "job"),
        (JOB, "job changes"),
        (create("google_storage_bucket.b", name="ckpt"), "bucket ckpt created"),
        (destroy("google_storage_bucket.b", name="ckpt"), "bucket removed"),
        (create('google_x.y["a"]'), 'google_x.y["a"] created'),
        (update("a_thing.x", {"size": 1}, {"size": 2}), "a_thing.x 1 -> 2"),
        (create("google_project_iam_member.m", project="p", role="r", member="user:a@b.c"), "grants added"),
        (update("google_container_node_pool.c", CPU_POOL, {**CPU_POOL, "node_count": 3}), "cpu pool grows 1 -> 3"),
    ],
)
def test_what_is_claimed_is_not_outside(entry: dict[str, Any], claim: str) -> None:
    assert outside(claimed(entry, claims=[claim])) == []


@pytest.mark.parametrize(
    ("entry", "claim", "said"),
    [
        (GROWS, "gpu pool grows 2 -> 3", "(2 -> 4 nodes, 16 -> 32 GPUs)"),
        (GROWS, "gpu pool shrinks", "is updated (2 -> 4 nodes"),
        (GROWS, "gpu pool destroyed", "google_container_node_pool.p is updated"),
        (GROWS, "cpu pool grows", "no plan has such a resource"),
        (GROWS, "gpu pool other grows", "no plan has such a resource"),
        (GROWS, "gpu pool grows 2 -> 4 GPUs", "(2 -> 4 nodes, 16 -> 32 GPUs)"),
        (replaced("google_container_node_pool.p", POOL, pool(node_count=4)), "gpu pool grows 2 -> 4", "is replaced"),
        (same("google_container_node_pool.p", **POOL), "gpu pool grows", "does not change"),
    ],
)
def test_a_claim_that_the_plan_does_not_keep_is_said(entry: dict[str, Any], claim: str, said: str) -> None:
    lines = outside(claimed(entry, claims=[claim]))
    assert any(line.startswith(f"claimed and not so: {claim}: ") and said in line for line in lines)


def test_another_argument_of_the_same_resource_is_outside() -> None:
    both = update("google_container_node_pool.p", POOL, pool(node_count=4, node_locations=["a", "b"]))
    (line,) = outside(claimed(both, claims=["google_container_node_pool.p 2 -> 4"]))
    assert line == "outside the claim: google_container_node_pool.p also changes node_locations"
    assert outside(claimed(both, claims=["gpu pool updated"])) == []


def test_what_is_outside_stands_first_whatever_its_gravity() -> None:
    entries = [destroy("google_lustre_instance.l", **LUSTRE), GROWS, *(create(f"a_b.x{n}") for n in range(30))]
    result = claimed(*entries, claims=["gpu pool grows 2 -> 4"])
    assert outside(result) == [
        "outside the claim: google_lustre_instance.l is destroyed",
        "outside the claim: a_b.x0 and 29 more resources are created",
    ]
    assert result.verdict == "dangerous"


def test_without_claims_nothing_is_outside() -> None:
    assert "outside-claim" not in slugs(judged(GROWS))


def test_what_is_read_or_unchanged_needs_no_claim() -> None:
    read = change("a_b.c", ["read"], None, {})
    assert outside(claimed(GROWS, read, same("a_b.d", v=1), claims=["gpu pool grows"])) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "it says nothing"),
        ("is the", "it says nothing"),
        ("something", "something is no address, type, or one of bucket, chart, cluster"),
        ("gpu pool wobbles strongly", "strongly is not understood; write WHAT"),
        ("a_b.c wobbles", "wobbles is not understood"),
        ("gpu pool grows 2 -> 4 apples", "apples is no unit of it; it has gpus, nodes"),
        ("bucket b 1 -> 2 GiB", "GiB is no unit of it; it has none"),
        ("gpu pool grows 2 -> 4 nodes twice", "twice is not understood"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, words: str, said: str) -> None:
    found = parse_claim(words)
    assert isinstance(found, str)
    assert said in found
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(document(GROWS)))
    result = CliRunner().invoke(review, [str(plan), "--claim", words])
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_claims_are_signed_for_and_can_fail_a_pipeline(tmp_path: Path) -> None:
    plan = tmp_path / "gpu.json"
    plan.write_text(json.dumps(document(GROWS)))

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(review, [str(plan), *arguments])

    good = run("--claim", "gpu pool grows 2 -> 4", "--fail-on", "claim")
    assert good.exit_code == 0
    assert "claimed: gpu pool grows 2 -> 4" in good.stdout.partition("To sign")[2]
    assert run("--claim", "bucket created", "--fail-on", "claim").exit_code == 1
    assert run("--claim", "bucket created", "--fail-on", "outside-claim").exit_code == 1
    data = json.loads(run("--claim", "gpu pool grows 2 -> 4", "--format", "json").stdout)
    assert data["approval"]["claims"] == ["gpu pool grows 2 -> 4"]
    assert data["approval"]["digest"] != json.loads(run("--format", "json").stdout)["approval"]["digest"]
