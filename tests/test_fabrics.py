"""Fabrics as data: what a machine type's entry and the pools' zones come to in networks, objects and pods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from findings import ProfileError
from groundplan.catalog.newer import pinned_versions
from groundplan.gpu.transports.tcpxo import daemon_sets
from groundplan.platform.kueue import counted_devices, kueue_objects, kueue_values
from groundplan.platform.objects import network_objects
from groundplan.site.job import shares_of
from groundplan.site.profile import parse_profile
from groundplan.site.resolve import resolve
from groundplan.workload.rayjob import documents
from sites import SMALL, Synthesized, site_of, synthesized

MACHINES = Path(__file__).parent / "rules" / "machines.yaml"
SIX = f"{SMALL}catalog: ['{MACHINES}']\ngpu: {{pools: [{{machine_type: a4-six-nics}}]}}\n"
PLAIN = """\
project: my-project
zone: us-central1-b
gpu: {pools: [{machine_type: g4-standard-384, capacity: spot}]}
"""
MANAGED = f"{SMALL}gpu: {{fabric: managed}}\n"
A4X = f"{SMALL}gpu: {{pools: [{{machine_type: a4x-highgpu-4g}}]}}\n"
A3_MEGA = f"{SMALL}gpu: {{pools: [{{machine_type: a3-megagpu-8g}}]}}\n"
SUB_BLOCKS = """\
project: my-project
zone: us-central1-b
reservation: {name: big, block: one}
gpu: {pools: [{machine_type: a4x-highgpu-4g, name: gb200, nodes: 18, sub_blocks: [s1, s2]}]}
workload: {nodes: 20, overrides: {policy.generation.colocated.resources.num_nodes: 4}}
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


def objects_of(site: Synthesized, kind: str) -> list[dict[str, Any]]:
    """The job's objects of a kind."""
    assert site.site.job
    return [body for body in documents(site.site.job) if body["kind"] == kind]


def test_networks_that_gke_makes_are_nobody_elses() -> None:
    """Two resources in the gpu stack, no object of a network anywhere; workers claim 8 NICs, and the head none."""
    managed = synthesized(MANAGED)
    resources = managed.stacks["gpu"]["resource"]
    assert sum(len(each) for each in resources.values()) == 2
    (pool,) = resources["google_container_node_pool"].values()
    assert pool["network_config"] == {"accelerator_network_profile": "auto", "enable_private_nodes": True}
    assert pool["node_config"]["labels"] == {"cloud.google.com/gke-networking-dra-driver": "true"}
    assert "GKENetworkParamSet" not in "".join(p.read_text("utf-8") for p in managed.folder.rglob("*.*"))
    assert "networks" not in managed.stacks["platform"]["resource"]["helm_release"]
    (template,) = objects_of(managed, "ResourceClaimTemplate")
    assert template["apiVersion"] == "resource.k8s.io/v1"
    assert template["metadata"]["namespace"] == "nemo-rl"
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"] == {
        "deviceClassName": "mrdma.google.com",
        "allocationMode": "ExactCount",
        "count": 8,
    }
    worker = worker_of(managed)
    assert worker["spec"]["resourceClaims"] == [
        {"name": "rdma", "resourceClaimTemplateName": template["metadata"]["name"]}
    ]
    assert worker["spec"]["containers"][0]["resources"]["claims"] == [{"name": "rdma"}]
    assert worker["spec"]["nodeSelector"]["gke.networks.io/accelerator-network-profile"] == "auto"
    assert not [key for key in worker["metadata"]["annotations"] if key.startswith("networking.gke.io/")]
    (job,) = objects_of(managed, "RayJob")
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    assert "resourceClaims" not in head and "claims" not in head["containers"][0]["resources"]


def test_kueue_counts_what_pods_claim() -> None:
    """Since 0.18 a claim of a class that is not mapped is never admitted; before, the operator knows no mapping."""
    values = {}
    for version in ("0.17.1", "0.19.2"):
        site = synthesized(f"{MANAGED}platform: {{kueue: {{enabled: true, version: {version}}}}}\n")
        assert site.site.queue
        mapped = kueue_values("cpu-pool", "nemo-rl", counted_devices(site.site.queue))
        text = mapped["managerConfig"]["controllerManagerConfigYaml"]
        values[version] = yaml.safe_load(text).get("resources")
        (group,) = kueue_objects(site.site.queue)["cluster-queue"]["spec"]["resourceGroups"]
        flavor = {each["name"]: each["nominalQuota"] for each in group["flavors"][1]["resources"]}
        assert flavor.get("google.com/rdma-nic") == {"0.17.1": None, "0.19.2": "16"}[version]
        assert all([each["name"] for each in f["resources"]] == group["coveredResources"] for f in group["flavors"])
    assert values == {
        "0.17.1": None,
        "0.19.2": {"deviceClassMappings": [{"name": "google.com/rdma-nic", "deviceClassNames": ["mrdma.google.com"]}]},
    }


