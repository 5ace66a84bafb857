"""Rules of the user's own: the documented example, entry points, and what goes wrong in them."""

from __future__ import annotations

import importlib.metadata
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from findings import UserError
from groundplan.commands.review import review
from groundplan.on_plans.assess import plan_rules
from plan_review.policy import load_policies
from review.plans import create, document, same
from sites import ROOT

EXAMPLE = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "policy.md").read_text("utf-8"), re.M | re.S)[0]


def plan(folder: Path, *changes: dict[str, Any]) -> str:
    (folder / "plan.json").write_text(json.dumps(document(*changes)))
    return str(folder / "plan.json")


@pytest.fixture
def rules(tmp_path: Path) -> str:
    (tmp_path / "team_rules.py").write_text(EXAMPLE)
    return str(tmp_path / "team_rules.py")


def test_the_documented_example(tmp_path: Path, rules: str) -> None:
    gpus = {"node_config": [{"guest_accelerator": [{"type": "nvidia-b200", "count": 8}]}]}
    given = plan(
        tmp_path,
        create("google_storage_bucket.a", name="a", labels={"team": "x"}),
        create("google_storage_bucket.b", name="b"),
        same("google_storage_bucket.c", name="c"),
        create("google_container_node_pool.p", name="p", node_count=9, **gpus),
    )
    result = CliRunner().invoke(review, [given, "--policy", rules, "--fail-on", "policy", "--format", "json"])
    assert result.exit_code == 1
    found = json.loads(result.stdout)["findings"]
    assert [(f["rule"], f["severity"], f["message"], f["standing"]) for f in found if f["category"] == "policy"] == [
        ("team-label", "error", "bucket b has no label team", False),
        ("team-label", "error", "bucket c has no label team", True),
        ("few-gpu-nodes", "warning", "pool p has 9 nodes", False),
    ]
    sarif = CliRunner().invoke(review, [given, "--policy", rules, "--format", "sarif"]).stdout
    assert "by which the bill is split" in sarif


def test_the_words_of_the_page_are_understood(tmp_path: Path, rules: str) -> None:
    given = plan(tmp_path, create("google_storage_bucket.b", name="b"))
    arguments = [
        given,
        "--policy",
        rules,
        "--fail-on",
        "team-label",
        "--ignore",
        "team-label@google_storage_bucket.b=a test bucket",
    ]
    result = CliRunner().invoke(review, arguments)
    assert result.exit_code == 0
    assert "(reason: a test bucket)" in result.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def broken(:\n", "SyntaxError"),
        ("import nothing_of_this_name\n", "ModuleNotFoundError"),
        ("x = 1\n", "holds no policies"),
        ("from groundplan.review.policy import policy\n@policy('Not A Slug')\ndef f(r): 'd'\n", "a slug is"),
        ("from groundplan.review.policy import policy\n@policy('firewall-open')\ndef f(r): 'd'\n", "exists already"),
        ("from groundplan.review.policy import policy\n@policy('x')\ndef f(r):\n  'd'\n  yield 1\n", "it yielded int"),
        (
            "from groundplan.review.policy import policy\n@policy('x')\ndef f(r):\n  'd'\n  yield r[5]\n",
            "policy x failed",
        ),
    ],
)
def test_a_policy_that_cannot_be_used_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    given = plan(tmp_path, create("a_b.c"))
    result = CliRunner().invoke(review, [given, "--policy", str(tmp_path / "mine.py")])
    assert isinstance(result.exception, UserError)
    assert said in str(result.exception)
    assert "\n" not in str(result.exception)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not there"):
        load_policies([tmp_path / "none.py"])


def test_entry_points(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "our_policies.py").write_text(EXAMPLE)
    monkeypatch.syspath_prepend(str(tmp_path))
    point = importlib.metadata.EntryPoint("our-team", "our_policies", "groundplan.policies")
    seen: list[str] = []

    def entry_points(group: str) -> list[importlib.metadata.EntryPoint]:
        seen.append(group)
        return [point]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    assert [rule.slug for rule in load_policies()] == ["team-label", "few-gpu-nodes"]
    assert seen == ["groundplan.policies"]


def test_the_page_lists_every_rule() -> None:
    page = (ROOT / "docs" / "policy.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| `([a-z-]+)` \| \w+, (\w+) \|", page, re.M))
    assert listed == {rule.slug: str(rule.severity) for rule in plan_rules().values()}


def test_two_policies_of_one_name_are_refused(tmp_path: Path) -> None:
    rule = "from plan_review.policy import policy\n@policy('mine')\ndef f(r): 'd'\n"
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(rule)
    assert [each.slug for each in load_policies([tmp_path / "a.py"], entry_points=False)] == ["mine"]
    with pytest.raises(UserError, match="policy mine exists already"):
        load_policies([tmp_path / "a.py", tmp_path / "b.py"], entry_points=False)
