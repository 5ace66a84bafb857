"""The verdict: near the limit is warned of, beyond it by more than the forecast's error is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.memory.trainings import training

from findings import Problem, Severity
from groundplan.nemo_rl.fit_rules import model_fit
from groundplan.nemo_rl.memory.forecast import GB, Forecast, saving
from groundplan.nemo_rl.memory.job import Job
from groundplan.nemo_rl.memory.parameters import count, guess
from groundplan.nemo_rl.models import ModelShape, model_shape
from groundplan.nemo_rl.training import Training


def shape(name: str) -> ModelShape:
    found = model_shape(name)
    assert found is not None
    return found


GEMMA = Job(model=shape("google/gemma-3-27b-it"), gpus=16, tp=8, sequence=4096)


@pytest.mark.parametrize(
    ("gigabytes", "fits", "near", "fails"),
    [(180, True, False, False), (90, True, True, False), (84, False, True, False), (80, False, True, True)],
)
def test_gemma_without_checkpointing(gigabytes: int, fits: bool, near: bool, fails: bool) -> None:
    """83.5 GB measured, and 3 GB beside it."""
    forecast = Forecast(GEMMA, gigabytes * GB)
    assert (forecast.fits, forecast.near, forecast.fails) == (fits, near, fails)


def test_the_mend_is_the_least_that_fits() -> None:
    forecast = Forecast(GEMMA, 80 * GB)
    assert forecast.mend is not None
    change, after = forecast.mend
    assert change.settings == {"checkpointing": True}
    assert after.fits
    assert saving(change, forecast, after) == "activation checkpointing: 86 -> 39 GB"


def test_what_was_not_measured_is_less_sure_and_says_so() -> None:
    assert Forecast(GEMMA, GB).error == 0.06
    assert Forecast(GEMMA, GB).unmeasured == ("CUDA and NCCL",)
    megatron = Forecast(GEMMA.but(backend="megatron", colocated=True), GB)
    assert megatron.error == 0.25
    assert megatron.unmeasured == ("CUDA and NCCL", "vLLM asleep", "Megatron")
    latent = Forecast(GEMMA.but(model=shape("moonshotai/Moonlight-16B-A3B-Instruct")), GB)
    assert latent.error == 0.15
    assert Forecast(GEMMA.but(model=guess(8, 8)), GB).error == 0.4


@pytest.mark.parametrize(("billions", "active"), [(0.5, 0.5), (8, 8), (70, 70), (30, 3), (235, 22)])
def test_a_guess_has_the_size_it_is_made_for(billions: float, active: float) -> None:
    assert count(guess(billions, active)).total / 1e9 == pytest.approx(billions, rel=0.35)


def found(given: Training) -> list[Problem]:
    return [problem for problem in model_fit(given) if "training GPUs" in problem.message]


def test_the_rule_refuses_warns_and_passes() -> None:
    """Llama 8B on one node at 16,384 tokens, activations kept: 170 GB and more."""
    beyond = training("meta-llama/Llama-3.1-8B-Instruct", 141, {"policy.max_total_sequence_length": 16384})
    (problem,) = found(beyond)
    assert problem.severity is Severity.ERROR
    assert "activation_checkpointing: true" in problem.hint
    (problem,) = found(replace(beyond, gpu_memory_gb=170))
    assert problem.severity is Severity.WARNING
    assert found(replace(beyond, gpu_memory_gb=300)) == []


def test_the_hint_holds() -> None:
    settings = {"policy.max_total_sequence_length": 16384, "policy.dtensor_cfg.activation_checkpointing": True}
    assert found(training("meta-llama/Llama-3.1-8B-Instruct", 141, settings)) == []


def test_a_model_that_nobody_knows_is_not_judged() -> None:
    assert found(training("me/mine", 10, {})) == []
    assert found(training("me/mine-70B", 10, {}))[0].severity is Severity.ERROR
