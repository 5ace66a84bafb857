"""Parameters counted from the numbers of config.json against the published counts."""

from __future__ import annotations

import pytest

from groundplan.catalog import shipped
from groundplan.nemo_rl.memory.parameters import count
from groundplan.nemo_rl.models import model_shape

NAMES = tuple(shipped("models")["models"])


def test_as_many_models_as_promised() -> None:
    assert len(NAMES) >= 40


@pytest.mark.parametrize("name", NAMES)
def test_the_count_is_the_published_one(name: str) -> None:
    model = model_shape(name)
    assert model is not None
    assert model.parameters
    assert count(model).total == pytest.approx(model.parameters, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("Qwen/Qwen3-30B-A3B", 3.353),
        ("deepseek-ai/DeepSeek-V3", 37.552),
        ("openai/gpt-oss-120b", 5.712),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 3.580),
        ("meta-llama/Llama-3.1-8B-Instruct", 8.030),
    ],
)
def test_the_active_parameters(name: str, billions: float) -> None:
    """Embeddings counted whole, as the published names do not."""
    model = model_shape(name)
    assert model is not None
    assert count(model).active / 1e9 == pytest.approx(billions, abs=0.001)
