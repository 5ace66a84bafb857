"""Ranges: which may overlap, how large they are, and where they may lie."""

from __future__ import annotations

import re
from typing import Any

import pytest

from rules.support import Case, findings


def ranges(last: str) -> list[str]:
    return [*(f"192.168.{n}.0/24" for n in range(1, 8)), last]


def _two_zones(here: int, there: int) -> dict[str, Any]:
    """Edits that put so many nodes into the site's zone and into a further one."""
    return {
        "network.primary.pods": "10.32.0.0/11",
        "gpu.zones.us-central1-c.block": "192.168.16.0/20",
        "gpu.pools[0]": {"name": "here", "nodes": here},
        "gpu.pools[1]": {"name": "there", "nodes": there, "zone": "us-central1-c", "reservation": "other"},
    }


CASES = [
    # Every pair of networks that can meet.
    *(
        Case("address-overlap", {key: clash}, {key: apart}, key, ("overlaps", "free"))
        for key, clash, apart in [
            ("network.primary.nodes", "10.4.0.0/20", "10.12.0.0/20"),
            ("network.primary.services", "10.7.240.0/20", "10.8.16.0/20"),
            ("gpu.gvnic.cidr", "10.0.8.0/24", "192.168.9.0/24"),
            ("gpu.gvnic.cidr", "192.168.4.128/25", "192.168.9.0/25"),
            ("cluster.control_plane.cidr", "10.8.1.0/28", "172.16.0.32/28"),
            ("cluster.control_plane.cidr", "192.168.3.16/28", "172.16.0.16/28"),
        ]
    ),
    Case(
        "address-overlap",
        {"network.primary.services": "10.0.0.0/20"},
        {"network.primary.services": "10.0.16.0/20"},
        "network.primary.services",
        ("is the same range as 10.0.0.0/20 (nodes",),
    ),
    Case(
        "address-overlap",
        {"gpu.rdma.cidrs": ranges("192.168.7.0/25")},
        {"gpu.rdma.cidrs": ranges("192.168.8.0/25")},
        "gpu.rdma.cidrs[7]",
        ("RDMA 7", "RDMA 6"),
    ),
    Case(
        "address-overlap",
        {"network.private_service_access.address": "10.7.0.0"},
        {"network.private_service_access.address": "10.10.0.0"},
        "network.private_service_access.address",
        ("10.4.0.0/14 (pods",),
    ),
    Case(
        "address-overlap",
        {"network.peers": [{"name": "office", "ranges": ["172.16.0.0/12", "10.8.0.0/16"]}]},
        {"network.peers": [{"name": "office", "ranges": ["172.16.0.0/12", "10.128.0.0/9"]}]},
        "network.primary.services",
        ("peer office", "network.peers[0].ranges[1]"),
    ),
    Case(
        "address-overlap",
        {"network.peers": [{"name": "lab", "ranges": ["192.168.8.128/28"]}]},
        {
            "network.peers": [
                {"name": "lab", "ranges": ["192.168.9.128/28"]},
                {"name": "b", "ranges": ["192.168.9.0/24"]},
            ]
        },
        "gpu.rdma.cidrs",
        ("peer lab",),
    ),
    # Reserved.
    *(
        Case("address-reserved", {key: clash}, {key: "100.64.0.0/20"}, key, (why,))
        for key, clash, why in [
            ("network.primary.nodes", "169.254.0.0/20", "link-local"),
            ("network.primary.nodes", "127.0.0.0/20", "loopback"),
            ("network.primary.services", "172.17.16.0/20", "bridge"),
            ("network.primary.services", "0.0.0.0/20", "local network"),
            ("network.primary.services", "224.0.0.0/20", "multicast"),
            ("network.primary.pods", "172.16.0.0/14", "bridge"),
            ("network.primary.nodes", "199.36.144.0/20", "googleapis"),
        ]
    ),
    Case(
        "address-reserved",
        {"gpu.gvnic.cidr": "172.17.3.0/24"},
        {"gpu.gvnic.cidr": "172.18.3.0/24"},
        "gpu.gvnic.cidr",
        ("bridge",),
        "warning",
    ),
    Case(
        "address-reserved",
        {"gpu.gvnic.cidr": "192.0.2.0/24"},
        {"gpu.gvnic.cidr": "192.0.0.0/24"},
        "gpu.gvnic.cidr",
        ("documentation",),
        "warning",
    ),
    Case(
        "address-public",
        {"network.primary.pods": "20.4.0.0/14"},
        {"network.primary.pods": "240.4.0.0/14"},
        "network.primary.pods",
        ("public",),
        "warning",
    ),
    Case(
        "access-private-kind",
        {"network.private_service_access.address": "100.64.0.0"},
        {"network.private_service_access.address": "172.20.0.0"},
        "network.private_service_access.address",
        ("RFC 1918",),
        "warning",
    ),
    # Sizes. 2 GPU nodes + 10 CPU nodes + 1 while upgrading, 256 addresses each = 3328.
    Case(
        "pod-range-size",
        {"network.primary.pods": "10.4.0.0/24", "cluster.cpu_pool.max_nodes": 10},
        {"network.primary.pods": "10.4.0.0/20", "cluster.cpu_pool.max_nodes": 10},
        "network.primary.pods",
        ("3328", "/20", "13 nodes x /24", "2 GPU, 10 CPU, 1 during upgrades"),
    ),
    # 58 + 5 + 1 nodes, 64 addresses each = 4096.
    Case(
        "pod-range-size",
        {
            "network.primary.pods": "10.4.0.0/21",
            "gpu.pools[0].nodes": 58,
            "cluster.max_pods_per_node": 32,
            "cluster.cpu_pool.max_pods_per_node": 32,
        },
        {
            "network.primary.pods": "10.4.0.0/20",
            "gpu.pools[0].nodes": 58,
            "cluster.max_pods_per_node": 32,
            "cluster.cpu_pool.max_pods_per_node": 32,
        },
        "network.primary.pods",
        ("4096", "/20", "64 nodes x /26"),
    ),
    # 512 x 256 + 6 x 512 = 134144, one bit above a /15.
    Case(
        "pod-range-size",
        {
            "network.primary.pods": "10.4.0.0/15",
            "gpu.pools[0].nodes": 512,
            "cluster.cpu_pool.max_pods_per_node": 200,
            "gpu.gvnic.cidr": "10.32.0.0/20",
        },
        {
            "network.primary.pods": "10.4.0.0/14",
            "gpu.pools[0].nodes": 512,
            "cluster.cpu_pool.max_pods_per_node": 200,
            "gpu.gvnic.cidr": "10.32.0.0/20",
        },
        "network.primary.pods",
        ("134144", "/14", "6 nodes x /23", "512 nodes x /24"),
    ),
    # The three nodes a new cluster starts with: 3 x 512 = 1536 for a cluster default of 256 pods.
    Case(
        "pod-range-size",
        {
            "network.primary.pods": "10.4.0.0/22",
            "cluster.max_pods_per_node": 256,
            "gpu.pools[0].max_pods_per_node": 8,
            "cluster.cpu_pool.max_pods_per_node": 8,
        },
        {
            "network.primary.pods": "10.4.0.0/21",
            "cluster.max_pods_per_node": 256,
            "gpu.pools[0].max_pods_per_node": 8,
            "cluster.cpu_pool.max_pods_per_node": 8,
        },
        "network.primary.pods",
        ("1536", "/21"),
    ),
    # 9 GPU + 5 CPU + 1 + control plane endpoint + 4 = 20.
    Case(
        "node-range-size",
        {"network.primary.nodes": "10.0.0.0/28", "gpu.pools[0].nodes": 9},
        {"network.primary.nodes": "10.0.0.0/27", "gpu.pools[0].nodes": 9},
        "network.primary.nodes",
        ("20 are needed", "/27"),
    ),
    # 5 + 5 + 1 + 1 + 4 = 16 just fits a /28; one more does not.
    Case(
        "node-range-size",
        {"network.primary.nodes": "10.0.0.0/28", "gpu.pools[0].nodes": 6},
        {"network.primary.nodes": "10.0.0.0/28", "gpu.pools[0].nodes": 5},
        "network.primary.nodes",
        ("17 are needed",),
    ),
    Case(
        "fabric-range-size",
        {"gpu.gvnic.cidr": "192.168.0.0/28", "gpu.pools[0].nodes": 13},
        {"gpu.gvnic.cidr": "192.168.0.0/28", "gpu.pools[0].nodes": 12},
        "gpu.gvnic.cidr",
        ("17 are needed", "/27"),
    ),
    Case(
        "fabric-range-size",
        {"gpu.rdma.cidrs": ranges("192.168.8.0/29"), "gpu.pools[0].autoscaling.max": 5},
        {"gpu.rdma.cidrs": ranges("192.168.8.0/29"), "gpu.pools[0].autoscaling.max": 4},
        "gpu.rdma.cidrs[7]",
        ("/28",),
    ),
    # The default ranges are /24s; nodes are counted in the networks of their zone.
    Case(
        "fabric-range-size",
        {"network.primary.pods": "10.32.0.0/11", "gpu.pools[0].nodes": 253},
        {"network.primary.pods": "10.32.0.0/11", "gpu.pools[0].nodes": 252},
        "gpu.rdma.cidrs[0]",
        ("(and 7 more)", "257 are needed"),
    ),
    Case(
        "fabric-range-size",
        _two_zones(252, 253),
        _two_zones(252, 252),
        "gpu.zones.us-central1-c.block",
        ("253 GPU nodes", "fewer nodes"),
    ),
    Case(
        "range-prefix",
        {"network.primary.services": "10.8.0.0/15"},
        {"network.primary.services": "10.16.0.0/16"},
        "network.primary.services",
        ("/16",),
    ),
    Case(
        "range-prefix",
        {"network.primary.services": "10.8.0.0/29"},
        {"network.primary.services": "10.8.0.0/28"},
        "network.primary.services",
        ("/28",),
    ),
    Case(
        "range-prefix",
        {"cluster.control_plane.cidr": "172.16.0.0/27"},
        {"cluster.control_plane.cidr": "172.16.0.0/28"},
        "cluster.control_plane.cidr",
        ("/28",),
    ),
    Case(
        "range-prefix",
        {"cluster.control_plane.cidr": "100.64.0.0/28"},
        {"cluster.control_plane.cidr": "10.64.0.0/28"},
        "cluster.control_plane.cidr",
        ("RFC 1918",),
    ),
    Case(
        "range-prefix",
        {"gpu.gvnic.cidr": "192.168.0.0/30", "gpu.pools[0].nodes": 0},
        {"gpu.gvnic.cidr": "192.168.0.0/29", "gpu.pools[0].nodes": 0},
        "gpu.gvnic.cidr",
        ("/29",),
    ),
    Case(
        "access-range-start",
        {"network.private_service_access.address": "10.9.8.0"},
        {"network.private_service_access.address": "10.9.16.0"},
        "network.private_service_access.address",
        ("10.9.0.0", "/20"),
    ),
    Case(
        "access-range-size",
        {"network.private_service_access.prefix_length": 25},
        {"network.private_service_access.prefix_length": 23},
        "network.private_service_access.prefix_length",
        ("/23",),
    ),
    Case(
        "access-range-size",
        {"network.private_service_access.prefix_length": 24},
        {"network.private_service_access.prefix_length": 22},
        "network.private_service_access.prefix_length",
        ("/24", "/23"),
        "warning",
    ),
]


