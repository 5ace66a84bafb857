"""Every rule has an input that trips it and a near twin that does not, at the right place and with the right mend."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from findings import RULES, Rule
from groundplan.on_plans.assess import PLAN_RULES  # which registers them all
from groundplan.site.check import check_files
from plan_review.judgement import PlanRule
from rules.support import ELSEWHERE, Case, FleetCase, findings, text_of

_HERE = Path(__file__).parent

#: Modules with a table; `CASES` and `FLEETS` are both optional.
TABLES = [f"rules.{file.stem}" for file in sorted(_HERE.glob("test_*.py")) if file.stem != "test_table"]

_MODULES = [importlib.import_module(name) for name in TABLES]
CASES: list[Case] = [case for module in _MODULES for case in getattr(module, "CASES", [])]
FLEETS: list[FleetCase] = [case for module in _MODULES for case in getattr(module, "FLEETS", [])]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_trips(case: Case) -> None:
    everything = findings(case.trips, case.as_of)
    found = [f for f in everything if f.rule == case.rule]
    assert found, f"only {[f.rule for f in everything]}"
    at = [f for f in found if f.where.startswith(case.where)]
    assert at, f"found at {[f.where for f in found]}"
    assert at[0].severity == case.severity
    assert at[0].hint, "a finding says how to mend it"
    text = " ".join(f"{f.message} {f.hint}" for f in at)
    assert [words for words in case.says if words not in text] == []


@pytest.mark.parametrize("case", CASES, ids=str)
def test_near_twin_passes(case: Case) -> None:
    assert [f.message for f in findings(case.passes, case.as_of) if f.rule == case.rule] == []


@pytest.mark.parametrize("case", FLEETS, ids=str)
def test_fleet_trips(case: FleetCase, tmp_path: Path) -> None:
    found = [f for f in _fleet(case, case.trips, tmp_path) if f.where.startswith(case.where)]
    assert found
    assert found[0].severity == case.severity
    assert found[0].location
    assert found[0].location.file.endswith(case.files[len(case.trips) - 1])
    text = " ".join(f"{f.message} {f.hint}" for f in found)
    assert [words for words in case.says if words not in text] == []


@pytest.mark.parametrize("case", FLEETS, ids=str)
def test_fleet_near_twin_passes(case: FleetCase, tmp_path: Path) -> None:
    assert [f.message for f in _fleet(case, case.passes, tmp_path)] == []


def _fleet(case: FleetCase, profiles: tuple, folder: Path) -> list:
    files = [folder / name for name in case.files[: len(profiles)]]
    for file, edits in zip(files, profiles, strict=True):
        file.write_text(text_of(edits), "utf-8")
    return [f for result in check_files(files) for f in result.findings if f.rule == case.rule]


def test_every_rule_is_in_the_table() -> None:
    tested = {case.rule for case in [*CASES, *FLEETS]}
    known = {slug for slug, entry in RULES.items() if entry.topic not in ELSEWHERE}
    assert known - tested == set()
    assert tested - RULES.keys() == set()


@pytest.mark.parametrize("slug", RULES)
def test_every_rule_is_documented(slug: str) -> None:
    entry = RULES[slug]
    assert entry.summary.endswith("."), "it starts with a sentence"
    assert "\n" not in entry.summary
    assert entry.documentation.splitlines()[1:2] in ([], [""]), "the summary is one line"


@pytest.mark.parametrize("entry", [*RULES.values(), *PLAN_RULES.values()], ids=lambda e: f"{type(e).__name__}-{e.slug}")
@pytest.mark.parametrize("part", ["Source:", "Mend:"])
def test_every_page_says_by_which_source_and_how_to_mend(entry: Rule | PlanRule, part: str) -> None:
    found = [text.removeprefix(part).strip() for text in entry.documentation.split("\n\n") if text.startswith(part)]
    assert len(found) == 1, f"a page has one paragraph {part}"
    assert len(found[0]) >= 20, f"{part} says something"
