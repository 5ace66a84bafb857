"""No report ever shows a secret: neither what Terraform marks as sensitive nor what looks like a token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from findings.redaction import looks_secret, printable_report
from groundplan.commands.review import review
from plan_review import html, markdown, programs, text
from review.plans import change, create, document, judged, update

TOKEN = "hf_abcdefghijklmnopqrstuvwxyz"
MARKED = "correct horse battery staple"

CHANGES: dict[str, list[dict[str, Any]]] = {
    "token in values": [create("helm_release.r", name="r", values=[f"env:\n- name: HF_TOKEN\n  value: {TOKEN}\n"])],
    "token changed in a script": [
        update(
            "helm_release.r",
            {"name": "r", "values": ["script: |\n  a\n  b\n"]},
            {"name": "r", "values": [f"script: |\n  a\n  export T={TOKEN}\n"]},
        )
    ],
    "token as a name": [create("google_storage_bucket.b", name=TOKEN)],
    "token in an address": [create(f'a_b.c["{TOKEN}"]', name="x")],
    "token removed": [update("a_b.c", {"note": TOKEN}, {"note": "none"})],
    "token in a map": [update("a_b.c", {"env": {"A": "1"}}, {"env": {"A": TOKEN}})],
    "token as a key": [update("a_b.c", {"env": {}}, {"env": {TOKEN: "1"}})],
    "marked whole": [update("a_b.c", {"x": "old"}, {"x": MARKED}, before_sensitive=True, after_sensitive=True)],
    "marked leaf": [update("a_b.c", {"x": MARKED}, {"x": "new"}, before_sensitive={"x": True}, after_sensitive={})],
    "marked in a list": [
        update("a_b.c", {"x": [{"y": "o"}]}, {"x": [{"y": MARKED}]}, after_sensitive={"x": [{"y": True}]})
    ],
    "marked in a list of other length": [
        update("a_b.c", {"x": []}, {"x": [{"y": MARKED}]}, after_sensitive={"x": [{"y": True}]})
    ],
    "password by name": [update("a_b.c", {"password": "old"}, {"password": MARKED})],
    "password within": [update("a_b.c", {"x": []}, {"x": [{"db_password": MARKED}]})],
    "secret data": [create("kubernetes_secret_v1.s", metadata=[{"name": "s"}], data={"t": MARKED})],
    "forcing": [
        change(
            "a_b.c",
            ["delete", "create"],
            {"token": "old"},
            {"token": MARKED},
            replace_paths=[["token"]],
            after_sensitive={"token": True},
            before_sensitive={"token": True},
        )
    ],
    "hidden name in a rule's message": [
        create("google_storage_bucket_iam_member.m", bucket=MARKED, role="roles/x", member="allUsers")
        | {
            "change": {
                "actions": ["create"],
                "before": None,
                "after_sensitive": {"bucket": True},
                "after_unknown": {},
                "after": {"bucket": MARKED, "role": "roles/x", "member": "allUsers"},
            }
        }
    ],
    "hidden network": [
        change("google_compute_network.n", ["create"], None, {"name": MARKED}, after_sensitive={"name": True})
    ],
    "hidden job": [
        change(
            "helm_release.r",
            ["update"],
            {"name": "r", "values": ["kind: RayJob\napiVersion: v\nmetadata: {name: old}\n"]},
            {"name": "r", "values": [f"kind: RayJob\napiVersion: v\nmetadata: {{name: {MARKED}}}\n"]},
            after_sensitive={"values": True},
        )
    ],
    "output": [],
    "variable": [],
}


@pytest.mark.parametrize("case", CHANGES)
def test_no_format_shows_it(case: str) -> None:
    more: dict[str, Any] = {}
    if case == "output":
        hidden = {"actions": ["create"], "before": None, "after": MARKED, "after_sensitive": True}
        shown = {"actions": ["create"], "before": None, "after": TOKEN}
        more["output_changes"] = {"hidden": hidden, "shown": shown}
    if case == "variable":
        more["variables"] = {"hf_token": {"value": MARKED}, "note": {"value": TOKEN}}
    result = judged(*CHANGES[case], more=more)
    for render in (text.render, markdown.render, html.render, programs.as_json, programs.as_sarif):
        report = render(result)
        assert TOKEN not in report
        assert TOKEN[3:] not in report
        assert MARKED not in report


@pytest.mark.parametrize(
    "case", ["token in values", "token changed in a script", "token as a name", "variable", "output"]
)
def test_a_token_that_a_plan_shows_is_dangerous(case: str) -> None:
    more: dict[str, Any] = {}
    if case == "output":
        more["output_changes"] = {"shown": {"actions": ["create"], "before": None, "after": TOKEN}}
    if case == "variable":
        more["variables"] = {"note": {"value": TOKEN}}
    result = judged(*CHANGES[case], more=more)
    assert result.verdict == "dangerous"
    assert {each.rule for each in result.counting} - {"unjudged-update"} == {"secret-value"}


def test_a_variable_that_is_declared_sensitive_is_not_shown() -> None:
    configuration = {"root_module": {"variables": {"hf_token": {"sensitive": True}}}}
    result = judged(more={"variables": {"hf_token": {"value": MARKED}}, "configuration": configuration})
    assert result.verdict == "safe"


@pytest.mark.parametrize(
    "values",
    [
        {"name": "hf-token", "secret": "hf-token"},
        {"env": [{"name": "HF_TOKEN", "value_from": [{"secret_key_ref": [{"name": "hf", "key": "token"}]}]}]},
        {"wait_for_service_account_token": True},
        {"password": None},
        {"token": "${var.token}"},
        {"data_wo_revision": 1, "metadata": [{"name": "token"}]},
    ],
)
def test_references_are_no_secrets(values: dict[str, Any]) -> None:
    assert judged(create("a_b.c", **values)).verdict == "safe"


def test_a_terminal_gets_no_control_characters() -> None:
    report = text.render(judged(update("a_b.c", {"x": "a"}, {"x": "b\x1b[2J\u202e\nline"})))
    assert "\x1b" not in report
    assert "\u202e" not in report


def test_an_opening_is_seen_through_a_mark() -> None:
    rule = {"name": "f", "allow": [{"protocol": "tcp", "ports": ["22"]}], "source_ranges": ["0.0.0.0/0"]}
    marked = change("google_compute_firewall.f", ["create"], None, rule, after_sensitive={"source_ranges": True})
    result = judged(marked)
    assert {each.rule for each in result.counting} == {"firewall-open"}
    assert "0.0.0.0/0" not in text.render(result)


def test_the_last_guard_masks_what_a_format_forgot() -> None:
    report = f"safe\n  note: {TOKEN}\nnote: done\n"
    assert looks_secret(report)
    assert printable_report(report) == ("safe\n  note: ********\nnote: done\n", 1)
    assert printable_report("nothing\n of the kind\n") == ("nothing\n of the kind\n", 0)


@pytest.mark.parametrize(
    ("form", "module", "name"),
    [
        ("text", text, "render"),
        ("markdown", markdown, "render"),
        ("html", html, "render"),
        ("json", programs, "as_json"),
        ("sarif", programs, "as_sarif"),
    ],
)
def test_every_report_passes_the_last_guard(
    form: str, module: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, lambda *_: f"a careless format: {TOKEN}\n")
    (tmp_path / "plan.json").write_text(json.dumps(document(create("a_b.c", name="x"))), "utf-8")
    result = CliRunner().invoke(review, [str(tmp_path / "plan.json"), "--format", form])
    assert result.stdout == "a careless format: ********\n"
    assert "masked 1 lines" in result.stderr


VALUES = "env:\n- name: HF_TOKEN\n  value: {}\n- name: MODE\n  value: {}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (VALUES.format("letmein", "a"), VALUES.format("openup", "b")),
        ("env: []\n", VALUES.format("letmein", "a")),
        ("script: |\n  set -e\n  export HF_TOKEN=letmein\n", "script: |\n  set -e\n  export HF_TOKEN=openup\n"),
        ("wandb:\n  api_key: letmein\n", "wandb:\n  api_key: openup\n"),
    ],
)
def test_a_changed_literal_of_a_release_is_not_shown(before: str, after: str) -> None:
    """It has no look of its own: the name that it is given to tells."""
    result = judged(update("helm_release.r", {"name": "r", "values": [before]}, {"name": "r", "values": [after]}))
    for render in (text.render, markdown.render, html.render, programs.as_json, programs.as_sarif):
        shown = render(result)
        assert "letmein" not in shown
        assert "openup" not in shown


def test_other_variables_are_shown() -> None:
    before, after = VALUES.format("x", "fast"), VALUES.format("x", "slow")
    result = judged(update("helm_release.r", {"name": "r", "values": [before]}, {"name": "r", "values": [after]}))
    assert 'env[MODE].value: "fast" -> "slow"' in text.render(result)
