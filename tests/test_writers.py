"""One finding reads the same in every format, whichever command writes it; nothing secret passes the last guard."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from findings import RULES, Finding, Location, Registry, Rule, Severity, Subject, writers
from findings.printing import print_report
from groundplan.cli import cli
from staged_terraform import Report

PLAN = Finding(
    "firewall-open",
    Severity.ERROR,
    "it admits everyone",
    "name sources",
    address="google_compute_firewall.f",
    stack="net",
    category="open",
    consequence="the nodes are reached",
    location=Location("net.json", 1, 1),
)
PROFILE = Finding(
    "nat-off",
    Severity.WARNING,
    "50% off: none, ever",
    "set it",
    ("network", "nat"),
    location=Location("a b.yaml", 3, 5),
)


def test_data_has_all_keys_for_every_kind_of_finding() -> None:
    assert writers.finding_data(PLAN).keys() == writers.finding_data(PROFILE).keys()
    assert writers.finding_data(PLAN) == {
        "rule": "firewall-open",
        "severity": "error",
        "category": "open",
        "message": "it admits everyone",
        "consequence": "the nodes are reached",
        "hint": "name sources",
        "path": "",
        "stack": "net",
        "address": "google_compute_firewall.f",
        "file": "net.json",
        "line": 1,
        "column": 1,
        "standing": False,
        "ignored": None,
    }


def test_annotations_escape_what_github_reads() -> None:
    assert writers.as_github([PROFILE]) == (
        "::warning file=a b.yaml,line=3,col=5,title=nat-off::50%25 off: none, ever%0Ahelp: set it\n"
    )
    comma = Finding("r", Severity.ERROR, "m", "h", location=Location("a,b:c.yaml", 1, 2))
    assert writers.as_github([comma]) == "::error file=a%2Cb%3Ac.yaml,line=1,col=2,title=r::m%0Ahelp: h\n"


def test_what_does_not_count_is_a_notice_and_suppressed() -> None:
    from dataclasses import replace

    ignored, standing = replace(PLAN, ignored="known"), replace(PLAN, standing=True)
    assert writers.as_github([ignored, standing]).splitlines() == [
        "::notice file=net.json,line=1,col=1,title=ignored%3A firewall-open::it admits everyone; the nodes are reached"
        "%0Aignored: known",
        "::notice file=net.json,line=1,col=1,title=was so before%3A firewall-open::it admits everyone; the nodes are "
        "reached%0Ahelp: name sources",
    ]
    (run,) = json.loads(writers.as_sarif("t", "1", [PLAN, ignored, standing], {}))["runs"]
    assert [each.get("suppressions") for each in run["results"]] == [
        None,
        [{"kind": "inSource", "justification": "known"}],
        [{"kind": "external", "justification": "it was so before the plan"}],
    ]


def test_sarif_names_tool_rule_and_place() -> None:
    entry = Rule("nat-off", Severity.WARNING, lambda _: iter(()), "network", page="No NAT.\n\nSource: x.")
    (run,) = json.loads(writers.as_sarif("tool", "7", [PROFILE, PLAN], {"nat-off": entry}))["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("tool", "7")
    assert driver["rules"][0]["properties"]["tags"] == ["site", "network"]
    assert driver["rules"][1] == {
        "id": "firewall-open",
        "shortDescription": {"text": "The input cannot be read as what it should be."},
    }
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("nat-off", 0, "warning")
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b.yaml"},
        "region": {"startLine": 3, "startColumn": 5},
    }
    assert second["partialFingerprints"] == {"ruleAndPlace/v1": "firewall-open:net:google_compute_firewall.f"}
    assert second["message"] == {"text": "it admits everyone; the nodes are reached. name sources"}


def test_the_registry_holds_a_slug_once_for_profiles_and_once_for_plans() -> None:
    registry = Registry()

    def entry(subject: Subject, page: str = "It is so.") -> Rule:
        return Rule("a", Severity.ERROR, lambda _: iter(()), "t", subject, page)

    registry.add(entry(Subject.SITE))
    registry.add(entry(Subject.PLAN))
    with pytest.raises(ValueError, match="rule a is registered twice"):
        registry.add(entry(Subject.FLEET))
    with pytest.raises(ValueError, match="rule a has no docstring"):
        registry.add(entry(Subject.REHEARSAL, ""))
    assert [each.subject for each in registry.named("a")] == [Subject.SITE, Subject.PLAN]


def test_source_and_mend_are_read_from_the_page() -> None:
    page = "It is so.\n\nSource: a page,\nsection 2.\n\nMend: change\nit."
    entry = Rule("a", Severity.ERROR, lambda _: iter(()), "t", page=page)
    assert (entry.source, entry.mend) == ("a page, section 2.", "change it.")


def test_the_last_guard_of_every_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = "hf_" + "aB3" * 8
    print_report(f"fine\nwith {token}\n", "groundplan check")
    shown = capsys.readouterr()
    assert shown.out == "fine\nwith ********\n"
    assert shown.err == "groundplan check: masked 1 lines of the report that look secret\n"
    print_report(f"{token}\n", "groundplan review", tmp_path / "report")
    assert (tmp_path / "report").read_text("utf-8") == "********\n"


def test_check_and_rehearse_go_through_the_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format that forgot to mask: its text is replaced by one with a token."""
    from groundplan.commands import check, rehearse

    token = "hf_" + "aB3" * 8
    profile = tmp_path / "a.yaml"
    profile.write_text("project: my-project\nzone: us-central1-b\nreservation: r\n", "utf-8")
    monkeypatch.setattr(check, "_render", lambda form, results: f"leaked {token}\n")
    assert CliRunner().invoke(cli, ["check", str(profile), "--format", "json"]).stdout == "leaked ********\n"
    monkeypatch.setattr("groundplan.emit.rehearsal.rehearse", lambda *_: Report("plan"))
    monkeypatch.setattr(rehearse, "_render", lambda form, report, profile: f"leaked {token}\n")
    assert CliRunner().invoke(cli, ["rehearse", str(profile)]).stdout == "leaked ********\n"


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_rehearse_writes_for_programs(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report("plan", findings=[Finding("rehearsal-plan", Severity.ERROR, "no", "mend", address="gpu: a.b")])
    monkeypatch.setattr("groundplan.emit.rehearsal.rehearse", lambda *_: report)
    profile = tmp_path / "a.yaml"
    profile.write_text("project: my-project\nzone: us-central1-b\nreservation: r\n", "utf-8")
    shown = CliRunner().invoke(cli, ["rehearse", str(profile), "--format", form])
    assert shown.exit_code == 1, shown.output
    if form == "github":
        assert shown.stdout == f"::error file={profile},line=1,col=1,title=rehearsal-plan::no%0Ahelp: mend\n"
    elif form == "json":
        assert json.loads(shown.stdout)["findings"][0]["address"] == "gpu: a.b"
    else:
        (run,) = json.loads(shown.stdout)["runs"]
        slugs = [each["id"] for each in run["tool"]["driver"]["rules"]]
        assert slugs == list(RULES.of(Subject.REHEARSAL))
        assert run["results"][0]["ruleIndex"] == slugs.index("rehearsal-plan")
