"""The ways out of the primary network and into Google's."""

from __future__ import annotations

from rules.support import Case

EXISTING = {"network.primary.existing": {"network": "shared", "subnetwork": "gke"}}
ALIKE = {"network.primary.existing": {"network": "v", "subnetwork": "s", "pods_range": "a", "services_range": "a"}}
APART = {"network.primary.existing": {"network": "v", "subnetwork": "s", "pods_range": "a", "services_range": "b"}}
NAT = "network.primary.nat"

CASES = [
    Case(
        "nat-addresses",
        # 2 GPU nodes and at most 5 CPU nodes: 7 x 20,000 = 140,000 ports, and two addresses have 129,024.
        {f"{NAT}.addresses": 2, f"{NAT}.min_ports_per_vm": 20000},
        {f"{NAT}.addresses": 3, f"{NAT}.min_ports_per_vm": 20000},
        f"{NAT}.addresses",
        ("7 nodes x 20000 ports = 140000", "129024 of 2 NAT addresses", "use 3 addresses"),
    ),
    Case(
        "nat-addresses",
        {f"{NAT}.addresses": 1, f"{NAT}.min_ports_per_vm": 9217},  # 7 x 9,217 = 64,519
        {f"{NAT}.addresses": 1, f"{NAT}.min_ports_per_vm": 9216},  # 7 x 9,216 = 64,512: all of them
        f"{NAT}.addresses",
        ("use 2 addresses",),
    ),
    Case("range-names-alike", ALIKE, APART, "network.primary.existing.services_range", ("range a",)),
    Case(
        "connection-second",
        {**EXISTING, "network.private_service_access.create": True},
        EXISTING,
        "network.private_service_access.create",
        ("gcloud services vpc-peerings list --network=shared --project=my-project",),
        "warning",
    ),
]
