"""What a signature binds: the digest of a report, `review --expect`, and `verify`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from groundplan.commands.review import review
from groundplan.commands.verify import verify
from plan_review.approval import Approval, content_digest, from_data, parse_digest
from review.cases_of_risk import POOL, pool
from review.plans import create, document, update

GROWS = update("google_container_node_pool.p", POOL, pool(node_count=3))
BUCKET = create("google_storage_bucket.b", name="b", location="US")
POLICY = """
from groundplan.review.policy import Resources, Severity, breach, policy


@policy("team-none", Severity.WARNING)
def none(resources: Resources):
    "Nothing is asked."
    return iter(())
"""
TIME = "2026-12-04T10:00:00Z"


def write(folder: Path, name: str, *changes: dict[str, Any], **more: Any) -> Path:
    file = folder / f"{name}.json"
    file.write_text(json.dumps(document(*changes, **more)))
    return file


def run(command: Any, *arguments: object, given: str | None = None) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments], input=given, catch_exceptions=False)


def signed(folder: Path, *plans: object, options: tuple[object, ...] = ()) -> tuple[Path, dict[str, Any]]:
    """A report of the plans, and what is in it."""
    file = folder / "report.json"
    assert run(review, *plans, "--format", "json", "-o", file, *options).exit_code == 0
    return file, json.loads(file.read_text())


@pytest.fixture
def plans(tmp_path: Path) -> list[Path]:
    return [write(tmp_path, "network", BUCKET, timestamp=TIME), write(tmp_path, "gpu", GROWS, timestamp=TIME)]


def test_the_plan_that_was_reviewed_is_verified(tmp_path: Path, plans: list[Path]) -> None:
    report, data = signed(tmp_path, *plans)
    result = run(verify, *plans, "--against", report)
    assert result.exit_code == 0
    assert "as reviewed: network, gpu (2 of 2 stacks" in result.output
    assert data["approval"]["digest"] in result.output


@pytest.mark.parametrize(
    "same",
    [
        {"timestamp": "2026-12-04T11:30:00Z"},  # planned again an hour later
        {"timestamp": TIME, "planned_values": {"root_module": {}}, "prior_state": {"values": {}}},
        {"timestamp": TIME, "relevant_attributes": [{"resource": "a.b", "attribute": ["id"]}]},
        {"timestamp": TIME, "plan_format_version": "0.2", "provider_schemas": {}},
    ],
)
def test_a_plan_that_does_the_same_is_the_same(tmp_path: Path, plans: list[Path], same: dict[str, Any]) -> None:
    report, _ = signed(tmp_path, *plans)
    again = write(tmp_path, "again", GROWS, **same)
    assert run(verify, again, "--against", report).exit_code == 0


def test_order_names_and_packing_do_not_matter(tmp_path: Path, plans: list[Path]) -> None:
    _, one = signed(tmp_path, *plans)
    packed = tmp_path / "other-name.json.gz"
    packed.write_bytes(gzip.compress(plans[1].read_bytes()))
    _, other = signed(tmp_path, packed, plans[0])
    assert one["approval"]["digest"] == other["approval"]["digest"]
    entries = [create("a_b.one"), create("a_b.two")]
    assert content_digest(document(*entries)) == content_digest(document(*entries[::-1]))


@pytest.mark.parametrize(
    ("changes", "more", "said"),
    [
        ([update("google_container_node_pool.p", POOL, pool(node_count=4))], {}, "google_container_node_pool.p: now"),
        ([GROWS, BUCKET], {}, "create of google_storage_bucket.b is new"),
        ([], {}, "update of google_container_node_pool.p is no longer planned"),
        ([create("google_container_node_pool.p", **POOL)], {}, "update in the report, create now"),
        ([GROWS], {"variables": {"x": {"value": 1}}}, "as far as a report shows"),
        ([GROWS], {"terraform_version": "1.12.0"}, "as far as a report shows"),
        ([GROWS], {"configuration": {"root_module": {"resources": [{"address": "a.b"}]}}}, "as far as a report shows"),
    ],
)
def test_any_other_plan_is_refused_and_the_difference_named(
    tmp_path: Path, plans: list[Path], changes: list[dict[str, Any]], more: dict[str, Any], said: str
) -> None:
    report, _ = signed(tmp_path, *plans)
    file = tmp_path / "gpu.json"
    file.write_text(json.dumps({**document(*changes), **more}))
    result = run(verify, file, "--against", report)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "gpu is not the plan that was reviewed:" in result.stderr
    assert said in result.stderr
    form = json.loads(run(verify, file, "--against", report, "--format", "json").output)
    assert (form["verified"], form["mismatches"][0]["stack"]) == (False, "gpu")


def test_a_hidden_value_that_differs_is_refused_and_not_shown(tmp_path: Path) -> None:
    def secret(value: str) -> Path:
        entry = update("google_x.s", {"secret_data": "old-value"}, {"secret_data": value})
        entry["change"] |= {"before_sensitive": {"secret_data": True}, "after_sensitive": {"secret_data": True}}
        return write(tmp_path, "gpu", entry)

    report, _ = signed(tmp_path, secret("first-value"))
    result = run(verify, secret("second-value"), "--against", report)
    assert result.exit_code == 1
    assert "a hidden or long value" in result.stderr
    assert "second-value" not in result.output


def test_one_stack_by_standard_input(tmp_path: Path, plans: list[Path]) -> None:
    report, _ = signed(tmp_path, *plans)
    good = run(verify, "-", "--against", report, given=plans[1].read_text())
    assert (good.exit_code, "as reviewed: gpu (1 of 2 stacks" in good.output) == (0, True)
    other = json.dumps(document(update("google_container_node_pool.p", POOL, pool(node_count=9))))
    bad = run(verify, "-", "--against", report, given=other)
    assert bad.exit_code == 1
    assert "google_container_node_pool.p: now node_count: 2 -> 9" in bad.stderr


def test_expect_refuses_another_report(tmp_path: Path, plans: list[Path]) -> None:
    report, data = signed(tmp_path, *plans)
    digest = data["approval"]["digest"]
    assert run(review, *plans, "--expect", digest).exit_code == 0
    assert run(verify, *plans, "--against", report, "--expect", digest.removeprefix("sha256:")).exit_code == 0
    other = "sha256:" + "0" * 64
    refused = run(review, *plans, "--expect", other)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert digest in refused.stderr and other in refused.stderr
    refused = run(verify, *plans, "--against", report, "--expect", other)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert digest in refused.stderr and other in refused.stderr
    for command, more in ((review, []), (verify, ["--against", report])):
        wrong = run(command, *plans, *more, "--expect", "abc")
        assert (wrong.exit_code, "abc is no approval digest" in wrong.stderr) == (2, True)


def test_whatever_decides_the_verdict_is_in_the_digest(tmp_path: Path, plans: list[Path]) -> None:
    _, plain = signed(tmp_path, *plans)
    prices = tmp_path / "prices.yaml"
    digests = {plain["approval"]["digest"]}
    for text in ("1.00", "2.00"):
        prices.write_text(f"date: 2026-11-30\ncurrency: USD\nsource: contract\ngpus: {{nvidia-b200: {text}}}\n")
        digests.add(signed(tmp_path, *plans, options=("--prices", prices))[1]["approval"]["digest"])
    for reason in ("window on Friday", "window on Monday"):
        options = ("--ignore", f"gpu-capacity-grows@google_container_node_pool.p={reason}")
        _, data = signed(tmp_path, *plans, options=options)
        digests.add(data["approval"]["digest"])
        assert data["approval"]["accepted"] == [f"gpu-capacity-grows@google_container_node_pool.p: {reason}"]
    policy = tmp_path / "team.py"
    policy.write_text(POLICY)
    digests.add(signed(tmp_path, *plans, options=("--policy", policy))[1]["approval"]["digest"])
    assert len(digests) == 6


def test_every_format_carries_the_digest(tmp_path: Path, plans: list[Path]) -> None:
    _, data = signed(tmp_path, *plans)
    for form in ("text", "markdown", "html"):
        output = run(review, *plans, "--format", form).output
        assert data["approval"]["digest"] in output, form
        assert TIME in output, form


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "is not JSON"),
        ("[]", "is no report of a review"),
        ('{"verdict": "safe", "stacks": [], "made_from": {}}', "carries no approval"),
        ('{"verdict": "safe", "stacks": [], "made_from": {}, "approval": {"digest": "sha256:0"}}', "was altered"),
        ('{"verdict": "safe", "stacks": [], "made_from": {}, "approval": 3}', "was altered"),
    ],
)
def test_what_is_no_signed_report_is_refused(tmp_path: Path, plans: list[Path], given: str, said: str) -> None:
    report = tmp_path / "report.json"
    report.write_text(given)
    result = run(verify, *plans, "--against", report)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr and "report.json" in result.stderr
    absent = run(verify, *plans, "--against", tmp_path / "absent.json")
    assert (absent.exit_code, "absent.json: No such file" in absent.stderr) == (2, True)


def test_an_altered_report_is_refused(tmp_path: Path, plans: list[Path]) -> None:
    report, data = signed(tmp_path, *plans)
    other = content_digest(document(create("a_b.c")))
    report.write_text(report.read_text().replace(data["approval"]["plans"][0]["content"], other))
    result = run(verify, *plans, "--against", report)
    assert (result.exit_code, "was altered" in result.stderr) == (2, True)


def test_a_difference_of_outputs_has_nothing_to_sign(tmp_path: Path) -> None:
    approval = Approval((("a", "0" * 64, ""),))
    assert from_data(approval.data()) == approval
    assert from_data({**approval.data(), "claims": ["x"]}) is None
    assert from_data(None) is None
    assert parse_digest("SHA256:" + "A" * 64) == "sha256:" + "a" * 64
    assert parse_digest("a" * 63) is None
