"""A site in a Shared VPC through the rehearsal, with and without a stack for the host project's owner."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundplan.emit.app import synthesize
from groundplan.emit.rehearsal import outside_of, rehearse
from rehearsal.conftest import said
from staged_terraform import Options

GOLDEN = Path(__file__).parents[1] / "golden"
OUTSIDE = frozenset({("google_compute_network", "shared-vpc"), ("google_compute_subnetwork", "gke-nodes")})


@pytest.fixture(scope="module")
def with_host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthesize(GOLDEN / "shared-vpc-host" / "profile.yaml", tmp_path_factory.mktemp("host") / "site").folder


@pytest.mark.parametrize(("name", "made"), [("shared-vpc", 41), ("shared-vpc-host", 2)])
def test_it_passes(terraform: None, tmp_path: Path, name: str, made: int) -> None:
    output = synthesize(GOLDEN / name / "profile.yaml", tmp_path / "site")
    report = rehearse(output.folder, Options(existing=outside_of(output.site)))
    assert report.ok, said(report)
    assert all(stack.empty_replan for stack in report.stacks)
    assert report.guessed == []
    left = [each for each in report.remaining if not each.startswith("google_project_service")]
    peering = "projects/host-project/global/networks/shared-vpc/peerings/servicenetworking-googleapis-com"
    assert left == ([f"left-in-cloud {peering}"] if name == "shared-vpc-host" else [])
    (gpu,) = (stack for stack in report.stacks if stack.kind == "gpu")
    assert len(gpu.created) == made


def test_services_of_another_project_are_assumed_and_said(terraform: None, tmp_path: Path) -> None:
    output = synthesize(GOLDEN / "shared-vpc" / "profile.yaml", tmp_path / "site")
    report = rehearse(output.folder, Options(existing=OUTSIDE, until="apply"))
    assert "compute.googleapis.com is enabled in project host-project" in report.assumed


def test_googles_own_accounts_are_assumed_before_there_is_a_cluster(terraform: None, with_host: Path) -> None:
    report = rehearse(with_host, Options(existing=OUTSIDE, until="apply", stack="host"))
    agents = [each for each in report.assumed if "APIs were enabled before" in each]
    assert [each.partition("@")[2].partition(" ")[0] for each in agents] == [
        "cloudservices.gserviceaccount.com",
        "container-engine-robot.iam.gserviceaccount.com",
    ]


def test_services_that_the_host_stack_enables_are_waited_for(terraform: None, with_host: Path, tmp_path: Path) -> None:
    """Where a stack enables them, nothing is assumed: what does not wait for them is refused."""
    report = rehearse(with_host, Options(existing=OUTSIDE, until="apply", stack="host"))
    assert report.ok, said(report)
    assert [each for each in report.assumed if "is enabled in" in each] == []
    hasty = copied(with_host, tmp_path / "hasty", {"service-container", "service-servicenetworking"})
    report = rehearse(hasty, Options(existing=OUTSIDE, until="apply", stack="host"))
    assert "servicenetworking.googleapis.com has not been used in project host-project" in said(report)


def test_the_nodes_account_is_let_in_after_the_cluster_stack(terraform: None, with_host: Path, tmp_path: Path) -> None:
    later = copied(with_host, tmp_path / "later", nodes_account_exists=True)
    report = rehearse(later, Options(existing=OUTSIDE, until="apply", previous=with_host))
    assert report.ok, said(report)
    host = report.stacks[0]
    assert host.kind == "host"
    assert len(host.created) == 10
    assert all(each.endswith("-user-nodes[0]") for each in host.created)
    assert host.empty_replan


def test_too_early_iam_refuses_the_nodes_account(terraform: None, with_host: Path, tmp_path: Path) -> None:
    early = copied(with_host, tmp_path / "early", nodes_account_exists=True)
    report = rehearse(early, Options(existing=OUTSIDE, until="apply"))
    assert "Service account shared-nodes@my-project.iam.gserviceaccount.com does not exist" in said(report)


def copied(
    output: Path,
    folder: Path,
    without: set[str] = frozenset(),
    nodes_account_exists: bool = False,  # type: ignore[assignment]
) -> Path:
    """A copy of a synth output whose host stack lacks some services, or has its variable set."""
    for file in output.rglob("*"):
        if file.is_file():
            target = folder / file.relative_to(output)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    stack = folder / "stacks" / "shared-host" / "cdk.tf.json"
    text = stack.read_text("utf-8")
    document = json.loads(text)
    for name in without:
        del document["resource"]["google_project_service"][name]
        for entries in document["resource"].values():
            for body in entries.values():
                gone = f"google_project_service.{name}"
                body["depends_on"] = [each for each in body.get("depends_on", []) if each != gone]
    document["variable"]["nodes_account_exists"]["default"] = nodes_account_exists
    stack.write_text(json.dumps(document))
    return folder
