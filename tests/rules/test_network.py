"""Which networks are used, and who may come in."""

from __future__ import annotations

from rules.support import Case, slugs

EXISTING = {
    "network.primary.existing.network": "shared",
    "network.primary.existing.subnetwork": "gke",
    "network.primary.nodes": "10.0.0.0/20",
    "network.primary.pods": "10.4.0.0/14",
    "network.primary.services": "10.8.0.0/20",
    "network.private_service_access.address": "10.9.0.0",
}
SHARED = {**EXISTING, "network.primary.existing.project": "host-project"}
RULE = {
    "network.firewall_rules[0].name": "ssh",
    "network.firewall_rules[0].source_ranges": ["10.200.0.0/24"],
    "network.firewall_rules[0].allow": [{"protocol": "tcp", "ports": ["22"]}],
}
GVNIC = {"gpu.gvnic.existing": {"network": "other", "subnetwork": "other-sub"}, "gpu.gvnic.cidr": "192.168.0.0/24"}
RDMA_NAMES = [f"rdma-sub-{n}" for n in range(8)]
RDMA = {
    "gpu.rdma.existing": {"network": "roce", "subnetworks": RDMA_NAMES},
    "gpu.rdma.cidrs": [f"192.168.{n}.0/24" for n in range(1, 9)],
}


CASES = [
    Case(
        "range-unknown",
        {"network.primary.existing": {"network": "shared", "subnetwork": "gke"}},
        EXISTING,
        "network.primary.existing",
        ("network.primary.pods",),
        "warning",
    ),
    Case(
        "range-unknown",
        {"gpu.gvnic.existing": {"network": "n", "subnetwork": "s"}},
        GVNIC,
        "gpu.gvnic.existing",
        ("gpu.gvnic.cidr",),
        "warning",
    ),
    Case(
        "range-unknown",
        {"gpu.rdma.existing": {"network": "roce", "subnetworks": RDMA_NAMES}},
        RDMA,
        "gpu.rdma.existing",
        ("gpu.rdma.cidrs",),
        "warning",
    ),
    # Which network.
    Case(
        "network-default",
        {"network.primary.name": "default"},
        {"network.primary.name": "default-rl"},
        "network.primary.name",
        ("auto-mode",),
    ),
    Case(
        "network-default",
        {**EXISTING, "network.primary.existing.network": "default"},
        {
            **EXISTING,
            "network.primary.existing.network": "default",
            "network.primary.existing.pods_range": "pods",
            "network.primary.existing.services_range": "services",
        },
        "network.primary.existing.network",
        ("secondary ranges",),
    ),
    Case("network-shared-by-nics", {**GVNIC, "network.primary.name": "other"}, GVNIC, "gpu.gvnic", ("primary",)),
    Case(
        "network-shared-by-nics",
        {"gpu.gvnic.prefix": "x", "gpu.rdma.prefix": "x"},
        {"gpu.gvnic.prefix": "x", "gpu.rdma.prefix": "y"},
        "gpu.rdma",
        ("gVNIC",),
    ),
    Case(
        "network-shared-by-nics",
        {"network.primary.name": "x-net", "gpu.rdma.prefix": "x"},
        {"network.primary.name": "x-net", "gpu.rdma.prefix": "y"},
        "gpu.rdma",
        ("primary",),
    ),
    # Shared VPC.
    Case(
        "host-stack-own-project",
        {**EXISTING, "network.primary.existing.host_stack": True},
        {**SHARED, "network.primary.existing.host_stack": True},
        "network.primary.existing.host_stack",
        ("`network.primary.existing.project` is not given",),
    ),
    Case(
        "host-stack-own-project",
        {**EXISTING, "network.primary.existing.host_stack": True, "network.primary.existing.project": "my-project"},
        {**EXISTING, "network.primary.existing.host_stack": False, "network.primary.existing.project": "my-project"},
        "network.primary.existing.host_stack",
        ("is my-project, the site's own",),
    ),
    Case(
        "shared-vpc-unconfirmed",
        SHARED,
        {**EXISTING, "network.primary.existing.project": "my-project"},
        "network.primary.existing.project",
        ("not confirmed", "host-project", "second plan"),
        "warning",
    ),
    # The GPU nodes' networks stand beside the primary one, in the host project: their names must differ.
    Case(
        "network-shared-by-nics",
        {
            **EXISTING,
            "network.primary.existing.project": "host-project",
            "gpu.gvnic.existing": {"network": "shared", "subnetwork": "s"},
        },
        {
            **EXISTING,
            "network.primary.existing.project": "host-project",
            "gpu.gvnic.existing": {"network": "second", "subnetwork": "s"},
        },
        "gpu.gvnic",
        ("primary",),
    ),
    # Who may come in.
    Case(
        "firewall-roce",
        {**RULE, "network.firewall_rules[0].network": "rdma"},
        {**RULE, "network.firewall_rules[0].network": "gvnic"},
        "network.firewall_rules[0].network",
        ("RoCE",),
    ),
    Case(
        "firewall-existing-network",
        {**GVNIC, **RULE, "network.firewall_rules[0].network": "gvnic"},
        {**GVNIC, **RULE},
        "network.firewall_rules[0].network",
        ("left as it is",),
    ),
    Case(
        "firewall-open",
        {**RULE, "network.firewall_rules[0].source_ranges": ["10.0.0.0/8", "0.0.0.0/0"]},
        {**RULE, "network.firewall_rules[0].source_ranges": ["10.0.0.0/8"]},
        "network.firewall_rules[0].source_ranges[1]",
        ("0.0.0.0/0",),
    ),
    Case(
        "firewall-open",
        {**RULE, "network.firewall_rules[0].source_ranges": ["128.0.0.0/1"]},
        {**RULE, "network.firewall_rules[0].source_ranges": ["35.235.240.0/20"]},
        "network.firewall_rules[0].source_ranges[0]",
        ("128.0.0.0/1",),
    ),
    *(
        Case(
            "firewall-ports",
            {**RULE, "network.firewall_rules[0].allow": [allow]},
            {**RULE, "network.firewall_rules[0].allow": [fine]},
            "network.firewall_rules[0].allow[0]",
            (says,),
        )
        for allow, fine, says in [
            ({"protocol": "tcp"}, {"protocol": "tcp", "ports": ["443"]}, "every port"),
            (
                {"protocol": "udp", "ports": ["0-65535"]},
                {"protocol": "udp", "ports": ["1024-65535"]},
                "outside the site",
            ),
            ({"protocol": "tcp", "ports": ["70000"]}, {"protocol": "tcp", "ports": ["65535"]}, "65535"),
            ({"protocol": "tcp", "ports": ["8080-8000"]}, {"protocol": "tcp", "ports": ["8000-8080"]}, "8000-8080"),
            ({"protocol": "icmp", "ports": ["1"]}, {"protocol": "icmp"}, "no ports"),
        ]
    ),
    Case(
        "access-connection",
        {"network.private_service_access.create": False},
        {**EXISTING, "network.private_service_access.create": False},
        "network.private_service_access.create",
        ("Lustre",),
    ),
    Case(
        "nat-off",
        {"network.primary.nat.enabled": False},
        {"network.primary.nat.logging": False},
        "network.primary.nat.enabled",
        ("nvcr.io",),
        "warning",
    ),
]


def test_all_ports_from_the_site_itself_pass() -> None:
    own = {**RULE, "network.firewall_rules[0].allow": [{"protocol": "tcp", "ports": ["0-65535"]}]}
    own["network.firewall_rules[0].source_ranges"] = ["10.4.0.0/16", "10.0.0.0/20"]
    assert slugs(own) == set()
