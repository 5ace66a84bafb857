"""The run-book advises for a failed apply what the rehearsal really needed; the documentation's examples apply."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groundplan.emit.app import synthesize
from groundplan.emit.rehearsal import outside_of, rehearse
from rehearsal.conftest import said
from sites import documentation, documented_profiles, written
from staged_terraform import Options

SMALL = "project: my-project\nzone: us-central1-b\nreservation: my-reservation\n"

#: Step of a recovery -> the command that the run-book must give for it.
COMMANDS = {
    "untaint": r"terraform -chdir=stacks/\S+ untaint ADDRESS",
    "import": r"terraform -chdir=stacks/\S+ import ADDRESS ID",
    "unlock": r"terraform -chdir=stacks/\S+ force-unlock LOCK_ID",
    "apply": r"apply again",
}


@pytest.mark.parametrize(
    ("environment", "stack", "fault", "needed"),
    [
        ("dev", "gpu", "stock-out:google_container_node_pool", {"apply"}),
        ("dev", "gpu", "quota:google_container_node_pool", {"apply"}),
        ("dev", "storage", "timeout:google_lustre_instance", {"apply"}),
        ("prod", "cluster", "timeout:google_container_cluster", {"apply", "untaint"}),
        ("dev", "network", "kill:google_compute_network", {"apply", "import"}),
        ("dev", "network", "api-disabled:google_compute_network", {"apply"}),
    ],
)
def test_the_run_book_knows_the_recovery(
    terraform: None, tmp_path: Path, environment: str, stack: str, fault: str, needed: set[str]
) -> None:
    backend = "backend: {gcs: {bucket: my-states}}\n" if environment == "prod" else ""
    out = written(f"{SMALL}environment: {environment}\n{backend}", tmp_path / "out")
    report = rehearse(out, Options(stack=stack, faults=(fault,)))
    assert report.ok, said(report)
    (outcome,) = report.faults
    assert outcome.recovered
    assert {step.split()[0] for step in outcome.recovery} == needed
    runbook = " ".join((out / "runbook.md").read_text("utf-8").split())
    for step in needed:
        assert re.search(COMMANDS[step], runbook), step
    if environment == "prod":
        assert "untaint is the only way on" in runbook


@pytest.mark.parametrize("page", documentation(), ids=lambda page: page.name)
def test_the_profiles_of_the_documentation_apply(terraform: None, tmp_path: Path, page: Path) -> None:
    for number, profile in enumerate(documented_profiles(tmp_path, page)):
        (tmp_path / "p.yaml").write_text(profile)
        made = synthesize(tmp_path / "p.yaml", tmp_path / f"out{number}")
        report = rehearse(made.folder, Options(existing=outside_of(made.site)))
        assert report.ok, said(report)
        assert all(stack.empty_replan for stack in report.stacks)
