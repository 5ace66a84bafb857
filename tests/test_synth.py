"""What holds for everything that is emitted, whatever the profile."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from findings.redaction import find_secrets
from sites import ROOT, SMALL, Synthesized, synthesized
from synth_sites import EXISTING, FULL, SITES, TERRAFORM_CLOUD, files


@pytest.fixture(params=sorted(SITES))
def site(request: pytest.FixtureRequest) -> Synthesized:
    return synthesized(SITES[request.param])


def test_six_stacks_and_artefacts(site: Synthesized) -> None:
    name = site.site.name
    kinds = ("network", "storage", "cluster", "gpu", "platform", "workload")
    assert {p.parent.name for p in site.folder.rglob("cdk.tf.json")} == {f"{name}-{kind}" for kind in kinds}
    written = set(files(site.folder))
    assert written >= {"manifest.json", "rayjob.yaml", "runbook.md"}
    assert f"stacks/{name}-platform/chart/Chart.yaml" in written


def test_stack_order(site: Synthesized) -> None:
    """network -> (storage, cluster) -> gpu -> platform -> workload."""
    stacks = json.loads((site.folder / "manifest.json").read_text())["stacks"]
    name = site.site.name
    waits = {key.removeprefix(f"{name}-"): sorted(s["dependencies"]) for key, s in stacks.items()}
    assert waits == {
        "network": [],
        "storage": [f"{name}-network"],
        "cluster": [f"{name}-network"],
        "gpu": [f"{name}-cluster"],
        "platform": [f"{name}-gpu", f"{name}-storage"],
        "workload": [f"{name}-platform"],
    }


def test_no_kubernetes_manifest_no_token_no_path_no_secret(site: Synthesized) -> None:
    text = site.text()
    assert "kubernetes_manifest" not in text
    assert "TfToken[" not in text
    assert "TFTOKEN" not in text
    assert "-8.1e+298" not in text  # a number token written into a string
    for path in (str(ROOT), str(Path.home()) + "/", str(site.folder), "/tmp/groundplan"):
        assert path not in text
    assert find_secrets(text) == []
    assert "terraform_remote_state" not in text


def test_providers_are_pinned_with_full_source(site: Synthesized) -> None:
    pins = {"google": "7.45.0", "kubernetes": "2.38.0", "helm": "3.1.1"}
    for kind, stack in site.stacks.items():
        required = stack["terraform"]["required_providers"]
        wanted = {"google"} | ({"kubernetes", "helm"} if kind in ("platform", "workload") else set())
        assert set(required) == wanted
        for provider, entry in required.items():
            assert entry == {"source": f"hashicorp/{provider}", "version": pins[provider]}


def test_in_cluster_providers_come_from_data_sources(site: Synthesized) -> None:
    for kind in ("platform", "workload"):
        stack = site.stacks[kind]
        assert "google_container_cluster" not in stack["resource"]
        for provider in (stack["provider"]["kubernetes"][0], stack["provider"]["helm"][0]["kubernetes"]):
            assert provider["host"].startswith("https://${data.google_container_cluster.cluster.")
            assert provider["token"] == "${ephemeral.google_client_config.caller.access_token}"
    for kind in ("network", "storage", "cluster", "gpu"):
        assert set(site.stacks[kind]["provider"]) == {"google"}


def test_every_construct_reaches_the_output(site: Synthesized) -> None:
    """Two constructs whose logical ids collide would overwrite each other without an error."""
    for path in site.folder.rglob("cdk.tf.json"):
        document = json.loads(path.read_text("utf-8"))
        paths = [
            entry["//"]["metadata"]["path"]
            for section in ("resource", "data")
            for kind, entries in document.get(section, {}).items()
            if kind != "terraform_data"  # no construct of cdktf: see gpu/stack.py
            for entry in entries.values()
        ]
        assert len(paths) == len(set(paths))
        for section in ("resource", "data"):
            for entries in document.get(section, {}).values():
                for logical_id in entries:
                    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", logical_id)


def test_struct_classes_keep_every_key(site: Synthesized) -> None:
    """A dict inside a list would lose its snake_case keys silently; sample those that would go first."""
    for pool in site.stacks["gpu"]["resource"]["google_container_node_pool"].values():
        accelerator = pool["node_config"]["guest_accelerator"][0]
        assert accelerator["gpu_driver_installation_config"]["gpu_driver_version"] in ("DEFAULT", "LATEST")
        assert all(
            set(n) == {"network", "subnetwork"} for n in pool["network_config"]["additional_node_network_configs"]
        )
        assert all(set(t) == {"effect", "key", "value"} for t in pool["node_config"]["taint"])


def test_gpu_pools(site: Synthesized) -> None:
    for pool in site.stacks["gpu"]["resource"]["google_container_node_pool"].values():
        assert "initial_node_count" not in pool
        assert ("node_count" in pool) != ("autoscaling" in pool)
        assert len(pool["network_config"]["additional_node_network_configs"]) == 9
        assert "reservation_affinity" not in pool
        affinity = pool["node_config"]["reservation_affinity"]
        if affinity["consume_reservation_type"] == "SPECIFIC_RESERVATION":
            assert "placement_policy" not in pool
            assert len(affinity["values"]) == 1
        else:
            assert affinity == {"consume_reservation_type": "NO_RESERVATION"}
        assert pool["timeouts"] == {"create": "120m", "update": "120m", "delete": "120m"}
        assert pool["node_config"]["service_account"].endswith(".iam.gserviceaccount.com")


def test_pools_are_rebuilt_with_their_networks_and_shape() -> None:
    gpu = synthesized(SMALL).stacks["gpu"]["resource"]
    (pool,) = gpu["google_container_node_pool"].values()
    triggers = pool["lifecycle"]["replace_triggered_by"]
    assert triggers[2:11] == [
        "google_compute_network.rdma.id",
        *(f"google_compute_subnetwork.rdma-subnetwork-{n}.id" for n in range(8)),
    ]
    assert triggers[-1] == "terraform_data.shape-a4-highgpu-8g.id"
    assert gpu["terraform_data"]["shape-a4-highgpu-8g"]["triggers_replace"]["machine_type"] == "a4-highgpu-8g"


def test_what_needs_the_services_waits_until_they_answer() -> None:
    network = synthesized(SMALL).stacks["network"]["resource"]
    settled = network["terraform_data"]["services-settled"]
    assert settled["depends_on"] == sorted(
        f"google_project_service.{name}" for name in network["google_project_service"]
    )
    for kind in ("google_compute_network", "google_compute_global_address"):
        for each in network[kind].values():
            assert each["depends_on"] == ["terraform_data.services-settled"]


def test_the_claim_goes_with_its_volume() -> None:
    """A volume that is replaced alone waits for ever for its claim's finalizer."""
    claim = synthesized(SMALL).only("kubernetes_persistent_volume_claim_v1")
    assert claim["lifecycle"] == {"replace_triggered_by": ["kubernetes_persistent_volume_v1.lustre-volume.id"]}


