"""The cluster: versions, endpoints, CPU pool."""

from __future__ import annotations

import pytest

from groundplan.kernel.gke import is_below
from rules.support import Case, findings

OFFICE = {"name": "office", "cidr": "35.1.2.0/24"}


CASES = [
    Case(
        "pods-per-node-few",
        {"gpu.pools[0].max_pods_per_node": 16},
        {"gpu.pools[0].max_pods_per_node": 32},
        "gpu.pools[0].max_pods_per_node",
        ("32",),
        "warning",
    ),
    Case(
        "pods-per-node-few",
        {"cluster.max_pods_per_node": 8},
        {"cluster.max_pods_per_node": 8, "gpu.pools[0].max_pods_per_node": 32},
        "cluster.max_pods_per_node",
        (),
        "warning",
    ),
    Case("gke-version-old", {"cluster.version": "1.30"}, {"cluster.version": "1.35"}, "cluster.version", ("1.31",)),
    Case(
        "gke-version-old",
        {"cluster.version": "1.32.2-gke.1422000"},
        {"cluster.version": "1.33.2-gke.1475000"},
        "cluster.version",
        ("GPUDirect RDMA over RoCE on a4-highgpu-8g", "1.32.2-gke.1475000", "1.33.2-gke.1111000"),
    ),
    Case(
        "gke-version-old",
        {"cluster.version": "1.29"},
        {"cluster.version": "1.34"},
        "cluster.version",
        ("DNS endpoint",),
    ),
    Case(
        "open-control-plane",
        {"cluster.control_plane.authorized_networks": [OFFICE, {"name": "all", "cidr": "0.0.0.0/0"}]},
        {"cluster.control_plane.authorized_networks": [OFFICE, {"name": "vpc", "cidr": "10.0.0.0/8"}]},
        "cluster.control_plane.authorized_networks[1].cidr",
        ("0.0.0.0/0", "DNS endpoint"),
    ),
    Case(
        "open-control-plane",
        {"cluster.control_plane.authorized_networks": [{"name": "half", "cidr": "128.0.0.0/1"}]},
        {"cluster.control_plane.authorized_networks": [{"name": "big", "cidr": "35.0.0.0/8"}]},
        "cluster.control_plane.authorized_networks[0].cidr",
    ),
    Case(
        "public-endpoint-unrestricted",
        {"cluster.control_plane.public_endpoint": True},
        {"cluster.control_plane.public_endpoint": True, "cluster.control_plane.authorized_networks": [OFFICE]},
        "cluster.control_plane.public_endpoint",
        ("authorized_networks",),
    ),
    Case(
        "authorized-networks-count",
        {
            "cluster.control_plane.authorized_networks": [
                {"name": f"n{i}", "cidr": f"10.{i}.0.0/16"} for i in range(101)
            ]
        },
        {
            "cluster.control_plane.authorized_networks": [
                {"name": f"n{i}", "cidr": f"10.{i}.0.0/16"} for i in range(100)
            ]
        },
        "cluster.control_plane.authorized_networks",
        ("101", "100"),
    ),
    Case(
        "endpoint-unreachable",
        {"cluster.control_plane.dns_endpoint": False},
        {
            "cluster.control_plane.dns_endpoint": False,
            "cluster.control_plane.public_endpoint": True,
            "cluster.control_plane.authorized_networks": [OFFICE],
        },
        "cluster.control_plane.dns_endpoint",
        ("VPC",),
        "warning",
    ),
    Case(
        "authorized-network-public",
        {"cluster.control_plane.authorized_networks": [OFFICE]},
        {"cluster.control_plane.authorized_networks": [{"name": "vpn", "cidr": "10.100.0.0/24"}]},
        "cluster.control_plane.authorized_networks[0].cidr",
        ("public_endpoint: true",),
    ),
    *(
        Case(
            "authorized-network-public",
            {"cluster.control_plane.authorized_networks": [{"name": "doc", "cidr": documentation}]},
            {
                "cluster.control_plane.authorized_networks": [{"name": "doc", "cidr": documentation}],
                "cluster.control_plane.public_endpoint": True,
            },
            "cluster.control_plane.authorized_networks[0].cidr",
            (documentation,),
        )
        for documentation in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")
    ),
    Case(
        "deletion-unprotected",
        {"environment": "prod", "backend": {"gcs": {"bucket": "states"}}, "cluster.deletion_protection": False},
        {"environment": "dev", "cluster.deletion_protection": False},
        "cluster.deletion_protection",
        ("prod",),
        "warning",
    ),
    Case(
        "cpu-pool-range",
        {"cluster.cpu_pool.min_nodes": 6},
        {"cluster.cpu_pool.min_nodes": 5},
        "cluster.cpu_pool.min_nodes",
        ("6 or more",),
    ),
    Case(
        "cpu-machine",
        {"cluster.cpu_pool.machine_type": "a4-highgpu-8g"},
        {"cluster.cpu_pool.machine_type": "c3-highmem-88"},
        "cluster.cpu_pool.machine_type",
        ("GPU machine",),
    ),
    Case(
        "cpu-machine",
        {"cluster.cpu_pool.machine_type": "n2-himem-80"},
        {"cluster.cpu_pool.machine_type": "n2-highmem-80"},
        "cluster.cpu_pool.machine_type",
        ("n2-highmem-80",),
        "warning",
    ),
    Case(
        "cpu-disk-type",
        {"cluster.cpu_pool.machine_type": "n4-highmem-80"},
        {"cluster.cpu_pool.machine_type": "n4-highmem-80", "cluster.cpu_pool.disk_type": "hyperdisk-balanced"},
        "cluster.cpu_pool.disk_type",
        ("hyperdisk-balanced",),
    ),
    Case(
        "cpu-secure-boot",
        {"cluster.cpu_pool.secure_boot": True},
        {"cluster.cpu_pool.secure_boot": True, "cluster.version": "1.35"},
        "cluster.cpu_pool.secure_boot",
        ("1.34.1-gke.2364000",),
        "warning",
    ),
]


def test_one_finding_for_each_feature_that_a_version_lacks() -> None:
    found = [f.message for f in findings({"cluster.version": "1.29"}) if f.rule == "gke-version-old"]
    assert len(found) == 4


@pytest.mark.parametrize(
    ("version", "floor", "below"),
    [
        (None, "1.33.2-gke.1111000", False),
        ("1.33", "1.33.2-gke.1111000", False),
        ("1.33.2", "1.33.2-gke.1111000", False),
        ("1.33.1", "1.33.2-gke.1111000", True),
        ("1.32", "1.33.2-gke.1111000", True),
        ("1.33.2-gke.1110999", "1.33.2-gke.1111000", True),
        ("1.33.2-gke.1111000", "1.33.2-gke.1111000", False),
        ("1.33.10-gke.1", "1.33.9-gke.9", False),
        ("1.31", "1.31", False),
        ("1.30.9-gke.1", "1.31", True),
    ],
)
def test_versions(version: str | None, floor: str, below: bool) -> None:
    assert is_below(version, floor) is below


def test_a_floor_that_names_a_minor_version_takes_all_of_it() -> None:
    """`oldest: "1.31"` is the minor version, not its newest patch."""
    assert not is_below("1.31.1-gke.1", "1.31")
