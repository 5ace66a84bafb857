"""Every rule has an input that trips it and a near twin that does not, at the right place and with the right mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from findings import RULES, Rule
from groundplan.commands.rules import EXAMPLES, example_of, read_examples
from groundplan.site.check import check_files
from rules.examples import CASES, FLEETS, written
from rules.support import Case, FleetCase, everything, text_of


@pytest.mark.parametrize("case", CASES, ids=str)
def test_trips(case: Case) -> None:
    all_of_them = everything(case.trips, case.as_of)
    found = [f for f in all_of_them if f.rule == case.rule]
    assert found, f"only {[f.rule for f in all_of_them]}"
    at = [f for f in found if f.where.startswith(case.where)]
    assert at, f"found at {[f.where for f in found]}"
    assert at[0].severity == case.severity
    assert at[0].hint, "a finding says how to mend it"
    text = " ".join(f"{f.message} {f.hint}" for f in at)
    assert [words for words in case.says if words not in text] == []


@pytest.mark.parametrize("case", CASES, ids=str)
def test_near_twin_passes(case: Case) -> None:
    assert [f.message for f in everything(case.passes, case.as_of) if f.rule == case.rule] == []


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
    assert tested == set(RULES.of_profiles)


@pytest.mark.parametrize("slug", RULES.of_profiles)
def test_every_rule_is_documented(slug: str) -> None:
    entry = RULES.of_profiles[slug]
    assert entry.summary.endswith("."), "it starts with a sentence"
    assert "\n" not in entry.summary
    assert entry.documentation.splitlines()[1:2] in ([], [""]), "the summary is one line"


@pytest.mark.parametrize("entry", RULES.all(), ids=example_of)
def test_every_page_says_by_which_source_and_how_to_mend(entry: Rule) -> None:
    for word, said in (("Source:", entry.source), ("Mend:", entry.mend)):
        assert sum(each.startswith(word) for each in entry.documentation.split("\n\n")) == 1, f"one paragraph {word}"
        assert len(said) >= 20, f"{word} says something"


def test_the_examples_of_the_pages_are_those_of_the_tables() -> None:
    assert EXAMPLES.read_text("utf-8") == written(), "run scripts/docs-rules"


def test_every_rule_has_an_example() -> None:
    assert [each.slug for each in RULES.all() if example_of(each) not in read_examples()] == []
