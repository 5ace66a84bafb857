"""One schema cache for the whole run, the stand-in site, and the one true reason to skip."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from groundplan.emit.rehearsal import rehearse
from rehearsal import standin
from staged_terraform import Options, Report


@pytest.fixture(scope="session", autouse=True)
def schema_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of the test run's own: the user's is neither read nor written."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("GROUNDPLAN_CACHE", str(folder))
        patch.setenv("STAGED_TERRAFORM_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def terraform() -> None:
    if shutil.which("terraform") is None:
        pytest.skip("terraform is not on PATH")


Run = Callable[..., Report]


@pytest.fixture
def run(terraform: None, tmp_path: Path) -> Run:
    """Rehearse stacks: ``run(stacks, until="plan", old=earlier_stacks, ...)``."""

    def rehearsed(
        stacks: dict[str, standin.Stack], old: dict[str, standin.Stack] | None = None, **options: Any
    ) -> Report:
        number = len(list(tmp_path.iterdir()))
        folder = standin.write(stacks, tmp_path / f"new{number}")
        previous = standin.write(old, tmp_path / f"old{number}") if old else None
        return rehearse(folder, Options(previous=previous, **options))

    return rehearsed


def said(report: Report) -> str:
    """All findings as one text."""
    return "\n".join(f"{each.rule} {each.where}: {each.message} {each.hint}" for each in report.findings)
