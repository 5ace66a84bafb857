"""Machines, places, networks, labels and taints of the GPU pools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from findings import RULES, Severity
from groundplan.site.profile import parse_profile
from groundplan.site.resolve import resolve
from rules.support import Case, findings

POOL = "gpu.pools[0]"
RDMA_NAMES = [f"rdma-sub-{n}" for n in range(8)]
ROCE = {"gpu.rdma.existing": {"network": "roce", "subnetworks": RDMA_NAMES}}
SEVEN = [f"192.168.{n}.0/24" for n in range(1, 8)]


#: Catalog entries that users might write.
MACHINES = str(Path(__file__).with_name("machines.yaml"))

CASES = [
    Case(
        "roce-profile",
        {"gpu.rdma.existing": {"network": "default", "subnetworks": RDMA_NAMES}},
        {"gpu.rdma.existing": {"network": "default-roce", "subnetworks": RDMA_NAMES}},
        "gpu.rdma.existing.network",
        ("auto-mode",),
    ),
    Case(
        "gpu-machine",
        {f"{POOL}.machine_type": "a4-highgpu-9g"},
        {f"{POOL}.machine_type": "a4-highgpu-8g"},
        f"{POOL}.machine_type",
        ("not in the catalog", "a4-highgpu-8g"),
    ),
    Case(
        "gpu-machine",
        {f"{POOL}.machine_type": "n2-highmem-80"},
        {f"{POOL}.machine_type": "a3-ultragpu-8g"},
        f"{POOL}.machine_type",
        ("has no GPUs",),
    ),
    *(
        Case(
            "machine-fabric",
            {"catalog": [MACHINES], f"{POOL}.machine_type": name},
            {"catalog": [MACHINES], f"{POOL}.machine_type": "a4-eight-nics"},
            f"{POOL}.machine_type",
            (name, what, "a4-eight-nics"),
        )
        for name, what in (
            ("a4-one-nic", "names no `transport` and has no RDMA NICs"),
            ("a4-other-transport", "transport quantum is none that groundplan has (roce, tcpxo, none)"),
            ("b300-two-minds", "transport none has no RDMA NICs, and its entry has 8"),
            ("a4-plain", "its entry says transport none, and its family has roce"),
            ("a3-megagpu-8g", "its transport tcpxo has no RDMA NICs, and its entry has 8"),
            ("a3-highgpu-8g", "GPUDirect-TCPX"),
        )
    ),
    Case(
        "zone-block",
        {"gpu.zones": {"us-central1-c": {"block": "192.168.16.0/22"}}, f"{POOL}.zone": "us-central1-c"},
        {"gpu.zones": {"us-central1-c": {"block": "192.168.16.0/20"}}, f"{POOL}.zone": "us-central1-c"},
        "gpu.zones.us-central1-c.block",
        ("192.168.16.0/22", "holds 4 ranges", "9 are needed"),
    ),
    Case(
        "zone-block",
        {"gpu.zones": {"europe-west4-b": {"block": "192.168.16.0/20"}}},
        {"gpu.zones": {"us-central1-f": {"block": "192.168.16.0/20"}}},
        "gpu.zones.europe-west4-b",
        ("not a zone of the site's region us-central1",),
    ),
    Case(
        "machine-unconfirmed",
        {"catalog": [MACHINES], f"{POOL}.machine_type": "doubtful"},
        {"catalog": [MACHINES], f"{POOL}.machine_type": "a4-eight-nics"},
        f"{POOL}.machine_type",
        ("doubtful", "not confirmed is its driver floor"),
        severity=Severity.WARNING,
    ),
    Case(
        "accelerator-machine",
        {f"{POOL}.accelerator": "nvidia-h200-141gb"},
        {f"{POOL}.accelerator": "nvidia-b200"},
        f"{POOL}.accelerator",
        ("nvidia-b200",),
    ),
    Case(
        "host-maintenance",
        {f"{POOL}.host_maintenance": "PERIODIC"},
        {f"{POOL}.host_maintenance": None},
        f"{POOL}.host_maintenance",
        ("would replace pool a4-highgpu-8g at every plan", "leave it out"),
    ),
    Case(
        "gpu-disk-type",
        {f"{POOL}.boot_disk.type": "pd-ssd"},
        {f"{POOL}.boot_disk.type": "hyperdisk-balanced"},
        f"{POOL}.boot_disk.type",
        ("hyperdisk-balanced",),
    ),
    Case(
        "local-ssds",
        {f"{POOL}.local_ssds": 16},
        {f"{POOL}.local_ssds": 32},
        f"{POOL}.local_ssds",
        ("32", "all or none"),
    ),
    Case("local-ssds", {f"{POOL}.local_ssds": 33}, {f"{POOL}.local_ssds": 0}, f"{POOL}.local_ssds"),
    # Places.
    Case("zone-region", {"region": "us-east4"}, {"region": "us-central1"}, "region", ("us-central1",)),
    Case(
        "pool-zone-region",
        {f"{POOL}.zone": "us-east4-b"},
        {f"{POOL}.zone": "us-central1-b"},
        f"{POOL}.zone",
        ("region",),
    ),
    Case(
        "roce-zone",
        {f"{POOL}.zone": "us-central1-a"},
        {f"{POOL}.zone": "us-central1-a", "gpu.rdma.network_profile": "us-central1-a-vpc-roce"},
        f"{POOL}.zone",
        ("us-central1-b",),
    ),
    Case(
        "roce-zone",
        {"gpu.rdma.network_profile": "us-central1-a-vpc-roce"},
        {"gpu.rdma.network_profile": "us-central1-b-vpc-roce"},
        "gpu.rdma.network_profile",
        ("us-central1-a",),
    ),
    Case(
        "roce-zone",
        {"gpu.pools": [{"name": "a"}, {"name": "b", "zone": "us-central1-c"}]},
        {"gpu.pools": [{"name": "a"}, {"name": "b", "zone": "us-central1-b"}]},
        "gpu.pools[1].zone",
        ("us-central1-c",),
    ),
    Case(
        "roce-zone",
        {**ROCE, "gpu.pools": [{"name": "a"}, {"name": "b", "zone": "us-central1-c"}]},
        {**ROCE, "gpu.pools": [{"name": "a", "zone": "us-central1-c"}, {"name": "b", "zone": "us-central1-c"}]},
        "gpu.pools[1].zone",
        ("another pool",),
    ),
    Case(
        "pool-nodes-most",
        {f"{POOL}.nodes": 1001},
        {f"{POOL}.nodes": 1000},
        f"{POOL}.nodes",
        ("1001", "1000", "second pool"),
    ),
    Case(
        "pool-nodes-most",
        {f"{POOL}.autoscaling": {"max": 1001}},
        {f"{POOL}.autoscaling": {"max": 1000}},
        f"{POOL}.autoscaling.max",
    ),
    Case(
        "pool-nodes-most",
        {"cluster.cpu_pool.max_nodes": 1001},
        {"cluster.cpu_pool.max_nodes": 1000},
        "cluster.cpu_pool.max_nodes",
    ),
    Case(
        "roce-profile",
        {"gpu.rdma.network_profile": "us-central1-b-vpc-roce-metal"},
        {"gpu.rdma.network_profile": "us-central1-b-vpc-roce"},
        "gpu.rdma.network_profile",
        ("-vpc-roce",),
    ),
    Case("roce-mtu", {"gpu.rdma.mtu": 1460}, {"gpu.rdma.mtu": 8896}, "gpu.rdma.mtu", ("8896",)),
    Case(
        "rdma-subnetworks",
        {"gpu.rdma.cidrs": SEVEN},
        {"gpu.rdma.cidrs": [*SEVEN, "192.168.8.0/24"]},
        "gpu.rdma.cidrs",
        ("7", "8"),
    ),
    Case(
        "rdma-subnetworks",
        {"gpu.rdma.existing": {"network": "roce", "subnetworks": [*RDMA_NAMES[:7], "rdma-sub-0"]}},
        ROCE,
        "gpu.rdma.existing.subnetworks",
        ("rdma-sub-0", "twice"),
    ),
    Case(
        "rdma-subnetworks",
        {**ROCE, "gpu.rdma.cidrs": SEVEN},
        {**ROCE, "gpu.rdma.cidrs": [*SEVEN, "192.168.8.0/24"]},
        "gpu.rdma.cidrs",
        ("7 ranges for 8",),
    ),
    Case(
        "zone-apart",
        {f"{POOL}.zone": "us-central1-a", "gpu.rdma.network_profile": "us-central1-a-vpc-roce"},
        {
            f"{POOL}.zone": "us-central1-a",
            "gpu.rdma.network_profile": "us-central1-a-vpc-roce",
            "zone": "us-central1-a",
        },
        f"{POOL}.zone",
        ("us-central1-a",),
        "warning",
    ),
    # Labels and taints.
    Case(
        "taint-repeated",
        {f"{POOL}.taints": [{"key": "nvidia.com/gpu", "value": "x"}]},
        {f"{POOL}.taints": [{"key": "nvidia.com/gpu", "value": "x", "effect": "NO_EXECUTE"}]},
        f"{POOL}.taints[0]",
        ("GKE",),
    ),
    Case(
        "taint-repeated",
        {f"{POOL}.taints": [{"key": "team"}, {"key": "team", "value": "b"}]},
        {f"{POOL}.taints": [{"key": "team"}, {"key": "team2"}]},
        f"{POOL}.taints[1]",
    ),
    *(
        Case(
            "node-label-reserved",
            {f"{POOL}.labels": {bad: "x"}},
            {f"{POOL}.labels": {good: "x"}},
            f"{POOL}.labels",
            (bad,),
            severity,
        )
        for bad, good, severity in [
            ("cloud.google.com/gke-nodepool", "example.com/gke-nodepool", "error"),
            ("kubernetes.io/hostname", "hostname", "error"),
            ("topology.k8s.io/rack", "node.kubernetes.io/rack", "error"),
            ("node.kubernetes.io/instance-type", "team", "error"),
            ("cloud.google.com/gke-networking-dra-driver", "my.cloud.google.com.example/x", "warning"),
        ]
    ),
]


@pytest.mark.parametrize(
    ("edits", "rule"),
    [
        ({f"{POOL}.zone": "us-central1-c"}, "roce-zone"),
        ({f"{POOL}.zone": "us-east4-c"}, "pool-zone-region"),
        ({f"{POOL}.zone": "us-central1-c", "gpu.rdma.network_profile": "us-central1-c-vpc-roce"}, "zone-apart"),
    ],
)
def test_a_pool_in_another_zone_is_told_once(edits: dict[str, object], rule: str) -> None:
    assert [f.rule for f in findings(edits) if f.rule != "zone-hint"] == [rule]


def test_a_refused_machine_is_not_advised() -> None:
    """The mend names machines that can be wired, and none that the same rule refuses."""
    profile = {"project": "my-project", "zone": "us-central1-b", "catalog": [MACHINES], "reservation": "r"}
    site = resolve(parse_profile(json.dumps({**profile, "gpu": {"pools": [{"machine_type": "a4-one-nic"}]}}))[0])
    (found,) = RULES.of_profiles["machine-fabric"].findings(site)
    advised = found.hint.partition(";")[0].removeprefix("use ").split(" or ")
    assert advised == [  # the catalog of the tests has an a3-megagpu-8g of its own, with NICs that cannot be
        "a4-highgpu-8g",
        "a3-ultragpu-8g",
        "a4x-highgpu-4g",
        "g4-standard-384",
        "a4-six-nics",
        "a4-eight-nics",
        "doubtful",
    ]
    assert [each.hint for each in RULES.of_profiles["rdma-subnetworks"].findings(site)] == []
