"""Every test runs without the user's own settings, and one temporary cache serves the whole session."""

import os
import sys

import pytest

import sites
from groundplan.kernel.settings import PROFILE_VARIABLE

os.environ.pop(PROFILE_VARIABLE, None)
os.environ.setdefault("CHECKPOINT_DISABLE", "1")
# A run starts some hundred Pythons, each of which would compile all of groundplan for itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_collection_finish() -> None:
    """Loaded before the fast bindings are, cdktf costs a process a minute, and every site it synthesizes thrice."""
    if "cdktf" in sys.modules:
        raise pytest.UsageError("a test module imports cdktf at its top, or a stack; import it inside the test")


@pytest.fixture(autouse=True, scope="session")
def _shared_sites(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One folder for all processes of a run: pytest-xdist gives each a base of its own in a common one."""
    base = tmp_path_factory.getbasetemp()
    sites.SHARED = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "sites"
    sites.SHARED.mkdir(exist_ok=True)


@pytest.fixture(autouse=True)
def _no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
