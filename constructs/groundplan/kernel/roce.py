"""RoCE networks: the MTU that RDMA wants, and what a network profile's name tells."""

from __future__ import annotations

from collections.abc import Collection

from groundplan.kernel.gke import JUMBO_MTU

#: MTU in bytes of a RoCE network (VPC documentation, "RDMA network profiles").
ROCE_MTU = JUMBO_MTU

#: Suffix of the profile whose NICs A3 Ultra and A4 have; bare metal and Falcon (H4D) have their own.
ROCE_PROFILE = "-vpc-roce"


def is_roce_profile(profile: str) -> bool:
    """Whether a network profile, by name or link, is a RoCE one: of VMs or of bare metal."""
    return "roce" in profile


def refuses_firewall_rules(profile: str) -> bool:
    """Whether a network with this profile takes no VPC firewall rules (VPC documentation, "RDMA network profiles")."""
    return is_roce_profile(profile)


def zone_of_profile(profile: str) -> str:
    """``.../us-central1-b-vpc-roce`` -> ``us-central1-b``, of any RDMA profile; empty when it names no zone."""
    zone, found, _ = profile.rstrip("/").rpartition("/")[2].partition("-vpc-")
    return zone if found else ""


def is_outside(zones: Collection[str], profile: str) -> bool:
    """Whether nodes stand in another zone than the network with this profile; False when either is not known."""
    zone = zone_of_profile(profile)
    return bool(zone and zones) and set(zones) != {zone}
