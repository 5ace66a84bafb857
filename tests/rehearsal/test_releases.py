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


@pytest.mark.parametrize("fault", ["api-401", "api-503", "api-reset"])
def test_a_refusing_api_stops_plan_and_destroy_and_no_release_is_lost(fault: str) -> None:
    report = rehearse(synthesized(SMALL).folder, Options(until="apply", faults=(f"{fault}:each",)))
    assert report.ok, said(report)
    assert [each.stack for each in report.faults] == ["nemo-rl-platform", "nemo-rl-workload"]
    for outcome in report.faults:
        assert (outcome.lost, outcome.next_plan, outcome.recovered) == ([], [], True)


def test_the_job_that_failed_to_install_is_made_by_the_next_apply() -> None:
    report = rehearse(synthesized(SMALL).folder, Options(until="apply", faults=("failed-install:each",)))
    outcome = next(each for each in report.faults if each.stack == "nemo-rl-workload")
    assert outcome.recovery == ["apply"]
    assert report.stacks[-1].empty_replan
