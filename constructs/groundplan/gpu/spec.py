"""The ``gpu`` section: the fabric (gVNIC and RDMA networks) and the GPU pools."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from groundplan.kernel.fields import (
    Cidr,
    ClusterName,
    Count,
    Day,
    KubernetesLabelKey,
    KubernetesLabelValue,
    NamePrefix,
    PositiveCount,
    ProjectId,
    ResourceName,
    Section,
    Zone,
)
from groundplan.kernel.gke import JUMBO_MTU

Fabric = Literal["own", "managed"]
Capacity = Literal["reservation", "any_reservation", "spot", "on_demand", "flex_start", "queued"]


class Reservation(Section):
    """A Compute Engine reservation; a plain name is short for a mapping with that name alone."""

    name: ResourceName
    """Name of the reservation."""
    project: ProjectId | None = None
    """Project that owns it, when it is shared. Default: the site's project."""
    block: ResourceName | None = None
    """Reservation block."""
    sub_block: ResourceName | None = None
    """Sub-block of the block."""
    count: PositiveCount | None = None
    """Machines it holds, where you know: pools that want more are refused."""
    active_from: Day | None = None
    """Day from which its machines are there (future reservations, calendar mode); judged with `check --as-of`."""

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, value: object) -> object:
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, list):
            limit = "must be one reservation (a name or a mapping); give each reservation a pool of its own"
            raise PydanticCustomError("limit", "{limit}", {"limit": limit})
        return value


class ExistingGvnic(Section):
    """A gVNIC network that is there already."""

    network: ResourceName
    """Name of the network."""
    subnetwork: ResourceName
    """Name of its subnetwork in the site's region."""


