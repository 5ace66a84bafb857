"""`review --drift`: what somebody changed by hand, by value, and what the next apply makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from groundplan.commands.review import review
from review.cases_of_risk import FIREWALL, LUSTRE
from review.plans import document, same, update

Object = dict[str, Any]

CLOSED = {**FIREWALL, "source_ranges": ["10.0.0.0/8"]}
OPEN = {**FIREWALL, "source_ranges": ["0.0.0.0/0"]}
SUBNETWORK = {"name": "s", "ip_cidr_range": "10.0.0.0/20", "private_ip_google_access": True, "network": "n"}


def entry(kind: str, before: Object, after: Object | None) -> Object:
    body = {"actions": ["delete" if after is None else "update"], "before": before, "after": after}
    return {"address": f"{kind}.x", "mode": "managed", "type": kind, "name": "x", "change": body}


def constants(of: Object) -> Object:
    return {key: {"constant_value": value} for key, value in of.items()}


def refreshed(*drift: Object, written: dict[str, Object], state: dict[str, Object] | None = None) -> Object:
    """A plan of `terraform plan -refresh-only`: no changes, what drifted, the state as it was read."""
    resources = [
        {"address": f"{kind}.x", "type": kind, "name": "x", "expressions": constants(of)}
        for kind, of in written.items()
    ]
    standing = [
        {"address": f"{kind}.y", "mode": "managed", "type": kind, "name": "y", "values": of}
        for kind, of in (state or {}).items()
    ]
    return {
        "format_version": "1.2",
        "terraform_version": "1.11.4",
        "resource_drift": list(drift),
        "configuration": {"root_module": {"resources": resources}},
        "prior_state": {"values": {"root_module": {"resources": standing}}},
    }


FIREWALL_OPENED = refreshed(entry("google_compute_firewall", CLOSED, OPEN), written={"google_compute_firewall": CLOSED})
LUSTRE_GONE = refreshed(entry("google_lustre_instance", LUSTRE, None), written={"google_lustre_instance": LUSTRE})
CLEAN = refreshed(written={"google_lustre_instance": LUSTRE}, state={"google_lustre_instance": LUSTRE})


def run(folder: Path, *arguments: str, **plans: Object) -> Result:
    for name, plan in plans.items():
        (folder / f"{name}.json").write_text(json.dumps(plan))
    files = [str(folder / f"{name}.json") for name in plans]
    return CliRunner().invoke(review, ["--drift", *files, *arguments], catch_exceptions=False)


def test_what_was_opened_and_deleted_by_hand_stands_on_top(tmp_path: Path) -> None:
    result = run(tmp_path, network=FIREWALL_OPENED, storage=LUSTRE_GONE, gpu=CLEAN)
    assert result.exit_code == 0
    head = result.output.splitlines()[:5]
    assert head == [
        "DRIFT, DANGEROUS: 1 deleted and 1 changed by hand in 2 of 3 stacks",
        " 1. storage: google_lustre_instance.x was deleted",
        "    => the next apply makes it anew, empty",
        ' 2. network: google_compute_firewall.x was changed: source_ranges: "10.0.0.0/8" -> "0.0.0.0/0"',
        "    => the next apply puts it back, in place",
    ]
    judged = result.output.partition("judged as if it had been planned")[2].partition("What the next apply")[0]
    assert "[firewall-open]" in judged
    assert "terraform -chdir=stacks/network plan -out plan.tfplan" in result.output
    assert "-refresh-only alone does not keep it" in result.output


def test_a_site_that_nobody_touched(tmp_path: Path) -> None:
    result = run(tmp_path, storage=CLEAN)
    assert result.output.startswith("NO DRIFT: nothing was changed by hand in 1 stack\n")
    assert run(tmp_path, "--fail-on", "changed-outside", storage=CLEAN).exit_code == 0


@pytest.mark.parametrize(
    ("kind", "was", "now", "config", "said"),
    [
        (
            "google_compute_subnetwork",
            SUBNETWORK,
            {**SUBNETWORK, "ip_cidr_range": "10.0.0.0/19"},  # widened by hand: put back, it narrows
            SUBNETWORK,
            "REPLACES it to put that back (ip_cidr_range cannot be changed in place)",
        ),
        (
            "google_compute_subnetwork",
            SUBNETWORK,
            {**SUBNETWORK, "private_ip_google_access": False},
            SUBNETWORK,
            "puts it back, in place",
        ),
        (
            "google_compute_subnetwork",
            SUBNETWORK,
            {**SUBNETWORK, "private_ip_google_access": False},
            {**SUBNETWORK, "private_ip_google_access": False},
            "leaves it so: the configuration says the same",
        ),
        ("google_lustre_instance", LUSTRE, None, None, "leaves it so: the configuration does not have it any more"),
    ],
)
def test_what_the_next_apply_does(
    tmp_path: Path, kind: str, was: Object, now: Object | None, config: Object | None, said: str
) -> None:
    plan = refreshed(entry(kind, was, now), written={kind: config} if config else {})
    if config is None:
        plan["configuration"]["root_module"]["resources"] = [{"address": "a_b.c", "expressions": {}}]
    result = run(tmp_path, network=plan)
    assert said in result.output
    leaves = "leaves it so" in said
    assert ("apply -refresh-only" in result.output.partition("What to do")[2]) == leaves
    assert ("to put it back" in result.output) == (not leaves)


def test_only_what_is_configured_is_told(tmp_path: Path) -> None:
    was = {**SUBNETWORK, "fingerprint": "a", "creation_timestamp": "1"}
    now = {**SUBNETWORK, "fingerprint": "b", "creation_timestamp": "2", "private_ip_google_access": False}
    plan = refreshed(entry("google_compute_subnetwork", was, now), written={"google_compute_subnetwork": SUBNETWORK})
    (item,) = json.loads(run(tmp_path, "--format", "json", network=plan).output)["drift"]
    assert item["differences"] == [{"path": "private_ip_google_access", "state": "true", "now": "false"}]
    assert (item["what"], item["next_apply"]) == ("changed", "update")


def test_what_stands_beside_is_known_to_the_rules(tmp_path: Path) -> None:
    """A range that is a subnetwork of the site is no opening; without the state it would be one."""
    ports = {**FIREWALL, "allow": [{"protocol": "tcp", "ports": ["0-65535"]}]}
    was, now = {**ports, "source_ranges": ["10.9.0.0/28"]}, {**ports, "source_ranges": ["10.9.0.0/24"]}
    drift = entry("google_compute_firewall", was, now)
    subnetwork = {**SUBNETWORK, "ip_cidr_range": "10.9.0.0/20"}
    known = refreshed(drift, written={"google_compute_firewall": was}, state={"google_compute_subnetwork": subnetwork})
    assert "DANGEROUS" not in run(tmp_path, network=known).output
    assert "DANGEROUS" in run(tmp_path, network=refreshed(drift, written={"google_compute_firewall": was})).output


def test_an_accepted_drift_is_listed_and_does_not_fail(tmp_path: Path) -> None:
    accept = "changed-outside@google_compute_firewall.x=opened for the audit until Friday"
    arguments = ("--fail-on", "changed-outside,dangerous")
    assert run(tmp_path, *arguments, network=FIREWALL_OPENED).exit_code == 1
    result = run(tmp_path, *arguments, "--ignore", accept, network=FIREWALL_OPENED)
    assert result.exit_code == 0
    assert result.output.startswith("NO DRIFT: nothing was changed by hand in 1 stack; 1 more accepted")
    assert "opened for the audit until Friday" in result.output
    other = run(tmp_path, "--ignore", "changed-outside@a_b.c=no such thing", network=FIREWALL_OPENED)
    assert "changed-outside@a_b.c: nothing is accepted by it" in other.output


def test_a_sensitive_value_is_not_shown(tmp_path: Path) -> None:
    drift = entry("google_x", {"password": "old-password"}, {"password": "new-password"})
    drift["change"] |= {"before_sensitive": {"password": True}, "after_sensitive": {"password": True}}
    plan = refreshed(drift, written={"google_x": {"password": "old-password"}})
    for form in ("text", "markdown", "json"):
        output = run(tmp_path, "--format", form, network=plan).output
        assert "google_x.x" in output
        assert "old-password" not in output and "new-password" not in output


def test_a_plan_with_changes_is_said_to_be_none_of_refresh_only(tmp_path: Path) -> None:
    plan = {**FIREWALL_OPENED, **document(update("a_b.c", {"v": 1}, {"v": 2}), same("a_b.d"))}
    result = run(tmp_path, network=plan)
    assert "network: not of `plan -refresh-only`" in result.output
    assert "a_b.c" not in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--format", "html"), "a drift report has the formats text, markdown, json"),
        (("--claim", "gpu pool grows"), "claims are about what a plan does"),
        (("--expect", "0" * 64), "a drift report approves nothing"),
    ],
)
def test_what_a_drift_report_has_not(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    result = run(tmp_path, *arguments, network=CLEAN)
    assert (result.exit_code, said in result.output) == (2, True)


def test_each_format_is_the_same_twice(tmp_path: Path) -> None:
    for form in ("text", "markdown", "json"):
        one, other = (run(tmp_path, "--format", form, a=FIREWALL_OPENED, b=LUSTRE_GONE).output for _ in range(2))
        assert one == other
        assert "0.0.0.0/0" in one
