"""The rules of rehearsals: each trips on its input and not on the near twin, under its own name and severity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from findings import RULES, Finding, Severity, Subject
from rehearsal.rule_cases import REHEARSAL_CASES
from staged_terraform.rules import rule_of
from staged_terraform.stacks import Stack
from staged_terraform.terraform import Message, Result


def judged(slug: str, text: str) -> list[Finding]:
    given = yaml.safe_load(text)
    subject: Any = given
    if slug in ("rehearsal-provider", "rehearsal-version"):
        subject = Stack("lab-network", "network", Path(), given)
        if slug == "rehearsal-version":
            subject = (subject, {"helm": "3.1.1"})
    elif slug == "rehearsal-perpetual-diff":
        subject = Result("plan", given["code"], 0.0, changes=given["changes"])
    elif isinstance(given, dict):
        messages = tuple(Message(**{"detail": "", "address": "a.b", **each}) for each in given["messages"])
        subject = ("apply", Result("apply", given["code"], 0.0, messages))
    return list(RULES.of(Subject.REHEARSAL)[slug].findings(subject))


def test_every_rule_has_a_case() -> None:
    assert set(REHEARSAL_CASES) == set(RULES.of(Subject.REHEARSAL))


@pytest.mark.parametrize("slug", REHEARSAL_CASES)
def test_trips_and_does_not(slug: str) -> None:
    bad, good = REHEARSAL_CASES[slug]
    (found,) = judged(slug, bad)
    severity = Severity.WARNING if slug == "rehearsal-version" else Severity.ERROR
    assert (found.rule, found.severity, bool(found.message), bool(found.address)) == (slug, severity, True, True)
    assert judged(slug, good) == []


def test_what_terraform_says_is_given_word_by_word_and_a_crash_without_words_is_told() -> None:
    said = Message("error", "Quota exceeded", "GPUS: limit 8", "google_container_node_pool.b200")
    (found,) = rule_of("apply").findings(("apply", Result("apply", 1, 0.0, (said,))))
    assert (found.message, found.hint, found.address) == (
        "Quota exceeded",
        "GPUS: limit 8",
        "google_container_node_pool.b200",
    )
    (crash,) = rule_of("apply (previous)").findings(("apply", Result("apply", 139, 0.0, output="SIGSEGV")))
    assert (crash.rule, crash.message, crash.hint) == ("rehearsal-apply", "terraform apply ended with 139", "SIGSEGV")


def test_only_outputs_that_change_are_a_difference_too() -> None:
    (found,) = RULES.of(Subject.REHEARSAL)["rehearsal-perpetual-diff"].findings(Result("plan", 2, 0.0))
    assert found.address == "(outputs)"
