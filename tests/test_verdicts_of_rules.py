"""One slug, one verdict: the same thing at a rule's limit, in a profile, in JSON that synth wrote, and in a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from verdicts import check, diff, review

#: An address, and the arguments of what stands there.
Resource = tuple[str, dict[str, Any]]


def pool(**arguments: Any) -> Resource:
    """A pool of eight B200 GPUs a node; `node_config` is added to."""
    node = {"machine_type": "a4-highgpu-8g", **arguments.pop("node_config", {})}
    return "google_container_node_pool.p", {"name": "p", "cluster": "c", "node_config": [node], **arguments}


def reserved(*names: str) -> dict[str, Any]:
    """The node configuration of a pool with capacity reservation."""
    kind = {"consume_reservation_type": "SPECIFIC_RESERVATION", "key": "compute.googleapis.com/reservation-name"}
    return {"reservation_affinity": [{**kind, "values": list(names)}]}


def cluster(**arguments: Any) -> Resource:
    return "google_container_cluster.c", {"name": "c", "release_channel": [{"channel": "REGULAR"}], **arguments}


def roce(zone: str = "us-central1-b") -> Resource:
    profile = f"projects/my-project/global/networkProfiles/{zone}-vpc-roce"
    return "google_compute_network.r", {"name": "r", "network_profile": profile, "mtu": 8896}


def on_roce(*zones: str) -> Resource:
    nics = [{"network": "r", "subnetwork": f"r-sub-{n}"} for n in range(8)]
    return pool(node_locations=list(zones), network_config=[{"additional_node_network_configs": nics}])


def lustre(throughput: int, gib: int = 36000) -> Resource:
    given = {"name": "l", "capacity_gib": str(gib), "per_unit_storage_throughput": str(throughput)}
    return "google_lustre_instance.l", given


def throughput(mb_s: int) -> dict[str, Any]:
    return {"storage": {"lustre": {"throughput": mb_s}}}


def firewall(network: str) -> Resource:
    allow = [{"protocol": "tcp", "ports": ["443"]}]
    return "google_compute_firewall.f", {
        "name": "f", "network": network, "source_ranges": ["10.0.0.0/8"], "allow": allow,
    }  # fmt: skip


def variable(name: str, value: str) -> Resource:
    """A container's environment, in a chart's values."""
    return "helm_release.r", {"name": "r", "values": [yaml.safe_dump({"env": [{"name": name, "value": value}]})]}


def gpu(**arguments: Any) -> dict[str, Any]:
    return {"gpu": {"pools": [{"machine_type": "a4-highgpu-8g", **arguments}]}}


def rule_on(network: str) -> dict[str, Any]:
    given = {"name": "f", "network": network, "source_ranges": ["10.0.0.0/8"]}
    return {"network": {"firewall_rules": [{**given, "allow": [{"protocol": "tcp", "ports": ["443"]}]}]}}


def endpoint(public: bool, *cidrs: str) -> dict[str, Any]:
    networks = [{"name": f"n{n}", "cidr": cidr} for n, cidr in enumerate(cidrs)]
    return {"cluster": {"control_plane": {"public_endpoint": public, "authorized_networks": networks}}}


def override(name: str, value: str) -> dict[str, Any]:
    return {"workload": {"overrides": {"env": {name: value}}}}


COMPACT = [{"type": "COMPACT"}]
OFF = [{"auto_upgrade": False}]
QUEUED = [{"enabled": True}]
NONE = {"reservation_affinity": [{"consume_reservation_type": "NO_RESERVATION"}]}
DYNAMIC = {"capacity": "queued", "autoscaling": {"min": 0, "max": 4}}
LONG = "a1B2c3D4e5F6g7H8"

#: What is given -> rule, sections of the profile, resources, and the severity, None where the rule is kept.
CASES: dict[str, tuple[str, dict[str, Any], list[Resource], str | None]] = {
    "no local SSDs": (
        "local-ssds",
        gpu(nodes=1, local_ssds=0),
        [pool(node_config={"ephemeral_storage_local_ssd_config": [{"local_ssd_count": 0}]})],
        None,
    ),
    "some local SSDs": (
        "local-ssds",
        gpu(nodes=1, local_ssds=16),
        [pool(node_config={"ephemeral_storage_local_ssd_config": [{"local_ssd_count": 16}]})],
        "error",
    ),
    "a persistent disk": (
        "gpu-disk-type",
        gpu(nodes=1, boot_disk={"type": "pd-ssd"}),
        [pool(node_config={"disk_type": "pd-ssd"})],
        "error",
    ),
    "less than the least of a tier": (
        "lustre-capacity-least",
        {"storage": {"lustre": {"capacity_gib": 9000, "throughput": 500}}},
        [lustre(500, 9000)],
        "error",
    ),
    "a small MTU": ("roce-mtu", {"gpu": {"rdma": {"mtu": 1460}}}, [(roce()[0], {**roce()[1], "mtu": 1460})], "error"),
    "auto-upgrade off": ("auto-upgrade-channel", gpu(auto_upgrade=False), [cluster(), pool(management=OFF)], "error"),
    "auto-upgrade off, queued": (
        "auto-upgrade-channel",
        gpu(auto_upgrade=False, **DYNAMIC),
        [cluster(), pool(management=OFF, queued_provisioning=QUEUED)],
        "warning",
    ),
    "auto-upgrade on": (
        "auto-upgrade-channel",
        gpu(auto_upgrade=True),
        [cluster(), pool(management=[{"auto_upgrade": True}])],
        None,
    ),
    "auto-upgrade not said": ("auto-upgrade-channel", gpu(), [cluster(), pool()], None),
    "prod, unprotected": (
        "deletion-unprotected",
        {"environment": "prod", "cluster": {"deletion_protection": False}},
        [cluster(resource_labels={"environment": "prod"}, deletion_protection=False)],
        "warning",
    ),
    "prod, protected": (
        "deletion-unprotected",
        {"environment": "prod", "cluster": {"deletion_protection": True}},
        [cluster(resource_labels={"environment": "prod"}, deletion_protection=True)],
        None,
    ),
    "prod, the default": (
        "deletion-unprotected",
        {"environment": "prod"},
        [cluster(resource_labels={"environment": "prod"})],
        None,
    ),
    "dev, unprotected": (
        "deletion-unprotected",
        {"environment": "dev", "cluster": {"deletion_protection": False}},
        [cluster(resource_labels={"environment": "dev"}, deletion_protection=False)],
        None,
    ),
    "a firewall rule on the RoCE network": ("firewall-roce", rule_on("rdma"), [roce(), firewall("r")], "error"),
    "a firewall rule beside it": ("firewall-roce", rule_on("primary"), [roce(), firewall("n")], None),
    "a throughput below the tier": (
        "lustre-throughput",
        throughput(499),
        [lustre(499)],
        "error",
    ),
    "a throughput above the tier": (
        "lustre-throughput",
        throughput(501),
        [lustre(501)],
        "error",
    ),
    "a tier": ("lustre-throughput", throughput(500), [lustre(500)], None),
    "a range and a count of none": (
        "node-count-mode",
        gpu(nodes=0, autoscaling={"min": 0, "max": 4}),
        [pool(node_count=0, autoscaling=[{"min_node_count": 0, "max_node_count": 4}])],
        "error",
    ),
    "a range and a count": (
        "node-count-mode",
        gpu(nodes=2, autoscaling={"min": 0, "max": 4}),
        [pool(node_count=2, autoscaling=[{"min_node_count": 0, "max_node_count": 4}])],
        "error",
    ),
    "a range that is none": (
        "node-count-mode",
        gpu(autoscaling={"min": 5, "max": 4}),
        [pool(autoscaling=[{"min_node_count": 5, "max_node_count": 4}])],
        "error",
    ),
    "a range that is none, over all zones": (
        "node-count-mode",
        gpu(autoscaling={"min": 5, "max": 4}),
        [pool(autoscaling=[{"total_min_node_count": 5, "total_max_node_count": 4}])],
        "error",
    ),
    "a range of one": (
        "node-count-mode",
        gpu(autoscaling={"min": 4, "max": 4}),
        [pool(autoscaling=[{"min_node_count": 4, "max_node_count": 4}])],
        None,
    ),
    "a count": ("node-count-mode", gpu(nodes=2), [pool(node_count=2)], None),
    "compact placement of a reservation": (
        "placement-conflict",
        gpu(placement="compact"),
        [pool(node_config=reserved("projects/p/reservations/r"), placement_policy=COMPACT)],
        "error",
    ),
    "compact placement, queued": (
        "placement-conflict",
        gpu(placement="compact", **DYNAMIC),
        [pool(node_config=NONE, placement_policy=COMPACT, queued_provisioning=QUEUED)],
        "error",
    ),
    "compact placement on demand": (
        "placement-conflict",
        gpu(placement="compact", capacity="on_demand"),
        [pool(node_config=NONE, placement_policy=COMPACT)],
        None,
    ),
    "a reservation without placement": (
        "placement-conflict",
        gpu(),
        [pool(node_config=reserved("projects/p/reservations/r"))],
        None,
    ),
    "no reservation": ("reservation-missing", {"reservation": None}, [pool(node_config=reserved())], "error"),
    "a reservation": (
        "reservation-missing",
        {"reservation": "r"},
        [pool(node_config=reserved("projects/p/reservations/r"))],
        None,
    ),
    "no reservation, on demand": (
        "reservation-missing",
        {"reservation": None, **gpu(capacity="on_demand")},
        [pool(node_config=NONE)],
        None,
    ),
    "another zone than the network's": (
        "roce-zone",
        {**gpu(zone="us-central1-a"), "zone": "us-central1-b"},
        [roce("us-central1-b"), on_roce("us-central1-a")],
        "error",
    ),
    "the network's zone": (
        "roce-zone",
        {**gpu(zone="us-central1-b"), "zone": "us-central1-b"},
        [roce("us-central1-b"), on_roce("us-central1-b")],
        None,
    ),
    "a public endpoint for everyone": ("public-endpoint-unrestricted", endpoint(True), [cluster()], "error"),
    "a public endpoint for some": (
        "public-endpoint-unrestricted",
        endpoint(True, "203.0.113.0/24"),
        [cluster(master_authorized_networks_config=[{"cidr_blocks": [{"cidr_block": "203.0.113.0/24"}]}])],
        None,
    ),
    "a private endpoint": (
        "public-endpoint-unrestricted",
        endpoint(False),
        [cluster(private_cluster_config=[{"enable_private_endpoint": True}])],
        None,
    ),
    "a literal key": (
        "secret-value",
        override("WANDB_API_KEY", "x"),
        [variable("WANDB_API_KEY", "x")],
        "error",
    ),
    "a literal token": ("secret-value", override("HF_TOKEN", "abc"), [variable("HF_TOKEN", "abc")], "error"),
    "a token alone": ("secret-value", override("token", "abc"), [variable("token", "abc")], "error"),
    "a reference": ("secret-value", override("HF_TOKEN", "${oc.env:T}"), [variable("HF_TOKEN", "${oc.env:T}")], None),
    "a piece of text": ("secret-value", override("stop_token", "</s>"), [variable("stop_token", "</s>")], None),
    "15 letters": ("secret-value", override("stop_token", LONG[:15]), [variable("stop_token", LONG[:15])], None),
    "16 letters": ("secret-value", override("stop_token", LONG), [variable("stop_token", LONG)], "error"),
    "a public key": ("secret-value", override("PUBLIC_KEY", LONG), [variable("PUBLIC_KEY", LONG)], None),
}


@pytest.mark.parametrize("case", CASES)
def test_rules_of_one_slug(case: str, tmp_path: Path) -> None:
    slug, sections, resources, severity = CASES[case]
    said = (check(**sections), diff(tmp_path, *resources), review(*resources))
    assert [each.get(slug) for each in said] == [severity] * 3


def test_nobody_is_named_on_purpose_in_a_plan() -> None:
    """A profile has no way to say so: there an empty list was forgotten."""
    shut = cluster(master_authorized_networks_config=[{}])
    assert "public-endpoint-unrestricted" not in review(shut)
    assert check(**endpoint(True))["public-endpoint-unrestricted"] == "error"


@pytest.mark.parametrize(("environment", "severity"), [("production", "warning"), ("staging", None), ("", None)])
def test_environments_that_a_profile_does_not_know(environment: str, severity: str | None) -> None:
    given = cluster(resource_labels={"environment": environment}, deletion_protection=False)
    assert review(given).get("deletion-unprotected") == severity


def test_a_channel_that_a_plan_does_not_hold() -> None:
    assert "auto-upgrade-channel" not in review(pool(management=OFF))
    assert "auto-upgrade-channel" not in review(
        cluster(release_channel=[{"channel": "UNSPECIFIED"}]), pool(management=OFF)
    )
