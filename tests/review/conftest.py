"""One standing site for the whole run; the one true reason to skip; no cache of the user's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from review import sites


@pytest.fixture(scope="session")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return sites.outputs(tmp_path_factory.mktemp("outputs"))


@pytest.fixture(scope="session")
def standing(outputs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[sites.Standing]:
    if shutil.which("terraform") is None:
        pytest.skip("terraform is not on PATH")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GROUNDPLAN_CACHE", str(tmp_path_factory.mktemp("cache")))
        with sites.standing(outputs, tmp_path_factory.mktemp("standing")) as found:
            yield found
