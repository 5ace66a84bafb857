"""Small functions that every rule and format stands on, each with values at its limits."""

from __future__ import annotations

from typing import Any

import pytest

from findings import Severity
from plan_review import display, values
from plan_review.grouping import in_order
from plan_review.judgement import Category, PlanFinding
from plan_review.model import Action, Change, Plan, hidden
from review.plans import create, judged, same, update


@pytest.mark.parametrize(
    ("value", "expression"),
    [("${var.a}", True), ("a-${b.c}", True), ("$${HOME}", False), ("$a", False), (None, False), (3, False)],
)
def test_an_expression(value: Any, expression: bool) -> None:
    assert values.is_expression(value) is expression


@pytest.mark.parametrize(
    ("value", "number"), [("12", 12), (12, 12), (12.9, 12), (True, None), ("x", None), (None, None), ([], None)]
)
def test_a_number(value: Any, number: int | None) -> None:
    assert values.number(value) == number


@pytest.mark.parametrize(
    ("marks", "path", "unknown"),
    [
        (True, "a.b", True),
        ({"a": True}, "a.b", True),
        ({"a": [{"b": True}]}, "a.b", True),
        ({"a": [{"b": False}]}, "a.b", False),
        ({"a": [False, True]}, "a", True),
        ({"a": []}, "a.b", False),
        (None, "a", False),
    ],
)
def test_what_is_not_known_yet(marks: Any, path: str, unknown: bool) -> None:
    assert values.unknown_at(marks, path) is unknown


def test_text_is_cut_to_its_width_after_masking() -> None:
    assert display.cut("a" * 100) == "a" * 100
    assert display.cut("a" * 101) == "a" * 99 + "…"
    token = "hf_" + "a1" * 10
    assert display.show("x " * 46 + token) == '"' + "x " * 46 + "*" * 6 + "…"  # 1 + 92 + 6 + 1 = 100
    assert display.show("letmein", "HF_TOKEN") == display.HIDDEN
    assert display.show({"password": "letmein", "a": 1}) == '{"a": 1, "password": "(sensitive)"}'


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d"], "a, b, c and 1 more"),
    ],
)
def test_a_list_in_words(names: list[str], text: str) -> None:
    assert display.listed(names) == text


@pytest.mark.parametrize(("amount", "text"), [(0, "0 nodes"), (1, "1 node"), (2, "2 nodes"), (1234, "1,234 nodes")])
def test_an_amount_in_words(amount: int, text: str) -> None:
    assert display.count(amount, "node") == text


def test_the_longest_of_two_hidden_texts_is_replaced_first() -> None:
    found = hidden([Plan("s", (), hidden=frozenset({"secret", "secret-and-more"}))])
    assert found == ("secret-and-more", "secret")
    assert display.without("a secret-and-more", found) == "a (sensitive)"


def test_errors_come_first_and_data_before_all_else() -> None:
    def notice(severity: Severity, category: Category) -> PlanFinding:
        return PlanFinding("r", severity, f"{severity} {category}", address="a", stack="s", category=str(category))

    given = [
        notice(Severity.WARNING, Category.DATA),
        notice(Severity.ERROR, Category.OPEN),
        notice(Severity.WARNING, Category.INCOMPLETE),
        notice(Severity.ERROR, Category.DATA),
        notice(Severity.ERROR, Category.REPLACE),
    ]
    assert [each.message for each in in_order(given)] == [
        "error data",
        "error replace",
        "error open",
        "warning data",
        "warning incomplete",
    ]


ROUTER = {"name": "r", "labels": {"a": "b"}}
DECISION = "needs a decision"
OPEN = {"name": "f", "allow": [{"protocol": "tcp", "ports": ["22"]}], "source_ranges": ["0.0.0.0/0"]}
ADMIN = {"project": "p", "role": "roles/compute.admin", "member": "user:a@b"}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ([], "safe"),
        ([update("google_compute_router.r", ROUTER, {**ROUTER, "labels": {}})], "safe"),
        ([create("google_project_iam_member.m", **ADMIN)], DECISION),
        ([create("google_compute_firewall.f", **OPEN)], "dangerous"),
        ([create("google_project_iam_member.m", **ADMIN), create("google_compute_firewall.f", **OPEN)], "dangerous"),
        ([create("google_folder_iam_member.m", **ADMIN), same("google_compute_firewall.f", **OPEN)], DECISION),
    ],
)  # fmt: skip
def test_the_gravest_notice_that_counts_decides(changes: list[dict[str, Any]], verdict: str) -> None:
    assert judged(*changes).verdict == verdict


@pytest.mark.parametrize(
    ("path", "forced", "forces"),
    [
        (("disk", 0, "kind"), [["disk"]], True),
        (("disk",), [["disk", 0, "kind"]], True),
        (("disk", 0, "kind"), [["disk", 0, "size"]], False),
        (("name",), [], False),
    ],
)
def test_what_forces_a_replacement_is_marked(path: tuple[Any, ...], forced: list[list[Any]], forces: bool) -> None:
    before: Any = "a"
    after: Any = "b"
    for step in reversed(path):
        before, after = ([before], [after]) if isinstance(step, int) else ({step: before}, {step: after})
    change = Change(
        "s", "a_b.c", "a_b", "c", Action.REPLACE, before, after, replace_paths=tuple(tuple(each) for each in forced)
    )
    assert [each.forces for each in display.differences(change)] == [forces]