def test_capacity_modes() -> None:
    pools = synthesized(FULL).stacks["gpu"]["resource"]["google_container_node_pool"]
    reserved, spot, flex, queued = (pools[f"pool-{name}"] for name in ("reserved", "spot", "flex", "queued"))
    assert reserved["node_config"]["reservation_affinity"]["values"] == [
        "projects/owner-project/reservations/res/reservationBlocks/blk/reservationSubBlocks/sub"
    ]
    assert reserved["node_count"] == 2
    assert reserved["node_drain_config"] == [{"pdb_timeout_duration": "86400s"}]
    assert reserved["upgrade_settings"] == {"strategy": "SURGE", "max_surge": 0, "max_unavailable": 1}
    assert spot["node_config"]["spot"] is True
    assert spot["autoscaling"] == {"total_min_node_count": 0, "total_max_node_count": 2, "location_policy": "ANY"}
    assert flex["node_config"]["flex_start"] is True
    assert flex["node_config"]["max_run_duration"] == "86400s"
    assert flex["management"]["auto_repair"] is False
    assert queued["queued_provisioning"] == {"enabled": True}
    assert queued["autoscaling"]["total_min_node_count"] == 0


def test_private_by_default() -> None:
    small = synthesized(SMALL)
    cluster = small.only("google_container_cluster")
    assert cluster["private_cluster_config"] == {"enable_private_nodes": True, "enable_private_endpoint": True}
    assert cluster["control_plane_endpoints_config"] == {
        "dns_endpoint_config": {"allow_external_traffic": True},
        "ip_endpoints_config": {"enabled": False},
    }
    assert "master_authorized_networks_config" not in cluster, "the provider would show it as a difference for ever"
    assert cluster["master_auth"] == {"client_certificate_config": {"issue_client_certificate": False}}
    assert cluster["deletion_protection"] is False
    assert "0.0.0.0/0" not in small.text()
    roles = {r["role"] for r in small.resources("google_project_iam_member").values()}
    assert roles == {
        "roles/artifactregistry.reader",
        "roles/logging.logWriter",
        "roles/monitoring.metricWriter",
        "roles/monitoring.viewer",
        "roles/stackdriver.resourceMetadata.writer",
    }
    for pool in small.resources("google_container_node_pool").values():
        assert pool["network_config"]["enable_private_nodes"] is True
        assert pool["node_config"]["workload_metadata_config"] == {"mode": "GKE_METADATA"}
        assert pool["node_config"]["shielded_instance_config"]["enable_integrity_monitoring"] is True
    for network in small.resources("google_compute_network").values():
        assert network["auto_create_subnetworks"] is False


