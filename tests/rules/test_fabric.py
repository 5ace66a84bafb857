"""Whose networks GPU nodes use, claims of NICs, NVLink domains, and the image's architecture."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from rules.support import Case, findings

POOL = "gpu.pools[0]"
A4X = {f"{POOL}.machine_type": "a4x-highgpu-4g"}
A3_MEGA = {f"{POOL}.machine_type": "a3-megagpu-8g"}
G4 = {f"{POOL}.machine_type": "g4-standard-384", f"{POOL}.capacity": "spot", "reservation": None}
MANAGED = {"gpu.fabric": "managed"}
SHARED = {
    "network.primary.existing": {"project": "host-project", "network": "shared", "subnetwork": "gke"},
}
SSH = {
    "network.firewall_rules": [
        {
            "name": "ssh",
            "network": "gvnic",
            "source_ranges": ["10.0.0.0/8"],
            "allow": [{"protocol": "tcp", "ports": ["22"]}],
        }
    ]
}
KUEUE = {"platform.kueue": {"enabled": True, "topology": "none"}}
BOTH = {"workload.pool": ["a", "b"], "workload.nodes": 4}
MACHINES = str(Path(__file__).with_name("machines.yaml"))

CASES = [
    Case(
        "managed-machine",
        {**MANAGED, **A3_MEGA},
        {**A3_MEGA},
        "gpu.fabric",
        ("a3-megagpu-8g", "`fabric: managed`", "set `fabric: own` on the pool"),
    ),
    Case(
        "managed-machine",
        {f"{POOL}.fabric": "managed", **G4},
        {f"{POOL}.fabric": "managed"},
        f"{POOL}.fabric",
        ("g4-standard-384",),
    ),
    Case(
        "fabric-mixed",
        {"gpu.pools": [{"name": "a"}, {"name": "b", "fabric": "managed"}]},
        {"gpu.pools": [{"name": "a", "fabric": "managed"}, {"name": "b", "fabric": "managed"}]},
        "gpu.pools[1].fabric",
        ("b has `fabric: managed`", "a networks of the site", "not in one cluster"),
    ),
    Case(
        "fabric-mixed",
        {"gpu.fabric": "managed", "gpu.pools": [{"name": "a"}, {"name": "b", "fabric": "own"}]},
        {
            "gpu.fabric": "managed",
            "gpu.pools": [{"name": "a"}, {"name": "b", "machine_type": "g4-standard-384", "fabric": "own"}],
        },
        "gpu.fabric",
        ("a has `fabric: managed`",),
    ),
    Case(
        "managed-shared-vpc",
        {**MANAGED, **SHARED},
        {**SHARED},
        "gpu.fabric",
        ("host-project", "set `fabric: own`"),
    ),
    Case(
        "managed-flex-start",
        {
            **MANAGED,
            f"{POOL}.capacity": "flex_start",
            "reservation": None,
            f"{POOL}.autoscaling": {"min": 2, "max": 4},
            "workload.startup_minutes": 600,
        },
        {
            **MANAGED,
            f"{POOL}.capacity": "flex_start",
            "reservation": None,
            f"{POOL}.autoscaling": {"min": 0, "max": 4},
            "workload.startup_minutes": 600,
        },
        f"{POOL}.autoscaling.min",
        ("starts at 2 nodes", "`autoscaling: {min: 0, max: 4}`"),
    ),
    Case(
        "networks-unused",
        {**A3_MEGA, "gpu.rdma.cidrs": ["192.168.32.0/24"]},
        {**A3_MEGA, "gpu.gvnic.cidr": "192.168.32.0/24"},
        "gpu.rdma.cidrs",
        ("no RDMA network", "a3-megagpu-8g", "remove it"),
    ),
    Case(
        "networks-unused",
        {**MANAGED, "gpu.gvnic.mtu": 1460},
        {"gpu.gvnic.mtu": 1460},
        "gpu.gvnic.mtu",
        ("GKE makes the networks",),
    ),
    Case(
        "networks-unused",
        {**G4, **SSH},
        {**SSH},
        "network.firewall_rules[0].network",
        ("g4-standard-384", "`network: primary`"),
    ),
    Case(
        "networks-unused",
        {"gpu.zones": {"us-central1-c": {"block": "192.168.16.0/20"}}},
        {
            "gpu.zones": {"us-central1-c": {"block": "192.168.16.0/20"}},
            "gpu.pools": [{"name": "a"}, {"name": "b", "zone": "us-central1-c"}],
        },
        "gpu.zones.us-central1-c",
        ("no GPU pool of that zone",),
    ),
    Case(
        "machine-capacity",
        {**A4X, f"{POOL}.capacity": "spot", "reservation": None},
        {**A4X},
        f"{POOL}.capacity",
        ("a4x-highgpu-4g comes from reservation alone",),
    ),
    Case(
        "nvlink-domain",
        {**A4X, f"{POOL}.nodes": 20},
        {**A4X, f"{POOL}.nodes": 18},
        f"{POOL}.nodes",
        ("up to 20 nodes", "holds 18", "a pool for each sub-block"),
    ),
    Case(
        "nvlink-domain",
        {**A4X, f"{POOL}.autoscaling": {"min": 4, "max": 19}},
        {**A4X, f"{POOL}.autoscaling": {"min": 4, "max": 18}},
        f"{POOL}.autoscaling.max",
    ),
    Case(
        "reservation-path",
        {**A4X, f"{POOL}.sub_blocks": ["s1", "s2"]},
        {**A4X, f"{POOL}.sub_blocks": ["s1", "s2"], "reservation": {"name": "r", "block": "b"}},
        f"{POOL}.sub_blocks",
        ("names no block that they are in",),
    ),
    Case(
        "reservation-path",
        {**A4X, f"{POOL}.sub_blocks": ["s1"], "reservation": {"name": "r", "block": "b", "sub_block": "s1"}},
        {**A4X, "reservation": {"name": "r", "block": "b", "sub_block": "s1"}},
        f"{POOL}.sub_blocks",
        ("names one of them too",),
    ),
    Case(
        "job-pools-differ",
        {**BOTH, "gpu.pools": [{"name": "a"}, {"name": "b", "driver": "LATEST"}]},
        {**BOTH, "gpu.pools": [{"name": "a"}, {"name": "b"}]},
        "workload.pool",
        ("a and b have not the same driver: DEFAULT and LATEST",),
    ),
    Case(
        "job-pools-differ",
        {"gpu.pools": [{"name": "a"}], "workload.pool": ["a", "c"]},
        {"gpu.pools": [{"name": "a"}], "workload.pool": ["a"]},
        "workload.pool",
        ("there is no GPU pool `c`", "pools: a"),
    ),
    Case(
        "reservation-inactive",
        {"reservation": {"name": "r", "active_from": "2027-02-01"}},
        {"reservation": {"name": "r", "active_from": "2026-12-01"}},
        f"{POOL}.nodes",
        ("from 2027-02-01 on", "`autoscaling: {min: 0, max: 2}`"),
        as_of=date(2026, 12, 3),
    ),
    Case(
        "zone-hint",
        {"zone": "us-central1-c"},
        {"zone": "us-central1-b"},
        "zone",
        ("a4-highgpu-8g is not listed in us-central1-c", "us-south1-b"),
        "warning",
    ),
    Case(
        "zone-hint",
        {"zone": "us-central1-d", f"{POOL}.machine_type": "a3-megagpu-8g", f"{POOL}.zone": "us-central1-a"},
        {"zone": "us-central1-f", f"{POOL}.machine_type": "a3-megagpu-8g", f"{POOL}.zone": "us-central1-a"},
        "zone",
        ("Managed Lustre is not listed in us-central1-d",),
        "warning",
    ),
    Case(
        "claims-empty-pool",
        {**MANAGED, **KUEUE, f"{POOL}.autoscaling": {"min": 1, "max": 4}},
        {**MANAGED, **KUEUE, f"{POOL}.autoscaling": {"min": 2, "max": 4}},
        f"{POOL}.autoscaling.min",
        ("those of 2 nodes", "set `autoscaling.min: 2`"),
        "warning",
    ),
    Case(
        "gke-version-old",
        {**MANAGED, "cluster.version": "1.33.5-gke.1000000"},
        {"cluster.version": "1.33.5-gke.1000000"},
        "cluster.version",
        ("1.34.1-gke.1829001", "networks that GKE makes for a4-highgpu-8g"),
    ),
    Case(
        "image-arch",
        {**A4X, "workload.release": "v0.4.0"},
        {**A4X, "workload.release": "v0.6.0"},
        "workload.release",
        ("v0.4.0 is published for amd64", "arm64", "v0.5.0"),
    ),
    Case(
        "image-arch",
        {**A4X, "workload.image": "example.com/nemo-rl:v0.6.0"},
        {"workload.image": "example.com/nemo-rl:v0.6.0"},
        "workload.image",
        ("a variant for arm64", "docker buildx imagetools inspect"),
        "warning",
    ),
]


@pytest.mark.parametrize("machine", ["a4-highgpu-8g", "a3-ultragpu-8g", "a4x-highgpu-4g"])
def test_machines_with_rdma_nics_can_have_networks_that_gke_makes(machine: str) -> None:
    assert [f.rule for f in findings({**MANAGED, f"{POOL}.machine_type": machine}) if f.severity.name == "ERROR"] == []
