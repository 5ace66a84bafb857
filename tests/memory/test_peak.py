"""The peak of a training step against what was measured on an H200."""

from __future__ import annotations

import pytest
from tests.memory.measured import Measured, measurements

from groundplan.nemo_rl.memory.dtensor import moments
from groundplan.nemo_rl.memory.moments import peak

ALL = tuple(measurements())


def error(measured: Measured) -> float:
    """Of the forecast, in percent of the measured peak."""
    return 100 * (peak(moments(measured.job)).bytes / 1e9 / measured.step - 1)


@pytest.mark.parametrize("measured", ALL, ids=[m.name for m in ALL])
def test_the_peak_is_forecast_within_four_percent(measured: Measured) -> None:
    """The issue asks for 12; the parts are counted and not fitted, so more than this is a part that is missing."""
    assert abs(error(measured)) <= 4


@pytest.mark.parametrize("measured", ALL, ids=[m.name for m in ALL])
def test_weights_and_optimizer_within_two_percent(measured: Measured) -> None:
    parts = peak(moments(measured.job)).parts
    assert parts["weights"] + parts["optimizer"] == pytest.approx(measured.states * 1e9, rel=0.02)


@pytest.mark.parametrize("handed", [True, False])
def test_the_mean_error_is_within_one_percent(handed: bool) -> None:
    errors = [abs(error(m)) for m in ALL if m.first is handed]
    assert sum(errors) / len(errors) <= 1


def test_all_that_the_issue_names_is_measured() -> None:
    """Context parallel, packing, LoRA, accumulation, a large vocabulary, experts, sequence parallel, windows."""
    jobs = [m.job for m in ALL]
    assert any(job.cp == 2 for job in jobs)
    assert any("packed" in m.name for m in ALL)
    assert any(job.lora for job in jobs)
    assert any(job.micro_batches > 1 for job in jobs)
    assert any(job.model.vocabulary == 262144 for job in jobs)
    assert any(job.model.experts for job in jobs)
    assert any(job.sequence_parallel for job in jobs)
