"""The kinds of catalog entries, and the check of the ones that users write."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from findings import UserError
from findings.redaction import mask_secrets
from groundplan.kernel.gke import parse


@dataclass(frozen=True)
class Gpu:
    """The GPU side of a machine type. Memory in GB per GPU; `min_driver` is the NVIDIA driver branch (570 = R570).

    `gvnics` and `rdma_nics` count the NICs beside the primary one. `min_gke` has one floor, or one for each GKE minor
    that needs one; later minors need none.
    """

    accelerator: str
    count: int
    memory_gb: int
    min_driver: int
    min_gke: tuple[str, ...]
    transport: str = ""
    """How NCCL's traffic leaves the machine: a module of ``gpu/transports``. Not given, it is roce where there are RDMA
    NICs."""
    gvnics: int = 1
    rdma_nics: int = 0
    tuner: str = ""
    """File of gIB's tuner settings; empty for none."""
    nccl: Mapping[str, str] = field(default_factory=dict)
    """NCCL's settings for this machine; given, they stand for all of the transport's."""
    managed_gke: str = ""
    """GKE floor of networks that GKE makes and hands to pods by claims; empty when the machine cannot."""
    nvlink_nodes: int = 0
    """Most machines of one NVLink domain (a sub-block); 0 where NVLink ends at the machine."""
    capacity: tuple[str, ...] = ()
    """Where its machines can come from; empty for anywhere."""
    bus_gb_per_s: int = 0
    """Least bus bandwidth to expect of an all-reduce between nodes, in GB/s; 0 when no figure is known."""
    hbm_tb_per_s: float = 0
    """Published memory bandwidth of one GPU, in TB/s; 0 when not known."""
    bf16_tflops: float = 0
    """Published dense bf16 rate of one GPU's tensor cores, in TFLOP/s; 0 when not known."""
    nvlinks: int = 0
    """NVLinks of one GPU; 0 where it has none, or their number is not known."""

    @property
    def carries(self) -> str:
        """The transport, given or implied."""
        return self.transport or ("roce" if self.rdma_nics else "")

    @property
    def nics(self) -> int:
        """NICs beside the primary one."""
        return self.gvnics + self.rdma_nics


@dataclass(frozen=True)
class Machine:
    """A Compute Engine machine type. Memory in GiB, local SSDs of 375 GiB each.

    `boot_disks` lists the boot disk types it takes, the default first; empty when that is not known.
    """

    name: str
    vcpus: int
    memory_gib: int
    local_ssds: int = 0
    boot_disks: tuple[str, ...] = ()
    arch: str = "amd64"
    gpu: Gpu | None = None
    unconfirmed: str = ""
    """What no source that could be read confirms; `check` says it of every pool of the type."""

    def boots_from(self, disk: str) -> bool:
        """Whether it takes the boot disk type, as far as that is known."""
        return not self.boot_disks or disk in self.boot_disks

    def takes_local_ssds(self, count: int) -> bool:
        """Whether so many local SSDs can be used: all that it has, or none."""
        return count in (0, self.local_ssds)

    def has_accelerator(self, accelerator: str, count: int | None = None) -> bool:
        """Whether its GPUs are of this kind (and so many, when `count` is given); False when it has none."""
        return self.gpu is not None and self.gpu.accelerator == accelerator and count in (None, self.gpu.count)


@dataclass(frozen=True)
class LustreTier:
    """Capacity limits in GiB of one throughput (MB/s per TiB), with the other steps that some sources give."""

    throughput: int
    min: int
    step: int
    older_max: int
    coarse_above: int
    coarse_step: int
    max: int
    other_steps: tuple[int, ...] = ()

    def is_below_least(self, capacity_gib: int) -> bool:
        """Whether an instance of so many GiB is smaller than the least of this throughput."""
        return capacity_gib < self.min


def build_entry(section: str, name: Any, entry: Any, file: str) -> tuple[Any, Any]:
    """Key and value of an entry. Raises UserError naming file, entry and field when it is wrong."""
    where = f"catalog file {file}: `{section}.{mask_secrets(str(name))}`"
    build: Callable[[Any, Any, str], tuple[Any, Any]] = _BUILDERS.get(section, _mapping)
    return build(name, entry, where)


