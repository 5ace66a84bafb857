"""The commands: exit codes, options, formats, prices, ignores, own policies."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from groundplan import __version__
from groundplan.commands.review import diff, review
from review.cases_of_risk import FIREWALL, LUSTRE, POOL, pool
from review.cases_of_size import job
from review.plans import change, create, destroy, document, replaced, same, update


def write(folder: Path, *changes: dict[str, Any], name: str = "gpu.json", **more: Any) -> str:
    (folder / name).write_text(json.dumps(document(*changes, **more)))
    return str(folder / name)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(review, list(arguments))


DRIVER = replaced(
    "google_container_node_pool.p", POOL, pool(labels={}), replace_paths=[["node_config", 0, "guest_accelerator"]]
)


@pytest.mark.parametrize(
    ("change", "hits", "misses"),
    [
        (DRIVER, ["dangerous", "decision", "replace", "resource-replaced"], ["destroy", "data", "open", "secret"]),
        (
            replaced("google_lustre_instance.l", LUSTRE, LUSTRE, replace_paths=[["location"]]),
            ["dangerous", "replace", "data"],
            ["destroy"],
        ),
        (destroy("google_lustre_instance.l", **LUSTRE), ["destroy", "data"], ["replace"]),
        (update("google_container_node_pool.p", POOL, pool(node_count=3)), ["decision", "capacity"], ["dangerous"]),
        (create("google_compute_firewall.f", **FIREWALL), ["open", "dangerous", "firewall-open"], ["replace"]),
        (create("a_b.c"), [], ["dangerous", "decision", "replace", "destroy", "open", "secret", "unprotect"]),
    ],
)
def test_fail_on_sets_the_exit_code(tmp_path: Path, change: dict[str, Any], hits: list[str], misses: list[str]) -> None:
    plan = write(tmp_path, change)
    assert run(plan).exit_code == 0
    for word in hits:
        result = run(plan, "--fail-on", word)
        assert (word, result.exit_code) == (word, 1)
        assert f"failing on {word}" in result.stderr
    for word in misses:
        assert (word, run(plan, "--fail-on", word).exit_code) == (word, 0)


def test_fail_on_takes_several_words_and_refuses_unknown_ones(tmp_path: Path) -> None:
    plan = write(tmp_path, DRIVER)
    assert run(plan, "--fail-on", "open,replace").exit_code == 1
    result = run(plan, "--fail-on", "dangerus")
    assert result.exit_code == 2
    assert "dangerus is no verdict" in result.stderr


def test_an_accepted_rule_does_not_fail(tmp_path: Path) -> None:
    plan = write(tmp_path, DRIVER)
    accept = "resource-replaced@google_container_node_pool.p=the job ended on Friday"
    result = run(plan, "--fail-on", "replace", "--ignore", accept)
    assert result.exit_code == 0
    assert result.stdout.startswith("ACCEPTED: 1 to replace")
    first = "\n".join(result.stdout.splitlines()[:10])
    assert "accepted: GPU pool gpu is replaced" in first
    assert "(reason: the job ended on Friday)" in first


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("resource-replaced", "write 'RULE@ADDRESS=REASON'"),
        ("resource-replaced=the job ended", "write 'resource-replaced@ADDRESS=the job ended'"),
        ("resource-replaced@a.b", "write 'RULE@ADDRESS=REASON'"),
        ("resource-replacd@a.b=x", "resource-replacd is no rule on plans"),
    ],
)
def test_an_acceptance_names_a_resource(tmp_path: Path, given: str, says: str) -> None:
    result = run(write(tmp_path, DRIVER), "--ignore", given)
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.replace("│", " ").split())


def test_the_profile_gives_its_ignores_and_its_hash(tmp_path: Path) -> None:
    profile = tmp_path / "site.yaml"
    head = "project: p-123456\nzone: us-central1-b\nreservation: r\n"
    entry = "rule: firewall-open, reason: a laboratory network"
    profile.write_text(f"{head}ignore:\n- {{{entry}}}\n")
    plan = write(tmp_path, create("google_compute_firewall.f", **FIREWALL))
    bare = run(plan, "--profile", str(profile)).stdout
    assert bare.startswith("DANGEROUS: ")
    assert "firewall-open: not accepted, for what is grave, or goes, must be named by its address" in bare
    text = f"{head}ignore:\n- {{{entry}, address: google_compute_firewall.f}}\n"
    profile.write_text(text)
    result = run(plan, "--profile", str(profile))
    assert result.stdout.startswith("ACCEPTED: ")
    assert "reason: a laboratory network" in result.stdout
    # sha256sum of the file's text
    import hashlib

    assert f"site.yaml sha256:{hashlib.sha256(text.encode()).hexdigest()}" in result.stdout


PRICES = """\
date: 2026-11-30
currency: USD
source: contract 4711
gpus: {nvidia-b200: 2}
lustre: {500: 0.5}
"""


def test_cost_comes_from_the_users_dated_file_alone(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    plan = write(
        tmp_path,
        update("google_container_node_pool.p", POOL, pool(node_count=3)),
        same("google_lustre_instance.l", **LUSTRE),
        same("google_container_node_pool.c", name="c", node_count=1, node_config=[{"machine_type": "n2-standard-8"}]),
    )
    assert "USD" not in run(plan).stdout
    said = run(plan, "--prices", str(prices)).stdout
    # 16 GPUs x 730 h x 2 + 36,000 GiB x 0.5 = 23,360 + 18,000; a node more is 8 x 730 x 2 = 11,680
    assert "USD 41,360 -> USD 53,040 a month (+USD 11,680)" in said
    assert "prices of 2026-11-30, source: contract 4711" in said
    assert "without a price, so not in the sum: n2-standard-8" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpus: {x: 1}\n", "`date` must be the day"),
        ("date: 2026-11-30\nsource: s\n", "`currency` is missing"),
        (PRICES + "tpus: {}\n", "unknown key tpus"),
        (PRICES.replace("2}", "cheap}"), "`gpus.nvidia-b200` must be a number"),
        (PRICES.replace("2}", "-2}"), "`gpus.nvidia-b200` must be a number"),
        ("- 1\n", "must be a mapping"),
        ("{", "is not YAML"),
    ],
)
def test_a_wrong_price_file_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(text)
    result = run(write(tmp_path), "--prices", str(prices))
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


class Loads(HTMLParser):
    """Everything that a page would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "link", "img", "iframe", "object", "embed", "form"):
            self.found.append(tag)
        self.found += [name for name, _ in attrs if name in ("src", "href") or name.startswith("on")]


