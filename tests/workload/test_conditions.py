"""The catalog of NeMo RL's conditions: each is judged by a rule, or it is said why it cannot be."""

from __future__ import annotations

import pytest

from findings import RULES, Severity
from groundplan.nemo_rl.conditions import Condition
from groundplan.nemo_rl.conditions_page import TABLES, conditions_page
from groundplan.nemo_rl.deadline import must_save_by
from groundplan.nemo_rl.stated import catalog
from rules.support import Case, everything
from rules.test_conditions import CASES
from sites import ROOT
from workload.jobs import site

JUDGED = {condition.name: slug for slug, table in TABLES.items() for condition in table}


def test_every_condition_has_a_rule_or_a_reason() -> None:
    entries = catalog()
    assert len(entries) == 101
    assert set(JUDGED) <= set(entries)
    for name, entry in entries.items():
        named = [JUDGED[name]] if name in JUDGED else []
        named += [word for key in ("rule", "also") for word in entry.get(key, "").split(", ") if word]
        assert bool(named) != ("offline" in entry), name
        assert [slug for slug in named if slug not in RULES.of_profiles] == []


def test_every_condition_names_a_line_at_each_release_that_has_it() -> None:
    for name, entry in catalog().items():
        assert entry.get("at") or entry.get("library"), name


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "nemo-rl-conditions.md").read_text("utf-8") == conditions_page(), "run scripts/docs-rules"


def test_the_last_checkpoint_is_saved_before_the_deadline() -> None:
    assert [must_save_by(hours) for hours in (1, 2, 4, 24, 25, 240)] == [
        "00:00:45:00",
        "00:01:30:00",
        "00:03:00:00",
        "00:23:00:00",
        "01:00:00:00",
        "09:23:00:00",
    ]
    key = "checkpointing.checkpoint_must_save_by"
    smoke = {"recipe": "grpo-qwen2.5-1.5b-gsm8k-smoke"}
    ours = site(workload={**smoke, "deadline_hours": 12}).job
    longer = site(workload={**smoke, "deadline_hours": 48}).job
    assert ours is not None
    assert longer is not None
    assert (ours.config.get(key), longer.config.get(key)) == ("00:11:00:00", "01:23:00:00")
    assert ours.name == longer.name, "a deadline is changed in place"
    for kept in ({key: "00:02:00:00"}, {key: None}, {"checkpointing.enabled": False}):
        job = site(workload={**smoke, "overrides": kept}).job
        assert job is not None
        assert job.config.get(key) == kept.get(key)


#: Condition -> a release without it, and the case that is then no fault.
OLDER = {"A7": "v0.4.0", "C9": "v0.5.0", "C12": "v0.6.0", "D10": "v0.5.0", "D9": "v0.7.0", "H8": "v0.6.0"}
ALL: list[Condition] = [condition for table in TABLES.values() for condition in table]


def of_condition(name: str) -> list[Case]:
    return [each for each in CASES if f"condition {name} of NeMo RL" in each.says]


@pytest.mark.parametrize("condition", ALL, ids=lambda c: c.name)
def test_every_condition_has_a_case(condition: Condition) -> None:
    needs_one_gpu = condition.name == "B11"
    assert needs_one_gpu or of_condition(condition.name)


@pytest.mark.parametrize(("name", "release"), OLDER.items())
def test_a_release_that_lacks_a_condition_is_not_judged_by_it(name: str, release: str) -> None:
    trips = {**of_condition(name)[0].trips, "workload.release": release}
    assert [f.message for f in everything(trips) if f"condition {name} " in f.message] == []


@pytest.mark.parametrize("each", CASES, ids=str)
def test_the_near_twin_has_no_other_error(each: Case) -> None:
    ignored = {"gated-model"}
    errors = [f"{f.rule}: {f.message}" for f in everything(each.passes) if f.severity is Severity.ERROR]
    assert [error for error in errors if error.split(":")[0] not in ignored] == []