def test_workload_identity_agrees() -> None:
    small = synthesized(SMALL)
    binding = small.only("google_service_account_iam_member")
    assert binding["depends_on"] == ["google_container_cluster.cluster"]
    assert binding["member"] == "serviceAccount:my-project.svc.id.goog[nemo-rl/nemo-rl]"
    account = small.only("kubernetes_service_account_v1")["metadata"]
    assert (account["namespace"], account["name"]) == ("nemo-rl", "nemo-rl")
    assert account["annotations"] == {
        "iam.gke.io/gcp-service-account": "nemo-rl-workload@my-project.iam.gserviceaccount.com"
    }


def test_production_options() -> None:
    full = synthesized(FULL)
    cluster = full.only("google_container_cluster")
    assert cluster["deletion_protection"] is True
    assert cluster["min_master_version"] == "1.35.2-gke.1842000"
    assert cluster["private_cluster_config"]["enable_private_endpoint"] is False
    authorized = cluster["master_authorized_networks_config"]
    assert authorized["cidr_blocks"] == [{"cidr_block": "203.0.113.0/24", "display_name": "office"}]
    held, exclusion = cluster["maintenance_policy"]["maintenance_exclusion"]
    assert held == {
        "exclusion_name": "no-minor-or-node-upgrades",
        "start_time": "2026-01-03T02:00:00Z",
        "exclusion_options": {
            "scope": "NO_MINOR_OR_NODE_UPGRADES",
            "end_time_behavior": "UNTIL_END_OF_SUPPORT",
        },
    }
    assert exclusion["exclusion_options"] == {"scope": "NO_MINOR_OR_NODE_UPGRADES"}
    assert exclusion["end_time"] == "2027-03-01T00:00:00Z"
    assert cluster["resource_labels"] == {
        "environment": "prod",
        "managed-by": "groundplan",
        "site": "full",
        "team": "research",
    }
    assert "deletion_policy" not in full.only("google_service_networking_connection")
    bucket = full.only("google_storage_bucket")
    assert (bucket["public_access_prevention"], bucket["uniform_bucket_level_access"]) == ("enforced", True)
    assert full.only("google_lustre_instance")["timeouts"]["create"] == "120m"