class Gvnic(Section):
    """The network of the second, ordinary NIC of each GPU node."""

    prefix: NamePrefix | None = None
    """Prefix of the names <prefix>-net, -sub, -internal; of several networks, <prefix>-1-net and so on. Default:
    <site>-gvnic."""
    existing: Annotated[list[ExistingGvnic], Field(min_length=1)] | None = None
    """Use this network instead of creating one; a list for machines with several such NICs, in their order."""
    cidr: Cidr = IPv4Network("192.168.0.0/24")
    """Range of its subnetwork: one address a GPU node. Of several, the first one's; the others follow it."""
    mtu: Annotated[int, Field(ge=1300, le=JUMBO_MTU)] | None = None
    """MTU in bytes. Default: the transport's (8896)."""

    @field_validator("existing", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        return [value] if isinstance(value, dict) else value


class ExistingRdma(Section):
    """A RoCE network that is there already."""

    network: ResourceName
    """Name of the network; it must carry the RoCE profile of the pools' zone."""
    subnetworks: Annotated[list[ResourceName], Field(min_length=1)]
    """Its subnetworks, one per RDMA NIC, in the order of the NICs."""


class Rdma(Section):
    """The RoCE network: one subnetwork per RDMA NIC; zonal, and without firewall rules, which its profile refuses."""

    prefix: NamePrefix | None = None
    """Prefix of the names <prefix>-net, <prefix>-sub-0 and so on. Default: <site>-rdma."""
    existing: ExistingRdma | None = None
    """Use this network instead of creating one."""
    network_profile: ResourceName | None = None
    """Network profile. Default: <zone>-vpc-roce; create-time only, a change replaces the network and the pools."""
    cidrs: list[Cidr] | None = None
    """Ranges of the subnetworks, in the order of the NICs: one address a GPU node in each. Default: 192.168.1.0/24 and
    on, one for each RDMA NIC; behind the ranges of several gVNICs."""
    mtu: Annotated[int, Field(ge=1300, le=JUMBO_MTU)] = JUMBO_MTU
    """MTU in bytes; RoCE wants 8896."""


class Autoscaling(Section):
    """A pool that grows and shrinks between two counts."""

    min: Count = 0
    """Fewest nodes."""
    max: PositiveCount
    """Most nodes."""


class BootDisk(Section):
    """Boot disk of GPU nodes."""

    type: str | None = None
    """Disk type. Default: the one of the machine type (hyperdisk-balanced for A4 and A3 Ultra)."""
    size_gib: Annotated[int, Field(ge=50, le=65536)] = 200
    """Size in GiB; the NeMo RL image alone takes tens."""


class Taint(Section):
    """A node taint beside GKE's own nvidia.com/gpu taint."""

    key: KubernetesLabelKey
    """Key."""
    value: KubernetesLabelValue = ""
    """Value."""
    effect: Literal["NO_SCHEDULE", "PREFER_NO_SCHEDULE", "NO_EXECUTE"] = "NO_SCHEDULE"
    """Effect."""


class ZoneNetworks(Section):
    """Networks for the GPU pools of a zone other than the site's own: a RoCE network belongs to one zone."""

    block: Cidr
    """Addresses of the zone's networks: cut into one /24 for each NIC, in their order. A /20 is enough for all."""
    gvnic_prefix: NamePrefix | None = None
    """Prefix of the gVNIC networks' names. Default: <site>-gvnic-<end of the zone>."""
    rdma_prefix: NamePrefix | None = None
    """Prefix of the RoCE network's names. Default: <site>-rdma-<end of the zone>."""


class GpuPool(Section):
    """A node pool of GPU machines, with the networks of its fabric."""

    name: ClusterName | None = None
    """Name of the pool. Default: the machine type, so that another shape is another pool."""
    machine_type: str = "a4-highgpu-8g"
    """a4-highgpu-8g (8 x B200), a3-ultragpu-8g (8 x H200) and so on (`groundplan catalog machines`), or one of your own
    catalog."""
    fabric: Fabric | None = None
    """Whose networks its NICs use. Default: `gpu.fabric`."""
    accelerator: str | None = None
    """GPU type as GKE names it. Default: the machine type's."""
    zone: Zone | None = None
    """Zone of the nodes. Default: the site's; another one needs networks of its own (`gpu.zones`)."""
    nodes: Count | None = None
    """Fixed number of nodes. Give this or `autoscaling`; default 2."""
    autoscaling: Autoscaling | None = None
    """Fewest and most nodes."""
    capacity: Capacity = "reservation"
    """Where the machines come from. reservation: the one that is named. any_reservation: any open one of the project
    that fits, and never on demand."""
    reservation: Reservation | None = None
    """The reservation. Default: the profile's top-level `reservation`."""
    sub_blocks: Annotated[list[ResourceName], Field(min_length=1)] | None = None
    """Sub-blocks of the reservation's block: a pool for each, named <name>-1 and so on, each with these nodes."""
    placement: Literal["compact"] | None = None
    """Compact placement policy; never with a reservation, which has its own."""
    driver: Literal["DEFAULT", "LATEST"] = "DEFAULT"
    """NVIDIA driver that GKE installs. A change replaces the pool."""
    boot_disk: BootDisk = BootDisk()
    """Boot disk."""
    local_ssds: Count | None = None
    """Local SSDs for ephemeral storage. Default: all that the machine type has."""
    max_pods_per_node: Annotated[int, Field(ge=8, le=256)] | None = None
    """Most pods on a node. Default: the cluster's."""
    auto_repair: bool | None = None
    """Auto-repair. Default: yes, but no with flex_start and queued, as GKE demands."""
    auto_upgrade: bool | None = None
    """Auto-upgrade. Default: yes, as a release channel demands."""
    host_maintenance: Literal["AS_NEEDED", "PERIODIC"] | None = None
    """Refused: the google provider never sends it, and would replace the pool at every plan. It is the
    reservation's to set."""
    drain_hours: Annotated[int, Field(ge=1, le=24)] | None = None
    """Hours for which a PodDisruptionBudget is honoured when nodes are drained. Default: GKE's own (1)."""
    max_run_hours: Annotated[int, Field(ge=1, le=168)] | None = None
    """With flex_start or queued: hours after which the nodes are taken back (at most 7 days)."""
    secure_boot: bool = True
    """Secure Boot; GPU machines run Lustre with it."""
    labels: dict[KubernetesLabelKey, KubernetesLabelValue] = {}
    """Node labels."""
    taints: list[Taint] = []
    """Taints of your own."""


class GpuSpec(Section):
    """Fabric and pools. The fabric lives and dies with its pools."""

    fabric: Fabric = "own"
    """own: networks of the site, handed to pods by annotations. managed: networks that GKE makes, handed to pods by
    claims (DRANET)."""
    gvnic: Gvnic = Gvnic()
    """The gVNIC network."""
    rdma: Rdma = Rdma()
    """The RoCE network."""
    zones: dict[Zone, ZoneNetworks] = {}
    """Networks of further zones of the region that have GPU pools."""
    pools: Annotated[list[GpuPool], Field(min_length=1)] = [GpuPool()]
    """The GPU pools."""
