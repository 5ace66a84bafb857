"""What the gpu section comes to: the order of the NICs and the shape of every pool."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network

from groundplan.catalog import Catalog, Machine
from groundplan.gpu.spec import Capacity, GpuPool, GpuSpec, Reservation
from groundplan.kernel.gke import GPU_TAINT, ReservationPath
from groundplan.kernel.roce import ROCE_PROFILE

#: Volume name -> folder of a GPU node: the driver's libraries and the gIB plugin. Pods mount both below /usr/local.
HOST_PATHS = {"nvidia": "/home/kubernetes/bin/nvidia", "gib": "/home/kubernetes/bin/gib"}

#: Taint effects as the GKE API spells them -> as Kubernetes does.
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule", "NO_EXECUTE": "NoExecute"}


@dataclass(frozen=True)
class Nic:
    """One additional network of a GPU node.

    `name` is the Network object inside the cluster (gvnic-1, rdma-0 ...), `interface` the name in the pod. Their order
    is that of the node pool and of the pods' annotation: gVNIC first, then RDMA 0 to 7.
    """

    name: str
    interface: str
    vpc: str
    subnetwork: str
    device_mode: str


@dataclass(frozen=True)
class FabricValues:
    """The networks of the second and further NICs, all in `project`, the primary network's: GKE wants them there."""

    project: str
    gvnic_vpc: str
    gvnic_subnetwork: str
    gvnic_firewall: str
    gvnic_exists: bool
    gvnic_cidr: IPv4Network
    gvnic_mtu: int
    rdma_vpc: str
    rdma_subnetworks: tuple[str, ...]
    rdma_exists: bool
    rdma_cidrs: tuple[IPv4Network, ...]
    rdma_mtu: int
    network_profile: str

    @property
    def nics(self) -> tuple[Nic, ...]:
        """All additional NICs in order, by short names.

        GKENetworkParamSets take no others, of a Shared VPC neither: GKE looks for them in the project of the cluster's
        network (kubernetes/cloud-provider-gcp, pkg/controller/gkenetworkparamset/gnpcontroller_validations.go).
        """
        gvnic = Nic("gvnic-1", "eth1", self.gvnic_vpc, self.gvnic_subnetwork, "NetDevice")
        rdma = (
            Nic(f"rdma-{n}", f"eth{n + 2}", self.rdma_vpc, subnetwork, "RDMA")
            for n, subnetwork in enumerate(self.rdma_subnetworks)
        )
        return (gvnic, *rdma)


@dataclass(frozen=True)
class PoolValues:
    """One GPU pool with every default filled in. `index` is its place in the profile."""

    index: int
    name: str
    spec: GpuPool
    machine: Machine | None
    accelerator: str
    zone: str
    capacity: Capacity
    reservation: Reservation | None
    reservation_path: ReservationPath | None
    fixed_nodes: int | None
    min_nodes: int
    max_nodes: int
    local_ssds: int
    boot_disk_type: str
    max_pods_per_node: int
    auto_repair: bool
    auto_upgrade: bool

    @property
    def gpus_per_node(self) -> int:
        """GPUs of one node (0 for a machine type the catalog does not know)."""
        return self.machine.gpu.count if self.machine and self.machine.gpu else 0


def fabric_values(spec: GpuSpec, *, site: str, zone: str, project: str) -> FabricValues:
    """Names, ranges and the network profile. `site` is its name, `project` that of the primary network."""
    gvnic, rdma = spec.gvnic, spec.rdma
    gvnic_prefix = gvnic.prefix or f"{site}-gvnic"
    rdma_prefix = rdma.prefix or f"{site}-rdma"
    created = tuple(f"{rdma_prefix}-sub-{n}" for n in range(len(rdma.cidrs)))
    return FabricValues(
        project=project,
        gvnic_vpc=gvnic.existing.network if gvnic.existing else f"{gvnic_prefix}-net",
        gvnic_subnetwork=gvnic.existing.subnetwork if gvnic.existing else f"{gvnic_prefix}-sub",
        gvnic_firewall=f"{gvnic_prefix}-internal",
        gvnic_exists=gvnic.existing is not None,
        gvnic_cidr=gvnic.cidr,
        gvnic_mtu=gvnic.mtu,
        rdma_vpc=rdma.existing.network if rdma.existing else f"{rdma_prefix}-net",
        rdma_subnetworks=tuple(rdma.existing.subnetworks) if rdma.existing else created,
        rdma_exists=rdma.existing is not None,
        rdma_cidrs=tuple(rdma.cidrs),
        rdma_mtu=rdma.mtu,
        network_profile=rdma.network_profile or zone + ROCE_PROFILE,
    )


@dataclass(frozen=True)
class PoolDefaults:
    """What a pool takes from the rest of the profile where it says nothing itself."""

    project: str
    zone: str
    reservation: Reservation | None
    max_pods_per_node: int


def pool_values(spec: GpuSpec, catalog: Catalog, defaults: PoolDefaults) -> tuple[PoolValues, ...]:
    """Every GPU pool, in the profile's order."""
    return tuple(_pool_values(catalog, defaults, index, pool) for index, pool in enumerate(spec.pools))


#: Capacity modes in which GKE gives and takes nodes by itself.
DYNAMIC = ("flex_start", "queued")


def _pool_values(catalog: Catalog, defaults: PoolDefaults, index: int, spec: GpuPool) -> PoolValues:
    machine = catalog.machines.get(spec.machine_type)
    gpu = machine.gpu if machine else None
    fixed = spec.nodes if spec.autoscaling is None else None
    if fixed is None and spec.autoscaling is None:
        fixed = 2
    reservation = spec.reservation or (defaults.reservation if spec.capacity == "reservation" else None)
    most = spec.autoscaling.max if spec.autoscaling else fixed or 0
    return PoolValues(
        index=index,
        name=spec.name or spec.machine_type,
        spec=spec,
        machine=machine,
        accelerator=spec.accelerator or (gpu.accelerator if gpu else ""),
        zone=spec.zone or defaults.zone,
        capacity=spec.capacity,
        reservation=reservation,
        reservation_path=_path(reservation, defaults.project) if reservation else None,
        fixed_nodes=fixed,
        min_nodes=spec.autoscaling.min if spec.autoscaling else fixed or 0,
        max_nodes=most,
        local_ssds=spec.local_ssds if spec.local_ssds is not None else machine.local_ssds if machine else 0,
        boot_disk_type=spec.boot_disk.type or (machine.boot_disks[0] if machine and machine.boot_disks else ""),
        max_pods_per_node=spec.max_pods_per_node or defaults.max_pods_per_node,
        auto_repair=spec.auto_repair if spec.auto_repair is not None else spec.capacity not in DYNAMIC,
        auto_upgrade=spec.auto_upgrade if spec.auto_upgrade is not None else True,
    )


def _path(reservation: Reservation, project: str) -> ReservationPath:
    return ReservationPath(
        reservation.project or project, reservation.name, reservation.block or "", reservation.sub_block or ""
    )


def gpu_toleration() -> dict[str, str]:
    """Of GKE's own taint of GPU nodes."""
    return {"key": GPU_TAINT, "operator": "Exists", "effect": "NoSchedule"}


def own_tolerations(pool: PoolValues) -> list[dict[str, str]]:
    """Of the taints that the profile puts on a pool."""
    return [
        {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": _EFFECTS[taint.effect]}
        for taint in pool.spec.taints
    ]