HOSTILE = '<script>alert(1)</script>|`x`@user"]; end\n# title'


def test_the_page_stands_alone_and_escapes(tmp_path: Path) -> None:
    plan = write(
        tmp_path,
        create("google_compute_network.n", name=HOSTILE),
        update(f"google_storage_bucket.{HOSTILE}", {"name": HOSTILE, "x": "a"}, {"name": HOSTILE, "x": HOSTILE}),
        destroy("google_container_node_pool.p", **pool(name=HOSTILE)),
    )
    result = run(plan, "--format", "html")
    page = Loads()
    page.feed(result.stdout)
    assert page.found == []
    assert "<script" not in result.stdout
    assert "url(" not in result.stdout
    assert "prefers-color-scheme: dark" in result.stdout
    assert "@media print" in result.stdout


def test_a_comment_mentions_nobody_and_ends_no_block(tmp_path: Path) -> None:
    plan = write(
        tmp_path,
        create("google_compute_network.n", name=HOSTILE),
        destroy("google_container_node_pool.p", **pool(name=HOSTILE)),
        create("google_project_iam_member.m", project="p", role="roles/x", member="user:a@example.com"),
    )
    comment = run(plan, "--format", "markdown").stdout
    assert "<script" not in comment
    (drawing,) = comment.split("```mermaid\n")[1:]
    drawing = drawing.partition("```")[0]
    assert "@" not in drawing
    assert "`" not in drawing
    prose = "\n".join(line for line in comment.splitlines() if "`" not in line)
    assert "@user" not in prose
    assert "\n# title" not in comment


def test_a_comment_fits_however_much_changes(tmp_path: Path) -> None:
    changes = [update(f"google_storage_bucket.b{n}", {"x": "a" * 90}, {"x": "ü" * 90}) for n in range(3000)]
    changes += [destroy(f"google_container_node_pool.p{n}", **pool(name=f"pool-{n}")) for n in range(300)]
    comment = run(write(tmp_path, *changes), "--format", "markdown").stdout
    assert len(comment.encode()) <= 65_536
    assert comment.startswith("## 🔴 Dangerous: 300 to destroy, 3,000 to update")
    assert "GPU pool pool-0 and 299 more google_container_node_pool are destroyed" in comment.splitlines()[2]
    assert "600 nodes and 4,800 B200 GPUs in all" in comment.splitlines()[2]
    assert comment.count("<details>") == comment.count("</details>")
    assert comment.count("```") % 2 == 0
    assert "--format html" in comment