def test_every_overlap_is_found_at_once() -> None:
    edits = {
        "network.primary.nodes": "10.4.0.0/20",
        "network.primary.services": "10.4.16.0/20",
        "network.private_service_access.address": "10.5.0.0",
        "gpu.gvnic.cidr": "192.168.1.0/24",
    }
    found = [f.where for f in findings(edits) if f.rule == "address-overlap"]
    assert len(found) == 4


@pytest.mark.parametrize("prefix", [16, 20, 24, 28])
def test_the_block_that_a_hint_offers_is_free_and_of_the_size(prefix: int) -> None:
    import ipaddress

    from groundplan.kernel.addresses import free_block

    taken = [ipaddress.IPv4Network(t) for t in ("10.0.0.0/9", "10.128.0.0/12", "10.144.0.0/20", "10.144.17.0/28")]
    free = free_block(prefix, taken)
    assert free is not None
    assert free.prefixlen == prefix
    assert not any(free.overlaps(t) for t in taken)
    assert str(free) == {16: "10.145.0.0/16", 20: "10.144.32.0/20", 24: "10.144.16.0/24", 28: "10.144.16.0/28"}[prefix]


@pytest.mark.parametrize(("machine_type", "groups"), [("a4-highgpu-8g", 2), ("a3-megagpu-8g", 1)])
def test_the_ranges_that_hints_offer_to_300_nodes_are_free_together(machine_type: str, groups: int) -> None:
    edits: dict[str, Any] = {"network.primary.pods": "10.32.0.0/11"}
    edits["gpu.pools[0]"] = {"machine_type": machine_type, "nodes": 300}
    hints = [found.hint or "" for found in findings(edits) if found.rule == "fabric-range-size"]
    assert len(hints) == groups
    for hint in hints:
        if cidrs := re.search(r"cidrs: \[(.+)\]", hint):
            edits["gpu.rdma.cidrs"] = cidrs.group(1).split(", ")
        elif cidr := re.search(r"\((\S+) is free", hint):
            edits["gpu.gvnic.cidr"] = cidr.group(1)
    assert not [found for found in findings(edits) if "range" in found.rule or "address" in found.rule]


def test_no_block_is_offered_when_there_is_none() -> None:
    import ipaddress

    from groundplan.kernel.addresses import free_block
    from groundplan.kernel.ranges import RFC_1918

    assert free_block(24, RFC_1918) is None
    assert free_block(4, []) is None
    assert free_block(12, [RFC_1918[0]]) is None, "172.16.0.0/12 holds the container runtime's bridge"
    assert free_block(16, [RFC_1918[0], ipaddress.IPv4Network("172.16.0.0/16")]) == ipaddress.IPv4Network(
        "172.18.0.0/16"
    )
