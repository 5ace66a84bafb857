"""A site's Helm releases under an API that refuses, and after a first install that failed: K1 and K2 of the real
providers, which the simulated ones follow (test_faults.py shows both going wrong for stacks without our guards)."""

from __future__ import annotations

import shutil

import pytest

from groundplan.emit.rehearsal import rehearse
from rehearsal.conftest import said
from sites import SMALL, synthesized
from staged_terraform import Options

pytestmark = pytest.mark.skipif(shutil.which("terraform") is None, reason="terraform is not on PATH")


def test_a_refusing_api_stops_plan_and_destroy_and_no_release_is_lost() -> None:
    faults = ("api-401:each", "api-503:each", "api-reset:each")
    report = rehearse(synthesized(SMALL).folder, Options(until="apply", faults=faults))
    assert report.ok, said(report)
    played = [(each.stack, each.fault) for each in report.faults]
    assert played == [(stack, each) for stack in ("nemo-rl-platform", "nemo-rl-workload") for each in faults]
    for outcome in report.faults:
        assert (outcome.lost, outcome.next_plan, outcome.recovered) == ([], [], True)


def test_the_job_that_failed_to_install_is_made_by_the_next_apply() -> None:
    report = rehearse(synthesized(SMALL).folder, Options(until="apply", faults=("failed-install:each",)))
    outcome = next(each for each in report.faults if each.stack == "nemo-rl-workload")
    assert outcome.recovery == ["apply"]
    assert report.stacks[-1].empty_replan
