"""RoCE networks: the MTU that RDMA wants, and what a network profile's name tells."""

from __future__ import annotations

from groundplan.kernel.gke import JUMBO_MTU

#: MTU in bytes of a RoCE network (VPC documentation, "RDMA network profiles").
ROCE_MTU = JUMBO_MTU

#: Suffix of the profile whose NICs A3 Ultra and A4 have; bare metal and Falcon (H4D) have their own.
ROCE_PROFILE = "-vpc-roce"


def is_roce_profile(profile: str) -> bool:
    """Whether a network profile, by name or link, is a RoCE one: of VMs or of bare metal."""
    return "roce" in profile


def zone_of_profile(profile: str) -> str:
    """``.../us-central1-b-vpc-roce`` -> ``us-central1-b``; empty when it is no RoCE profile of VMs."""
    zone, found, _ = profile.rstrip("/").rpartition("/")[2].partition(ROCE_PROFILE)
    return zone if found else ""
