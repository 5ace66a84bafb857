"""GKE's and Compute Engine's own words: versions, labels and taints of nodes, zones, reservations, network profiles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass

#: Labels and the taint's key that GKE itself puts on nodes, and on GPU nodes.
POOL_LABEL = "cloud.google.com/gke-nodepool"
ACCELERATOR_LABEL = "cloud.google.com/gke-accelerator"
GPU_TAINT = "nvidia.com/gpu"
#: Node label under which GKE runs its DRA network driver, set on the pool; and the one that GKE puts on nodes whose
#: networks it has made (GKE, "Allocate network resources by using GKE managed DRANET").
DRANET_LABEL = "cloud.google.com/gke-networking-dra-driver"
MANAGED_NETWORKS_LABEL = "gke.networks.io/accelerator-network-profile"
#: Class of the RDMA NICs that pods claim, which GKE installs.
RDMA_DEVICE_CLASS = "mrdma.google.com"
#: Label of a node's architecture; on nodes that are no amd64 GKE makes it a taint too.
ARCH_LABEL = "kubernetes.io/arch"

#: Key under which GKE takes a reservation's name.
RESERVATION_KEY = "compute.googleapis.com/reservation-name"

#: OAuth scope of all nodes: what the account may do is decided by its roles, so the scope is the whole platform.
NODE_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]

#: Roles on a host project of a Shared VPC: to place interfaces in a subnetwork; for GKE's service agent of a service
#: project, to let the host project's configure the shared network (GKE, "Setting up clusters with Shared VPC").
NETWORK_USER = "roles/compute.networkUser"
HOST_AGENT_USER = "roles/container.hostServiceAgentUser"

#: The most that a VPC takes as MTU, in bytes.
JUMBO_MTU = 8896

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+)(?:-gke\.(\d+))?)?\Z")

#: What a part of a wanted version that is not written stands for: GKE takes the newest that the prefix admits.
_NEWEST = 10**9

Version = tuple[int, int, int, int]


def parse(version: str, left_out: int = 0) -> Version:
    """``1.35.2-gke.1842000`` -> (1, 35, 2, 1842000); parts that are left out are `left_out`.

    Raises ValueError for anything else.
    """
    match = _VERSION.match(version)
    if not match:
        raise ValueError(f"{version!r} is not a GKE version")
    major, minor, patch, build = (left_out if part is None else int(part) for part in match.groups())
    return major, minor, patch, build


def is_below(version: str | None, floor: str) -> bool:
    """Whether every GKE version that `version` can mean is older than `floor`; None, the channel's own, never is."""
    return version is not None and parse(version, _NEWEST) < parse(floor)


def floor_for(version: str | None, floors: Sequence[str]) -> str:
    """The floor that counts for a version: of its own minor, else the oldest of all when it is older; else empty.

    Without a version it is the newest of all. A feature that was brought to old minors too has a floor in each.
    """
    if version is None:
        return max(floors, key=parse)
    minor = parse(version)[:2]
    own = [floor for floor in floors if parse(floor)[:2] == minor]
    oldest = min(floors, key=parse)
    return own[0] if own else oldest if minor < parse(oldest)[:2] else ""


def gke_agent(number: str) -> str:
    """Address of GKE's service agent of a project, by its number."""
    return f"service-{number}@container-engine-robot.iam.gserviceaccount.com"


def apis_agent(number: str) -> str:
    """Address of the Google APIs service agent of a project, which makes the instances of managed groups."""
    return f"{number}@cloudservices.gserviceaccount.com"


def region_of(zone: str) -> str:
    """``us-central1-b`` -> ``us-central1``."""
    return zone.rpartition("-")[0]


@dataclass(frozen=True, slots=True)
class ReservationPath:
    """A Compute Engine reservation, or a part of one: a sub-block stands in a block."""

    project: str
    name: str
    block: str = ""
    sub_block: str = ""

    def __str__(self) -> str:
        """The full form, which GKE takes for own and shared reservations alike; a name alone is the cluster's own."""
        path = f"projects/{self.project}/reservations/{self.name}" if self.project else self.name
        if self.block:
            path += f"/reservationBlocks/{self.block}"
        if self.sub_block:
            path += f"/reservationSubBlocks/{self.sub_block}"
        return path

    @property
    def short(self) -> str:
        """``name/block/sub-block``, as far as it goes, for people."""
        return "/".join(filter(None, (self.name, self.block, self.sub_block)))

    @property
    def whole(self) -> ReservationPath:
        """The reservation that this is a part of, or is."""
        return ReservationPath(self.project, self.name)

    def holds(self, other: ReservationPath) -> bool:
        """Whether `other` is this reservation or a part of it; blocks beside one another hold nothing of each other."""
        mine, theirs = astuple(self), astuple(other)
        return all(not own or own == its for own, its in zip(mine, theirs, strict=True))


_RESERVATION = re.compile(
    r"(?:(?:https?:)?//[a-z]+\.googleapis\.com/(?:(?:compute/)?(?:v1|beta|alpha)/)?)?"
    r"(?:projects/(?P<project>[^/]+)/)?(?:zones/[^/]+/)?(?:reservations/)?(?P<name>[^/]+)"
    r"(?:/reservationBlocks/(?P<block>[^/]+))?(?:/reservationSubBlocks/(?P<sub_block>[^/]+))?/?"
)


def parse_reservation(text: str) -> ReservationPath | None:
    """A name, or any of the paths that Google's tools print, in parts; None when it is neither."""
    match = _RESERVATION.fullmatch(text)
    return (
        ReservationPath(*(part or "" for part in match.group("project", "name", "block", "sub_block")))
        if match
        else None
    )
