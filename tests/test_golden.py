"""Every file that synth writes, for the shipped profiles and one variant of each kind that the documentation shows.

``scripts/test tests/test_golden.py --regen-all`` rewrites them. Their diff is how a change of what is emitted is
reviewed: each line of it is a line that a user will find in a plan.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from sites import ROOT, SHIPPED, synthesized

GOLDEN = ROOT / "tests" / "golden"
#: Name of the folder -> its profile: a shipped one, or the ``profile.yaml`` that stands in the folder.
PROFILES = {path.stem: path for path in SHIPPED} | {path.parent.name: path for path in GOLDEN.glob("*/profile.yaml")}


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {"profile.yaml"}


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_synth_writes_what_was_reviewed(
    name: str, file_regression: FileRegressionFixture, request: pytest.FixtureRequest
) -> None:
    written = synthesized(PROFILES[name].read_text("utf-8")).folder
    if request.config.getoption("regen_all"):
        for left_over in files(GOLDEN / name) - files(written):
            (GOLDEN / name / left_over).unlink()
    else:
        assert files(written) == files(GOLDEN / name)
    for file in sorted(files(written)):
        text = (written / file).read_text("utf-8")
        file_regression.check(text, encoding="utf-8", newline="\n", fullpath=GOLDEN / name / file)  # shows a diff
        assert (written / file).read_bytes() == (GOLDEN / name / file).read_bytes()  # line ends and all


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_no_text_of_a_stack_is_a_whole_file(name: str) -> None:
    """In JSON each text is one line; what is longer stands in a file beside it, whose lines a pull request shows."""
    for file in (GOLDEN / name).rglob("cdk.tf.json"):
        longest = max(len(line) for line in file.read_text("utf-8").splitlines())
        assert longest <= 4000, file
    assert list((GOLDEN / name).glob("stacks/*-platform/manifests/kuberay.yaml"))