def test_secrets_reach_the_cluster_without_a_trace() -> None:
    full = synthesized(FULL)
    platform = full.stacks["platform"]
    assert platform["variable"] == {
        "hugging_face": {
            "description": platform["variable"]["hugging_face"]["description"],
            "ephemeral": True,
            "nullable": False,
            "sensitive": True,
            "type": "string",
        }
    }
    secret = full.only("kubernetes_secret_v1")
    assert secret["data_wo"] == {"token": "${var.hugging_face}"}
    assert secret["data_wo_revision"] == 3
    assert "data" not in secret
    assert "team-wandb" in (full.folder / "rayjob.yaml").read_text()


def test_backends() -> None:
    assert synthesized(SMALL).stacks["gpu"]["terraform"]["backend"] == {
        "local": {"path": "../../../terraform.nemo-rl-gpu.tfstate"}
    }
    prefixes = {s["terraform"]["backend"]["gcs"]["prefix"] for s in synthesized(FULL).stacks.values()}
    assert prefixes == {
        f"groundplan/full/full-{kind}" for kind in ("network", "storage", "cluster", "gpu", "platform", "workload")
    }
    cloud = synthesized(TERRAFORM_CLOUD).stacks["storage"]["terraform"]["cloud"]
    assert cloud == {"organization": "acme", "workspaces": {"name": "nemo-rl-storage", "project": "rl-sites"}}


def test_existing_networks_are_used_and_not_made() -> None:
    existing = synthesized(EXISTING)
    for kind in ("network", "subnetwork", "firewall", "router", "router_nat", "global_address"):
        assert existing.resources(f"google_compute_{kind}") == {}
    cluster = existing.only("google_container_cluster")
    assert cluster["network"] == "projects/host-project/global/networks/shared-vpc"
    assert cluster["subnetwork"] == "projects/host-project/regions/us-central1/subnetworks/gke-nodes"
    assert cluster["ip_allocation_policy"]["cluster_secondary_range_name"] == "gke-pods"
    assert cluster["ip_allocation_policy"]["services_secondary_range_name"] == "gke-services"
    lustre = existing.only("google_lustre_instance")
    assert lustre["network"] == "projects/host-project/global/networks/shared-vpc"
    (pool,) = existing.stacks["gpu"]["resource"]["google_container_node_pool"].values()
    assert pool["network_config"]["additional_node_network_configs"] == [
        {
            "network": "projects/host-project/global/networks/old-gvnic",
            "subnetwork": "projects/host-project/regions/us-central1/subnetworks/old-gvnic-sub",
        },
        *(
            {
                "network": "projects/host-project/global/networks/old-rdma",
                "subnetwork": f"projects/host-project/regions/us-central1/subnetworks/r-{n}",
            }
            for n in range(8)
        ),
    ]


@pytest.mark.parametrize("legacy", [True, False])
def test_lustre_port_mode_agrees_everywhere(legacy: bool) -> None:
    site = synthesized(SMALL + f"storage: {{lustre: {{legacy_port: {str(legacy).lower()}}}}}\n")
    addon = site.only("google_container_cluster")["addons_config"]["lustre_csi_driver_config"]
    assert addon == {"enabled": True, "enable_legacy_lustre_port": legacy}
    assert site.only("google_lustre_instance")["gke_support_enabled"] is legacy
    rule = site.stacks["network"]["resource"]["google_compute_firewall"]["lustre"]
    assert rule["allow"] == [{"protocol": "tcp", "ports": ["988", "6988"] if legacy else ["988"]}]
    assert rule["source_ranges"] == ["10.9.0.0/20"]