def test_an_a4x_pool_is_one_nvlink_domain() -> None:
    """4 GPUs and 4 RDMA NICs a node, twice the nodes, a workload policy, Arm, and a claim on the domain."""
    site = synthesized(A4X)
    (policy,) = site.resources("google_compute_resource_policy").values()
    assert policy["workload_policy"] == {"accelerator_topology": "1x72", "type": "HIGH_THROUGHPUT"}
    (pool,) = (p for p in site.resources("google_container_node_pool").values() if p["name"] == "a4x-highgpu-4g")
    assert pool["node_count"] == 4
    assert pool["placement_policy"]["policy_name"].startswith("${google_compute_resource_policy.")
    assert len(pool["network_config"]["additional_node_network_configs"]) == 5
    worker = worker_of(site)
    assert {"key": "kubernetes.io/arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"} in worker[
        "spec"
    ]["tolerations"]
    assert worker["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "4"
    (domain,) = objects_of(site, "ComputeDomain")
    assert domain["spec"]["numNodes"] == 4
    (claim,) = worker["spec"]["resourceClaims"]
    assert claim["resourceClaimTemplateName"] == domain["spec"]["channel"]["resourceClaimTemplate"]["name"]
    releases = site.stacks["platform"]["resource"]["helm_release"]
    assert {"gib-arm64", "nvlink", "nvlink-quota"} <= set(releases) and "gib" not in releases
    job = site.site.job
    assert job and job.config.values["policy.generation.colocated.resources.num_nodes"] == 2


def test_a_job_spans_the_pools_of_sub_blocks() -> None:
    """A pool for each sub-block, a worker group and an NVLink domain for each, and as even as may be."""
    site = synthesized(SUB_BLOCKS)
    pools = {p["name"]: p for p in site.resources("google_container_node_pool").values()}
    values = [pools[f"gb200-{n}"]["node_config"]["reservation_affinity"]["values"] for n in (1, 2)]
    path = "projects/my-project/reservations/big/reservationBlocks/one/reservationSubBlocks"
    assert values == [[f"{path}/s1"], [f"{path}/s2"]]
    (job,) = objects_of(site, "RayJob")
    groups = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    assert [(g["groupName"], g["replicas"]) for g in groups] == [("gpu-1", 10), ("gpu-2", 10)]
    assert [d["spec"]["numNodes"] for d in objects_of(site, "ComputeDomain")] == [10, 10]
    selectors = [g["template"]["spec"]["nodeSelector"]["cloud.google.com/gke-nodepool"] for g in groups]
    assert selectors == ["gb200-1", "gb200-2"]


def test_any_open_reservation_and_never_on_demand() -> None:
    """The word is newer than the bindings' provider, so the stack requires the pinned one."""
    text = SMALL.replace("reservation: my-reservation\n", "") + "gpu: {pools: [{capacity: any_reservation}]}\n"
    site = synthesized(text)
    (pool,) = (p for p in site.resources("google_container_node_pool").values() if p["name"] == "a4-highgpu-8g")
    affinity = pool["node_config"]["reservation_affinity"]
    assert affinity == {"consume_reservation_type": "ANY_RESERVATION_THEN_FAIL"}
    required = site.stacks["gpu"]["terraform"]["required_providers"]["google"]["version"]
    assert required == pinned_versions()["google"]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [(1, [1]), (18, [18]), (19, [10, 9]), (36, [18, 18]), (37, [13, 12, 12]), (60, [18, 18, 24])],
)
def test_workers_are_spread_evenly_over_as_few_pools_as_hold_them(nodes: int, expected: list[int]) -> None:
    """More than fit are for the rule to refuse."""
    pools = "[{machine_type: a4x-highgpu-4g, name: gb200, nodes: 18, sub_blocks: [s1, s2, s3]}]"
    site = resolve(parse_profile(SUB_BLOCKS.partition("gpu:")[0] + f"gpu: {{pools: {pools}}}\n")[0])
    assert [share.nodes for share in shares_of(site.pools, nodes)] == expected


def test_ranges_of_two_transports_stand_apart() -> None:
    """Eight gVNIC networks of A3 Mega, and behind them the eight RDMA ranges of A4."""
    text = (
        f"{SMALL}gpu: {{pools: [{{machine_type: a3-megagpu-8g, name: mega}}, {{name: a4}}]}}\nworkload: {{pool: a4}}\n"
    )
    subnetworks = synthesized(text).resources("google_compute_subnetwork")
    ranges = [each["ip_cidr_range"] for name, each in subnetworks.items() if name.startswith(("gvnic", "rdma"))]
    assert sorted(ranges, key=lambda text: int(text.split(".")[2])) == [f"192.168.{n}.0/24" for n in range(16)]


def test_a3_mega_has_a_receive_daemon_beside_every_worker() -> None:
    """Eight networks of MTU 8244; the daemon as native sidecar; devices by annotation; plugin and injector on nodes."""
    site = synthesized(A3_MEGA)
    networks = [n for name, n in site.resources("google_compute_network").items() if name.startswith("gvnic")]
    assert [network["mtu"] for network in networks] == [8244] * 8
    worker = worker_of(site)
    (daemon,) = (each for each in worker["spec"]["initContainers"] if each["name"] == "tcpxo-daemon")
    assert daemon["restartPolicy"] == "Always"
    assert daemon["image"].endswith("tcpgpudmarxd-dev:v1.0.21")
    assert worker["spec"]["containers"][0]["name"] == "ray-worker", "Ray's container comes first"
    devices = yaml.safe_load(worker["metadata"]["annotations"]["devices.gke.io/container.tcpxo-daemon"])
    assert [each["path"] for each in devices][:2] == ["/dev/nvidia0", "/dev/nvidia1"] and len(devices) == 11
    assert interfaces(worker) == ["default", *(f"gvnic-{n}" for n in range(1, 9))]
    mounted = {m["name"]: m["mountPath"] for m in worker["spec"]["containers"][0]["volumeMounts"]}
    assert mounted["apertures"] == "/dev/aperture_devices" and "sys" not in mounted
    head = objects_of(site, "RayJob")[0]["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]
    assert "initContainers" not in head["spec"]
    sets = daemon_sets()
    images = [c["image"] for each in sets.values() for c in each["spec"]["template"]["spec"].get("initContainers", [])]
    assert all(image.endswith("nccl-plugin-gpudirecttcpx-dev:v1.0.15") for image in images)