def _machine(name: Any, entry: Any, where: str) -> tuple[str, Machine]:
    fields = _fields(Machine, entry, where, leave_out="name")
    if fields.get("gpu") is not None:
        gpu = _fields(Gpu, fields["gpu"], f"{where} gpu")
        for floor in gpu["min_gke"]:
            _version(floor, f"{where} gpu `min_gke`")
        if gpu.get("managed_gke"):
            _version(gpu["managed_gke"], f"{where} gpu `managed_gke`")
        fields["gpu"] = Gpu(**gpu)
    return str(name), Machine(name=str(name), **fields)


def _tier(name: Any, entry: Any, where: str) -> tuple[int, LustreTier]:
    if not str(name).isdecimal():
        raise UserError(f"{where}: a tier's name must be its throughput in MB/s per TiB, such as 500")
    fields = _fields(LustreTier, entry, where, leave_out="throughput")
    return int(name), LustreTier(throughput=int(name), **fields)


def _floor(name: Any, entry: Any, where: str) -> tuple[str, str]:
    _version(entry, where)
    return str(name), str(entry)


def _mapping(name: Any, entry: Any, where: str) -> tuple[str, dict[str, Any]]:
    if not isinstance(entry, dict):
        raise UserError(f"{where} must be a mapping of fields ({{}} for none)")
    return str(name), entry


_BUILDERS: dict[str, Callable[[Any, Any, str], tuple[Any, Any]]] = {
    "machines": _machine,
    "tiers": _tier,
    "gke": _floor,
}


def _version(value: Any, where: str) -> None:
    try:
        parse(value if isinstance(value, str) else "")
    except ValueError:
        raise UserError(f'{where} must be a GKE version in quotes, such as "1.33.2-gke.1111000"') from None


def _fields(kind: type, entry: Any, where: str, leave_out: str = "") -> dict[str, Any]:
    """The fields of `entry` as `kind` takes them: none unknown, none missing, each of its type."""
    if not isinstance(entry, dict):
        raise UserError(f"{where} must be a mapping of fields")
    known = {f.name: f for f in dataclasses.fields(kind) if f.name != leave_out}
    fields = {}
    for key, value in entry.items():
        if key in ("source", "date"):
            continue
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(known)}"
            raise UserError(f"{where}: unknown field `{mask_secrets(str(key))}`; {hint}")
        fields[key] = _typed(str(known[key].type), value, f"{where} `{key}`", least=0 if key in _MAY_BE_NONE else 1)
    missing = [name for name, f in known.items() if _has_none(f) and name not in fields]
    if missing:
        raise UserError(f"{where}: `{'`, `'.join(missing)}` missing")
    return fields


def _has_none(known: dataclasses.Field[Any]) -> bool:
    """Whether a field has no default."""
    return known.default is dataclasses.MISSING and known.default_factory is dataclasses.MISSING


#: Counts that a machine may have none of.
_MAY_BE_NONE = (
    "local_ssds",
    "gvnics",
    "rdma_nics",
    "nvlink_nodes",
    "bus_gb_per_s",
    "hbm_tb_per_s",
    "bf16_tflops",
    "nvlinks",
)


def _typed(kind: str, value: Any, where: str, least: int = 1) -> Any:
    """`value` as a field of the annotation `kind`."""
    if kind == "int":
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        raise UserError(f"{where} must be a whole number of at least {least}")
    if kind == "float":
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= least:
            return value
        raise UserError(f"{where} must be a number of at least {least}")
    if kind == "str":
        if isinstance(value, str):
            return value
        raise UserError(f"{where} must be text")
    if kind.startswith("Mapping"):
        if isinstance(value, dict) and all(isinstance(each, str) for pair in value.items() for each in pair):
            return dict(value)
        raise UserError(f"{where} must be a mapping of names to texts (numbers in quotes)")
    if kind.startswith("tuple"):
        inner = "int" if "int" in kind else "str"
        if where.endswith("`min_gke`") and isinstance(value, str):
            return (value,)  # most machines have one floor
        if not isinstance(value, list):
            raise UserError(f"{where} must be a list")
        return tuple(_typed(inner, item, where) for item in value)
    return value
