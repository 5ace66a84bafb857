"""Every test runs without the user's own settings, and one temporary cache serves the whole session."""

import os

import pytest

from groundplan.kernel.settings import PROFILE_VARIABLE

os.environ.pop(PROFILE_VARIABLE, None)
os.environ.setdefault("CHECKPOINT_DISABLE", "1")


@pytest.fixture(autouse=True)
def _no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
