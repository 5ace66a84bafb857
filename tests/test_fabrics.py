"""Fabrics as data: what a machine type's entry and the pools' zones come to in networks, objects and pods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from findings import ProfileError
from groundplan.platform.objects import network_objects
from groundplan.workload.rayjob import documents
from sites import SMALL, Synthesized, site_of, synthesized

MACHINES = Path(__file__).parent / "rules" / "machines.yaml"
SIX = f"{SMALL}catalog: ['{MACHINES}']\ngpu: {{pools: [{{machine_type: a4-six-nics}}]}}\n"
PLAIN = """\
project: my-project
zone: us-central1-b
gpu: {pools: [{machine_type: g4-standard-384, capacity: spot}]}
workload: {worker: {memory: 1300Gi}}
"""
TWO_ZONES = f"""\
{SMALL}\
gpu:
  zones: {{us-central1-c: {{block: 192.168.16.0/20}}}}
  pools:
    - {{name: here}}
    - {{name: there, zone: us-central1-c, reservation: other}}
"""


def worker_of(site: Synthesized) -> dict[str, Any]:
    """The worker's pod template."""
    assert site.site.job
    (job,) = (body for body in documents(site.site.job) if body["kind"] == "RayJob")
    template: dict[str, Any] = job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]
    return template


def interfaces(template: dict[str, Any]) -> list[str]:
    annotation = template["metadata"]["annotations"].get("networking.gke.io/interfaces", "[]")
    return [each["network"] for each in json.loads(annotation)]


def test_a_machine_with_six_roce_nics_needs_no_code() -> None:
    """Subnetworks, ranges, the pool's networks, the cluster's objects and the pod's NICs all count to six."""
    six = synthesized(SIX)
    ranges = [six.resources("google_compute_subnetwork")[f"rdma-subnetwork-{n}"]["ip_cidr_range"] for n in range(6)]
    assert ranges == [f"192.168.{n}.0/24" for n in range(1, 7)]
    assert "rdma-subnetwork-6" not in six.resources("google_compute_subnetwork")
    (pool,) = (p for p in six.resources("google_container_node_pool").values() if p["name"] == "a4-six-nics")
    attached = pool["network_config"]["additional_node_network_configs"]
    assert [each["subnetwork"].partition(".")[2] for each in attached] == [
        "gvnic-subnetwork.name}",
        *(f"rdma-subnetwork-{n}.name}}" for n in range(6)),
    ]
    objects = network_objects(six.site.fabrics[0].all_nics())
    assert [name for name in objects if name.startswith("network-rdma")] == [f"network-rdma-{n}" for n in range(6)]
    worker = worker_of(six)
    assert interfaces(worker) == ["default", "gvnic-1", *(f"rdma-{n}" for n in range(6))]
    variables = {each["name"]: each.get("value") for each in worker["spec"]["containers"][0]["env"]}
    assert variables["NCCL_NET"] == "gIB"
    assert "NCCL_TUNER_CONFIG_PATH" not in variables, "its entry names no tuner file"


def test_a_machine_without_a_fabric_gets_none() -> None:
    """No network, object, installer or annotation; NCCL's way within the machine is set."""
    plain = synthesized(PLAIN)
    assert plain.site.fabrics == ()
    (pool,) = (p for p in plain.resources("google_container_node_pool").values() if p["name"] == "g4-standard-384")
    assert pool["network_config"] == {"enable_private_nodes": True}
    assert list(plain.stacks["gpu"]["resource"]) == ["google_container_node_pool", "terraform_data"]
    assert sorted(plain.stacks["platform"]["resource"]["helm_release"]) == ["kuberay"]
    worker = worker_of(plain)
    assert not [key for key in worker["metadata"]["annotations"] if key.startswith("networking.gke.io/")]
    assert [volume["name"] for volume in worker["spec"]["volumes"]] == ["shm", "lustre", "nvidia"]
    variables = {each["name"]: each.get("value", "") for each in worker["spec"]["containers"][0]["env"]}
    assert variables["NCCL_P2P_LEVEL"] == "SYS"
    assert not [name for name in variables if name.startswith("NCCL_IB") or "gib" in variables[name]]


def test_each_zone_has_networks_of_its_own() -> None:
    """A RoCE profile is of one zone: the further zone has its own networks, ranges, objects and pods' NICs."""
    both = synthesized(TWO_ZONES)
    networks = both.resources("google_compute_network")
    profiles = {name: network.get("network_profile", "").rpartition("/")[2] for name, network in networks.items()}
    assert profiles["rdma"] == "us-central1-b-vpc-roce"
    assert profiles["rdma-c"] == "us-central1-c-vpc-roce"
    subnetworks = both.resources("google_compute_subnetwork")
    assert subnetworks["gvnic-c-subnetwork"]["ip_cidr_range"] == "192.168.16.0/24"
    assert subnetworks["rdma-c-subnetwork-7"]["ip_cidr_range"] == "192.168.24.0/24"
    pools = {pool["name"]: pool for pool in both.resources("google_container_node_pool").values()}
    there = pools["there"]["network_config"]["additional_node_network_configs"]
    assert [each["network"] for each in there] == [
        "${google_compute_network.gvnic-c.name}",
        *["${google_compute_network.rdma-c.name}"] * 8,
    ]
    assert pools["there"]["node_locations"] == ["us-central1-c"]
    assert "google_compute_network.rdma-c.id" in pools["there"]["lifecycle"]["replace_triggered_by"]
    names = [nic.name for fabric in both.site.fabrics for nic in fabric.all_nics()]
    assert len(names) == len(set(names)) == 18
    assert names[9:11] == ["gvnic-1-c", "rdma-0-c"]
    chosen = synthesized(TWO_ZONES + "workload: {pool: there}\n")
    assert interfaces(worker_of(chosen))[1:3] == ["gvnic-1-c", "rdma-0-c"]


@pytest.mark.parametrize(
    ("block", "rule"),
    [("192.168.0.0/20", "address-overlap"), ("192.168.16.0/22", "zone-block")],
    ids=["the site's own ranges", "four ranges for nine NICs"],
)
def test_a_zone_whose_block_does_not_do_is_refused(block: str, rule: str) -> None:
    with pytest.raises(ProfileError) as refused:
        site_of(TWO_ZONES.replace("192.168.16.0/20", block))
    assert rule in [finding.rule for finding in refused.value.findings]


def test_a_further_zone_without_networks_is_told_how_to_get_them() -> None:
    with pytest.raises(ProfileError) as refused:
        site_of(TWO_ZONES.replace("  zones: {us-central1-c: {block: 192.168.16.0/20}}\n", ""))
    (found,) = (finding for finding in refused.value.findings if finding.rule == "roce-zone")
    assert "`gpu.zones`" in found.hint


def test_an_ai_zone_is_a_zone() -> None:
    """Zones of the kind us-central1-ai1a are GA since 2026-04-27 (GKE release notes)."""
    site = site_of(SMALL.replace("us-central1-b", "us-central1-ai1a"))
    assert site.region == "us-central1"
    assert [network.network_profile for network in site.nic_networks] == ["", "us-central1-ai1a-vpc-roce"]
