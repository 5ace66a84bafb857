"""What the gpu section comes to: the shape of every pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from groundplan.catalog import Catalog, Gpu, Machine
from groundplan.gpu.nvlink import arch_toleration
from groundplan.gpu.spec import Capacity, Fabric, GpuPool, GpuSpec, Reservation
from groundplan.kernel.gke import GPU_TAINT, ReservationPath

#: Taint effects as the GKE API spells them -> as Kubernetes does.
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule", "NO_EXECUTE": "NoExecute"}


@dataclass(frozen=True)
class PoolValues:
    """One GPU pool with every default filled in. `index` is its place in the profile, `entry` the name of that entry,
    which has several pools when it names sub-blocks."""

    index: int
    entry: str
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
    fabric: Fabric

    @property
    def gpu(self) -> Gpu | None:
        """The GPU side of its machine type; None for one the catalog does not know."""
        return self.machine.gpu if self.machine else None

    @property
    def is_managed(self) -> bool:
        """Whether GKE makes its networks and hands its NICs to pods by claims."""
        return self.fabric == "managed"

    @property
    def own_nics(self) -> tuple[int, int]:
        """gVNIC and RDMA NICs beside the primary one that want networks of the site."""
        return (self.gpu.gvnics, self.gpu.rdma_nics) if self.gpu and not self.is_managed else (0, 0)

    @property
    def claimed_nics(self) -> int:
        """RDMA NICs that a pod of the whole machine claims; 0 where the NICs come by annotations."""
        return self.gpu.rdma_nics if self.gpu and self.is_managed else 0

    @property
    def nvlink_nodes(self) -> int:
        """Most machines of one NVLink domain; 0 where NVLink ends at the machine."""
        return self.gpu.nvlink_nodes if self.gpu else 0

    @property
    def gpus_per_node(self) -> int:
        """GPUs of one node (0 for a machine type the catalog does not know)."""
        return self.machine.gpu.count if self.machine and self.machine.gpu else 0


@dataclass(frozen=True)
class PoolDefaults:
    """What a pool takes from the rest of the profile where it says nothing itself."""

    project: str
    zone: str
    reservation: Reservation | None
    max_pods_per_node: int


def pool_values(spec: GpuSpec, catalog: Catalog, defaults: PoolDefaults) -> tuple[PoolValues, ...]:
    """Every GPU pool, in the profile's order."""
    return tuple(
        pool
        for index, each in enumerate(spec.pools)
        for pool in _split(_pool_values(catalog, defaults, index, each, spec.fabric))
    )


def _split(pool: PoolValues) -> Iterator[PoolValues]:
    """A pool for each sub-block that its entry names."""
    path = pool.reservation_path
    if not pool.spec.sub_blocks:
        yield pool
        return
    for n, sub_block in enumerate(pool.spec.sub_blocks, start=1):
        here = replace(path, sub_block=sub_block) if path else None
        yield replace(pool, name=f"{pool.entry}-{n}", reservation_path=here)


#: Capacity modes in which GKE gives and takes nodes by itself.
DYNAMIC = ("flex_start", "queued")


def _pool_values(catalog: Catalog, defaults: PoolDefaults, index: int, spec: GpuPool, fabric: Fabric) -> PoolValues:
    machine = catalog.machines.get(spec.machine_type)
    gpu = machine.gpu if machine else None
    fixed = spec.nodes if spec.autoscaling is None else None
    if fixed is None and spec.autoscaling is None:
        fixed = nodes_of(2, gpu.count if gpu else 0)
    reservation = spec.reservation or (defaults.reservation if spec.capacity == "reservation" else None)
    most = spec.autoscaling.max if spec.autoscaling else fixed or 0
    return PoolValues(
        index=index,
        entry=spec.name or spec.machine_type,
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
        fabric=spec.fabric or fabric,
    )


def _path(reservation: Reservation, project: str) -> ReservationPath:
    return ReservationPath(
        reservation.project or project, reservation.name, reservation.block or "", reservation.sub_block or ""
    )


#: GPUs of a node for which recipes and defaults count nodes.
_USUAL_GPUS = 8


def nodes_of(usual: int, gpus_per_node: int) -> int:
    """So many nodes of the machine as have the GPUs of `usual` nodes of 8; as many as these where it has more, or none
    that are known."""
    return -(-usual * _USUAL_GPUS // gpus_per_node) if 0 < gpus_per_node < _USUAL_GPUS else usual


def gpu_toleration() -> dict[str, str]:
    """Of GKE's own taint of GPU nodes."""
    return {"key": GPU_TAINT, "operator": "Exists", "effect": "NoSchedule"}


def own_tolerations(pool: PoolValues) -> list[dict[str, str]]:
    """Of the taints that a pool has beside that of all GPU nodes: its architecture's, and the profile's own."""
    arch = pool.machine.arch if pool.machine else "amd64"
    return [arch_toleration(arch)] * (arch != "amd64") + [
        {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": _EFFECTS[taint.effect]}
        for taint in pool.spec.taints
    ]
