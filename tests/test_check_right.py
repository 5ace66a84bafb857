"""Unusual profiles that are right: no rule may refuse them, and none of the site's own may even warn."""

from __future__ import annotations

from typing import Any

import pytest

from rules.support import GONE, errors, findings

A4 = "gpu.pools[0]"

EXISTING_PRIMARY: dict[str, Any] = {
    "network.primary.existing": {
        "project": "host-project",
        "network": "shared-vpc",
        "subnetwork": "gke-us-central1",
        "pods_range": "gke-pods",
        "services_range": "gke-services",
    },
    "network.primary.nodes": "10.16.0.0/20",
    "network.primary.pods": "10.20.0.0/14",
    "network.primary.services": "10.24.0.0/20",
    "network.private_service_access": {"address": "10.25.0.0", "prefix_length": 20, "create": False},
    # What no source confirms is warned about until somebody has tried it.
    "ignore": [{"rule": "shared-vpc-unconfirmed", "reason": "tried with the smoke test"}],
}

RIGHT: dict[str, dict[str, Any]] = {
    "the smallest profile": {},
    "a /28 gVNIC range": {"gpu.gvnic.cidr": "192.168.0.0/28", f"{A4}.nodes": 12},
    "/29 RDMA ranges for two nodes, side by side": {"gpu.rdma.cidrs": [f"192.168.1.{8 * n}/29" for n in range(8)]},
    "512 A4 nodes in wide ranges": {
        f"{A4}.nodes": 512,
        "network.primary.nodes": "10.0.0.0/20",
        "network.primary.pods": "10.4.0.0/14",
        "gpu.gvnic.cidr": "10.32.0.0/20",
        "gpu.rdma.cidrs": [f"10.{33 + n}.0.0/20" for n in range(8)],
    },
    "a shared reservation with sub-block": {
        "reservation": {"name": "r", "project": "owner-project", "block": "block-1", "sub_block": "sub-3"}
    },
    "class E pods": {"network.primary.pods": "240.0.0.0/14"},
    "class E everywhere": {
        "network.primary.nodes": "240.0.0.0/20",
        "network.primary.pods": "240.4.0.0/14",
        "network.primary.services": "240.8.0.0/20",
        "gpu.gvnic.cidr": "241.0.0.0/24",
    },
    "RFC 6598 and other private ranges": {
        "network.primary.nodes": "100.64.0.0/20",
        "network.primary.pods": "100.68.0.0/14",
        "network.primary.services": "198.18.0.0/20",
    },
    "a private range beside the container runtime's bridge": {"network.primary.nodes": "172.16.0.0/16"},
    "two pools on two reservations in one zone": {
        "reservation": GONE,
        "gpu.pools": [
            {"name": "pool-a", "nodes": 4, "reservation": "res-a"},
            {"name": "pool-b", "nodes": 2, "reservation": {"name": "res-b", "project": "owner-project"}},
        ],
    },
    "A4 and A3 Ultra side by side": {
        "gpu.pools": [{"machine_type": "a4-highgpu-8g"}, {"machine_type": "a3-ultragpu-8g", "reservation": "h200"}]
    },
    "a spare pool on spot beside a reserved one": {
        "gpu.pools": [
            {"nodes": 2},
            {"name": "spot", "capacity": "spot", "autoscaling": {"max": 4}, "placement": "compact"},
        ]
    },
    "the tutorial's names": {
        "site": "tutorial",
        "network.primary": {"name": "nemo-nemo-rl", "subnetwork": "nemo-nemo-rl"},
        "network.private_service_access.name": "lustre-range",
        "gpu.gvnic.prefix": "nemo-gvnic",
        "gpu.rdma.prefix": "nemo-rdma",
        "storage.lustre.name": "nemo-lustre",
        "storage.lustre.claim": "lustre-pvc",
        "cluster.name": "nemo-rl-cluster",
        "cluster.cpu_pool": {"name": "default-pool", "machine_type": "n2-highmem-80"},
        "gpu.pools": [{"name": "gpu-pool", "autoscaling": {"min": 0, "max": 2}}],
        "platform.namespace": "default",
        "platform.service_account": "generic-ksa",
    },
    "an existing VPC of a Shared VPC host": EXISTING_PRIMARY,
    "existing networks everywhere": {
        **EXISTING_PRIMARY,
        "gpu.gvnic": {"existing": {"network": "gpu-gvnic", "subnetwork": "gpu-gvnic-sub"}, "cidr": "10.30.0.0/24"},
        "gpu.rdma": {
            "existing": {"network": "gpu-roce", "subnetworks": [f"roce-{n}" for n in range(8)]},
            "cidrs": [f"10.31.{n}.0/24" for n in range(8)],
        },
    },
    "the project's default network, said out loud": {
        "network.primary.existing": {
            "network": "default",
            "subnetwork": "default",
            "pods_range": "pods",
            "services_range": "services",
        },
        "network.primary.nodes": "10.128.0.0/20",
        "network.primary.pods": "10.4.0.0/14",
        "network.primary.services": "10.8.0.0/20",
        "network.private_service_access.address": "10.9.0.0",
    },
    "peers all around": {
        "network.peers": [
            {"name": "office", "ranges": ["10.128.0.0/9", "172.16.0.0/12"]},
            {"name": "lab", "ranges": ["172.16.5.0/24", "100.64.0.0/10"]},
        ]
    },
    "an old-style control plane range": {"cluster.control_plane.cidr": "172.16.0.32/28"},
    "GPU nodes in a zone of their own": {"zone": "us-central1-b", f"{A4}.zone": "us-central1-b"},
    "a queued pool": {
        "reservation": GONE,
        "gpu.pools": [
            {"capacity": "queued", "autoscaling": {"min": 0, "max": 16}, "max_run_hours": 168, "auto_repair": False}
        ],
    },
    "a flex-start pool with compact placement": {
        "reservation": GONE,
        "gpu.pools": [
            {"capacity": "flex_start", "autoscaling": {"max": 2}, "placement": "compact", "max_run_hours": 24}
        ],
    },
    "no GPU nodes yet": {f"{A4}.nodes": 0},
    "NUMA labels and own taints": {
        f"{A4}.labels": {"example.com/team": "research", "workload": "rl"},
        f"{A4}.taints": [{"key": "example.com/reserved", "value": "rl"}],
    },
    "the longest site name": {"site": "abcdefghij-abcdefghi"},
    "a site name of one letter": {"site": "a"},
    "61 labels of one's own": {"labels": {f"label-{n}": "x" for n in range(61)}},
    "a prod site in Terraform Cloud": {
        "environment": "prod",
        "backend": {"cloud": {"organization": "acme", "project": "rl-sites"}},
    },
    "an exclusion of just 30 days": {
        "cluster.maintenance.exclusions": [
            {"name": "run", "start": "2026-12-01T00:00:00Z", "end": "2026-12-31T00:00:00Z", "scope": "NO_UPGRADES"}
        ]
    },
    "a daily window of four hours": {
        "cluster.maintenance.window": {
            "start": "2026-01-01T09:00:00Z",
            "end": "2026-01-01T13:00:00Z",
            "recurrence": "FREQ=DAILY",
        }
    },
    "an old GKE with the legacy port": {"cluster.version": "1.33.2-gke.1111000", "storage.lustre.legacy_port": True},
    "the biggest tier of Lustre": {"storage.lustre.throughput": 1000, "storage.lustre.capacity_gib": 954000},
    "a domain-scoped project": {"project": "example.com:my-project"},
    "256 pods a node": {"cluster.max_pods_per_node": 256, "network.primary.pods": "10.4.0.0/14"},
}


@pytest.mark.parametrize("name", RIGHT)
def test_no_rule_refuses_what_is_right(name: str) -> None:
    assert errors(RIGHT[name]) == []
    assert [f"{f.rule}: {f.message}" for f in findings(RIGHT[name]) if not f.ignored] == []


@pytest.mark.parametrize(
    "edits",
    [
        {"network.primary.existing": {"network": "shared", "subnetwork": "gke"}},
        {"gpu.gvnic.existing": {"network": "other", "subnetwork": "other-sub"}},
        {"gpu.rdma.existing": {"network": "roce", "subnetworks": [f"roce-{n}" for n in range(8)]}},
    ],
)
def test_an_existing_network_without_ranges_is_a_warning_alone(edits: dict[str, Any]) -> None:
    assert errors(edits) == []
    assert {f.rule for f in findings(edits)} == {"range-unknown"}


def test_an_unknown_cpu_machine_is_a_warning_alone() -> None:
    edits = {"cluster.cpu_pool.machine_type": "c9-standard-64"}
    assert errors(edits) == []
    assert {f.rule for f in findings(edits)} == {"cpu-machine"}
