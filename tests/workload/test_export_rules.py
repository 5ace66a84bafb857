"""Rules of the export, of an interactive cluster and of keys that are taken away: severity, place and words."""

from __future__ import annotations

from typing import Any

import pytest

from findings import Finding, Severity
from workload.jobs import findings, site


def one(rule: str, workload: dict[str, Any]) -> Finding:
    (found,) = [each for each in findings(site(workload=workload)) if each.rule == rule]
    return found


@pytest.mark.parametrize(
    ("workload", "says"),
    [
        ({"mode": "cluster"}, "workload.export: mode cluster has no end of training to export after"),
        (
            {"recipe": "grpo-llama3.1-8b-megatron", "overrides": {"policy.megatron_cfg.peft.enabled": True}},
            "workload.export: a Megatron adapter is no whole model",
        ),
        ({"overrides": {"checkpointing.enabled": False}}, "workload.export needs checkpointing.enabled true"),
    ],
)
def test_an_export_that_cannot_be(workload: dict[str, Any], says: str) -> None:
    found = one("export-backend", {**workload, "export": {"enabled": True}})
    assert found.message.startswith(says)
    assert found.severity is Severity.ERROR
    assert not [each for each in findings(site(workload=workload)) if each.rule == "export-backend"]


def test_an_export_that_can_be() -> None:
    assert not [f for f in findings(site(workload={"export": {"enabled": True}})) if f.rule == "export-backend"]


def test_a_deadline_of_an_interactive_cluster_is_a_warning() -> None:
    found = [
        each
        for each in findings(site(workload={"mode": "cluster", "retries": 2, "deadline_hours": 5}))
        if each.rule == "cluster-mode"
    ]
    assert [(each.where, each.severity) for each in found] == [
        ("workload.deadline_hours", Severity.WARNING),
        ("workload.retries", Severity.WARNING),
    ]


@pytest.mark.parametrize(
    ("override", "written"),
    [
        ({"~policy.generation": None}, "`~policy.generation`"),
        ({"policy.generation": None}, "`policy.generation: null`"),
    ],
)
def test_a_key_that_is_taken_away_is_named_as_it_is_written(override: dict[str, Any], written: str) -> None:
    assert any(written in each.message for each in findings(site(workload={"overrides": override})))
