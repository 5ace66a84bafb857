"""A site in a Shared VPC: what stands in which project, who may use it, and in what order it is done."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from groundplan.emit.rehearsal import outside_of
from groundplan.platform.objects import network_objects
from groundplan.site.stacks import STACKS, entries_of
from sites import ROOT, SMALL, Synthesized, site_of, synthesized

SHARED = (ROOT / "tests" / "golden" / "shared-vpc" / "profile.yaml").read_text("utf-8")
WITH_HOST = (ROOT / "tests" / "golden" / "shared-vpc-host" / "profile.yaml").read_text("utf-8")
EVERYTHING_THERE = (
    SHARED
    + """\
gpu:
  gvnic: {existing: {network: old-gvnic, subnetwork: old-gvnic-sub}}
  rdma: {existing: {network: old-rdma, subnetworks: [r-0, r-1, r-2, r-3, r-4, r-5, r-6, r-7]}}
"""
)

NUMBER = "${data.google_project.service.number}"
GKE = f"serviceAccount:service-{NUMBER}@container-engine-robot.iam.gserviceaccount.com"
APIS = f"serviceAccount:{NUMBER}@cloudservices.gserviceaccount.com"
NODES = "serviceAccount:shared-nodes@my-project.iam.gserviceaccount.com"
FABRIC = ["shared-gvnic-sub", *(f"shared-rdma-sub-{n}" for n in range(8))]

#: Types that belong to the network, and so to the host project.
NETWORKING = {
    "google_compute_network",
    "google_compute_subnetwork",
    "google_compute_firewall",
    "google_compute_global_address",
    "google_compute_subnetwork_iam_member",
}


def projects(stack: dict[str, Any]) -> dict[str, set[str]]:
    """Type -> projects that its resources name."""
    return {
        kind: {body["project"] for body in entries.values() if "project" in body}
        for kind, entries in stack.get("resource", {}).items()
    }


def users(stack: dict[str, Any]) -> dict[str, set[str]]:
    """Name of a subnetwork -> who may use it; references are followed."""
    names = {f"${{google_compute_subnetwork.{id_}.name}}": body["name"] for id_, body in subnetworks(stack).items()}
    found: dict[str, set[str]] = {}
    for body in stack["resource"]["google_compute_subnetwork_iam_member"].values():
        assert (body["role"], body["region"]) == ("roles/compute.networkUser", "us-central1")
        found.setdefault(names.get(body["subnetwork"], body["subnetwork"]), set()).add(body["member"])
    return found


def subnetworks(stack: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = stack["resource"].get("google_compute_subnetwork", {})
    return found


def pool_of(site: Synthesized) -> dict[str, Any]:
    (pool,) = site.stacks["gpu"]["resource"]["google_container_node_pool"].values()
    return dict(pool)


def runbook(text: str) -> str:
    return (synthesized(text).folder / "runbook.md").read_text("utf-8")


@pytest.mark.parametrize("text", [SHARED, WITH_HOST], ids=["shared", "host-stack"])
def test_networks_stand_in_the_host_project_and_all_else_in_the_sites(text: str) -> None:
    for name, stack in synthesized(text).stacks.items():
        for kind, found in projects(stack).items():
            host = kind in NETWORKING or (
                name == "host" and kind in ("google_project_service", "google_project_iam_member")
            )
            assert found <= ({"host-project"} if host else {"my-project"}), (name, kind)
    (rdma,) = (
        body
        for stack in synthesized(text).stacks.values()
        for id_, body in stack.get("resource", {}).get("google_compute_network", {}).items()
        if id_ == "rdma"
    )
    assert rdma["network_profile"] == "projects/host-project/global/networkProfiles/us-central1-b-vpc-roce"


def test_the_pool_names_networks_of_the_same_stack_by_their_ids() -> None:
    networks = pool_of(synthesized(SHARED))["network_config"]["additional_node_network_configs"]
    gvnic = {
        "network": "${google_compute_network.gvnic.id}",
        "subnetwork": "${google_compute_subnetwork.gvnic-subnetwork.id}",
    }
    rdma = [
        {
            "network": "${google_compute_network.rdma.id}",
            "subnetwork": f"${{google_compute_subnetwork.rdma-subnetwork-{n}.id}}",
        }
        for n in range(8)
    ]
    assert networks == [gvnic, *rdma]


def test_the_pool_names_the_host_stacks_networks_by_full_names() -> None:
    networks = pool_of(synthesized(WITH_HOST))["network_config"]["additional_node_network_configs"]
    assert len(networks) == 9
    assert networks[0] == {
        "network": "projects/host-project/global/networks/shared-gvnic-net",
        "subnetwork": "projects/host-project/regions/us-central1/subnetworks/shared-gvnic-sub",
    }
    assert networks[8] == {
        "network": "projects/host-project/global/networks/shared-rdma-net",
        "subnetwork": "projects/host-project/regions/us-central1/subnetworks/shared-rdma-sub-7",
    }


@pytest.mark.parametrize("text", [SHARED, WITH_HOST, EVERYTHING_THERE], ids=["shared", "host-stack", "existing"])
def test_network_objects_in_the_cluster_have_short_names(text: str) -> None:
    (fabric,) = site_of(text).fabrics
    specs = [body["spec"] for body in network_objects(fabric.all_nics()).values() if "vpc" in body["spec"]]
    assert len(specs) == 9
    assert [name for spec in specs for name in (spec["vpc"], spec["vpcSubnet"]) if "/" in name] == []


def test_one_project_is_left_as_it_was() -> None:
    small = synthesized(SMALL)
    assert small.resources("google_compute_subnetwork_iam_member") == {}
    first = pool_of(small)["network_config"]["additional_node_network_configs"][0]
    assert first["network"] == "${google_compute_network.gvnic.name}"


def test_whoever_makes_a_subnetwork_lets_all_three_accounts_use_it() -> None:
    gpu = synthesized(SHARED).stacks["gpu"]
    assert users(gpu) == {name: {GKE, APIS, NODES} for name in FABRIC}
    assert gpu["data"]["google_project"]["service"]["project_id"] == "my-project"
    waits = pool_of(synthesized(SHARED))["depends_on"]
    grants = gpu["resource"]["google_compute_subnetwork_iam_member"]
    assert sorted(waits) == sorted(f"google_compute_subnetwork_iam_member.{id_}" for id_ in grants)
    assert len(grants) == 27


def test_the_host_stack_has_all_that_the_host_project_gives() -> None:
    site = synthesized(WITH_HOST)
    host = site.stacks["host"]
    assert users(host) == {name: {GKE, APIS, NODES} for name in ["gke-nodes", *FABRIC]}
    (agent,) = host["resource"]["google_project_iam_member"].values()
    assert (agent["project"], agent["role"], agent["member"]) == (
        "host-project",
        "roles/container.hostServiceAgentUser",
        GKE,
    )
    assert {each["service"] for each in host["resource"]["google_project_service"].values()} == {
        "compute.googleapis.com",
        "container.googleapis.com",
        "servicenetworking.googleapis.com",
    }
    assert host["provider"]["google"][0]["project"] == "host-project"
    assert {body["name"] for body in host["resource"]["google_compute_firewall"].values()} == {
        "shared-gvnic-internal",
        "shared-metrics",
    }
    connection = host["resource"]["google_service_networking_connection"]["private-service-connection"]
    assert connection["network"] == "projects/host-project/global/networks/shared-vpc"


def test_the_other_stacks_make_nothing_in_the_host_project() -> None:
    stacks = synthesized(WITH_HOST).stacks
    assert set(stacks["network"]["resource"]) == {"google_project_service", "terraform_data"}
    assert set(stacks["gpu"]["resource"]) == {"google_container_node_pool", "terraform_data"}
    for name in ("network", "storage", "cluster", "gpu"):
        assert all(found <= {"my-project"} for found in projects(stacks[name]).values())


def test_the_nodes_account_is_let_in_on_a_second_apply() -> None:
    """IAM refuses a member that is not there yet, and the cluster stack comes after."""
    host = synthesized(WITH_HOST).stacks["host"]
    assert host["variable"]["nodes_account_exists"]["default"] is False
    for body in host["resource"]["google_compute_subnetwork_iam_member"].values():
        wanted = "${var.nodes_account_exists ? 1 : 0}" if body["member"] == NODES else None
        assert body.get("count") == wanted


def test_a_nodes_account_that_exists_is_let_in_at_once() -> None:
    existing = WITH_HOST + "cluster: {service_accounts: {nodes: team-nodes, nodes_exists: true}}\n"
    host = synthesized(existing).stacks["host"]
    assert "variable" not in host
    grants = host["resource"]["google_compute_subnetwork_iam_member"].values()
    assert [body for body in grants if "count" in body] == []
    assert (
        sum(body["member"] == "serviceAccount:team-nodes@my-project.iam.gserviceaccount.com" for body in grants) == 10
    )
    text = runbook(existing)
    assert "nodes_account_exists" not in text
    assert "5. The nodes' account is there already" in text


def test_the_host_stack_is_there_when_it_is_asked_for() -> None:
    assert [entry.name for entry in entries_of({"storage", "workload"})] == [
        "network", "storage", "cluster", "gpu", "platform", "workload",
    ]  # fmt: skip
    assert [entry.name for entry in entries_of({"host", "storage", "workload"})] == list(STACKS)
    assert {entry.name: entry.needs for entry in entries_of()}["network"] == ()
    assert {entry.name: entry.needs for entry in entries_of({"host"})}["network"] == ("host",)
    manifest = json.loads((synthesized(WITH_HOST).folder / "manifest.json").read_text("utf-8"))
    assert manifest["stacks"]["shared-network"]["dependencies"] == ["shared-host"]
    assert "shared-host" not in (synthesized(SHARED).folder / "manifest.json").read_text("utf-8")


def test_the_run_book_has_the_commands_of_googles_page() -> None:
    text = runbook(SHARED)
    for line in (
        'gcloud compute shared-vpc associated-projects add "$SERVICE" --host-project="$HOST"',
        'GKE="serviceAccount:service-$NUMBER@container-engine-robot.iam.gserviceaccount.com"',
        'APIS="serviceAccount:$NUMBER@cloudservices.gserviceaccount.com"',
        'NODES="serviceAccount:shared-nodes@my-project.iam.gserviceaccount.com"',
        '--member="$GKE" --role=roles/container.hostServiceAgentUser',
        "for subnetwork in gke-nodes; do",
        '--member="$member" --role=roles/compute.networkUser',
        'gcloud container subnets list-usable --project="$SERVICE" --network-project="$HOST"',
    ):
        assert line in text
    assert "HOST=host-project SERVICE=my-project REGION=us-central1" in text
    assert "step shared-network\nstep shared-storage\n" in text


def test_the_run_book_names_every_subnetwork_that_is_there_already() -> None:
    text = runbook(EVERYTHING_THERE)
    assert text.count("for subnetwork in gke-nodes old-gvnic-sub r-0 r-1 r-2 r-3 r-4 r-5 r-6 r-7; do") == 2
    assert "own stacks make" not in text


def test_the_run_book_gives_the_host_stack_to_its_owner() -> None:
    text = runbook(WITH_HOST)
    before, _, after = text.partition("## Apply, in this order")
    assert "terraform -chdir=stacks/shared-host apply plan.tfplan" in before
    assert "nodes_account_exists = true" in before
    assert "step shared-network\nstep shared-storage\n" in after
    assert "--role=roles/container.hostServiceAgentUser" not in text
    destroy = text.partition("## Destroy")[2]
    assert "7. the peering" in destroy
    assert "--network=shared-vpc --project=host-project" in destroy
    assert "8. `shared-host`: by the owner of the host project" in destroy
    assert "The services of both projects stay enabled" in destroy


def test_commands_of_the_run_book_are_whole(tmp_path: Path) -> None:
    """Every block of the section is right for a shell; nothing is run."""
    for text in (SHARED, WITH_HOST, EVERYTHING_THERE):
        section = runbook(text).partition("## Shared VPC")[2].partition("## Apply")[0]
        blocks = re.findall(r"^ *```sh\n(.*?)^ *```$", section, re.MULTILINE | re.DOTALL)
        assert len(blocks) >= 6
        script = tmp_path / "commands.sh"
        script.write_text("\n".join(blocks))
        assert subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False).stderr == ""


def test_a_rehearsal_takes_to_exist_what_the_profile_says_exists() -> None:
    assert outside_of(site_of(SHARED)) == {
        ("google_compute_network", "shared-vpc"),
        ("google_compute_subnetwork", "gke-nodes"),
    }
    there = outside_of(site_of(EVERYTHING_THERE))
    assert ("google_compute_network", "old-rdma") in there
    assert ("google_compute_subnetwork", "r-7") in there
    assert outside_of(site_of(SMALL)) == set()