def test_json_says_the_same(tmp_path: Path) -> None:
    data = json.loads(run(write(tmp_path, DRIVER), "--format", "json").stdout)
    assert data["verdict"] == "dangerous"
    assert data["actions"] == {"replace": 1}
    (finding,) = data["findings"]
    assert (finding["rule"], finding["category"], finding["severity"]) == ("resource-replaced", "replace", "error")
    assert finding["address"] == "google_container_node_pool.p"
    (gpus,) = [line for line in data["capacity"] if line["kind"] == "GPU"]
    assert (gpus["name"], gpus["before"], gpus["after"], gpus["source"]) == ("nvidia-b200", 16, 16, "reservation r")
    assert data["groundplan"] == __version__


#: What code scanning needs of SARIF 2.1.0, from its specification (3.19, 3.27, 3.28, 3.35).
SARIF = {
    "type": "object",
    "required": ["$schema", "version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "items": {
                "required": ["tool", "results"],
                "properties": {
                    "tool": {"required": ["driver"], "properties": {"driver": {"required": ["name", "rules"]}}},
                    "results": {
                        "minItems": 1,
                        "items": {
                            "required": ["ruleId", "ruleIndex", "level", "message", "locations"],
                            "properties": {
                                "level": {"enum": ["error", "warning"]},
                                "message": {"required": ["text"]},
                                "locations": {
                                    "minItems": 1,
                                    "items": {"required": ["physicalLocation", "logicalLocations"]},
                                },
                                "suppressions": {"items": {"properties": {"kind": {"enum": ["inSource", "external"]}}}},
                            },
                        },
                    },
                },
            }
        },
    },
}


def test_sarif_is_what_code_scanning_takes(tmp_path: Path) -> None:
    plan = write(tmp_path, DRIVER, same("google_compute_firewall.f", **FIREWALL))
    data = json.loads(
        run(plan, "--format", "sarif", "--ignore", "resource-replaced@google_container_node_pool.p=why not").stdout
    )
    Draft202012Validator(SARIF).validate(data)
    (whole,) = data["runs"]
    rules = [rule["id"] for rule in whole["tool"]["driver"]["rules"]]
    kinds = {}
    for result in whole["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        kinds[result["ruleId"]] = [each["kind"] for each in result.get("suppressions", [])]
    assert kinds == {"resource-replaced": ["inSource"], "firewall-open": ["external"]}


def test_the_report_goes_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "report.md"
    result = run(write(tmp_path, DRIVER), "--format", "markdown", "-o", str(out), "--fail-on", "dangerous")
    assert (result.exit_code, result.stdout) == (1, "")
    assert out.read_text("utf-8").startswith("## 🔴 Dangerous")


def test_plans_made_elsewhere(tmp_path: Path) -> None:
    plan = write(
        tmp_path,
        replaced(
            "aws_db_instance.main",
            {"identifier": "main", "engine": "postgres"},
            {"identifier": "main", "engine": "mysql"},
            replace_paths=[["engine"]],
            action_reason="replace_because_cannot_update",
        ),
        change("aws_instance.old", ["delete"], {"ami": "a"}, None, action_reason="delete_because_no_resource_config"),
        create("azurerm_resource_group.g", name="g"),
    )
    lines = run(plan).stdout.splitlines()
    assert lines[0] == "DANGEROUS: 1 to replace, 1 to destroy, 1 to create in 1 stack"
    assert lines[1] == ' 1. aws_db_instance main is replaced: engine: "postgres" -> "mysql"'
    assert lines[2] == "    => what it holds is deleted with it"
    assert lines[3] == " 2. aws_instance old is destroyed: it is no longer in the configuration"


def test_the_job_in_the_picture(tmp_path: Path) -> None:
    plan = write(
        tmp_path,
        same("google_container_node_pool.p", **POOL),
        update("helm_release.j", job("a-11111111", 1), job("a-22222222", 2)),
    )
    comment = run(plan, "--format", "markdown").stdout
    assert "<b>RayJob</b><br/>a-22222222" in comment
    assert "-- workers ---" in comment


def test_diff_needs_two_sides() -> None:
    assert CliRunner().invoke(diff, ["one"]).exit_code == 2
    assert CliRunner().invoke(diff, ["one", "two", "--revisions", "a", "b"]).exit_code == 2
    missing = CliRunner().invoke(diff, ["/nowhere/one", "/nowhere/two"])
    assert (missing.exit_code, missing.stderr.count("\n")) == (2, 1)
