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


#: Environment -> fault -> the steps of its recovery; all of one environment are played in one rehearsal.
NEEDED = {
    "dev": {
        "kill:google_compute_network": {"apply", "import"},
        "api-disabled:google_compute_network": {"apply"},
        "timeout:google_lustre_instance": {"apply"},
        "stock-out:google_container_node_pool": {"apply"},
        "quota:google_container_node_pool": {"apply"},
    },
    "prod": {"timeout:google_container_cluster": {"apply", "untaint"}},
}


@pytest.mark.parametrize(("environment", "stack"), [("dev", "gpu"), ("prod", "cluster")])
def test_the_run_book_knows_the_recovery(terraform: None, tmp_path: Path, environment: str, stack: str) -> None:
    backend = "backend: {gcs: {bucket: my-states}}\n" if environment == "prod" else ""
    out = written(f"{SMALL}environment: {environment}\n{backend}", tmp_path / "out")
    needed = NEEDED[environment]
    report = rehearse(out, Options(until="apply", stack=stack, faults=tuple(needed)))
    assert report.ok, said(report)
    assert all(each.recovered for each in report.faults)
    assert {each.fault: {step.split()[0] for step in each.recovery} for each in report.faults} == needed
    runbook = " ".join((out / "runbook.md").read_text("utf-8").split())
    for step in set().union(*needed.values()):
        assert re.search(COMMANDS[step], runbook), step
    if environment == "prod":
        assert "untaint is the only way on" in runbook


@pytest.mark.parametrize("page", documentation(), ids=lambda page: page.name)
def test_the_profiles_of_the_documentation_apply(terraform: None, tmp_path: Path, page: Path) -> None:
    for number, profile in enumerate(documented_profiles(tmp_path, page)):
        (tmp_path / "p.yaml").write_text(profile)
        made = synthesize(tmp_path / "p.yaml", tmp_path / f"out{number}")
        report = rehearse(made.folder, Options(until="apply", existing=outside_of(made.site)))
        assert report.ok, said(report)
        assert all(stack.empty_replan for stack in report.stacks)
