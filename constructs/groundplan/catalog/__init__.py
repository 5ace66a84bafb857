"""Dated public facts as data: machine types, Lustre tiers, version floors, releases, recipes.

Every file names its source and date. A user's own files (``catalog:`` in the profile) have the same sections and win
over the shipped entries of the same name, so that a newer fact never waits for a release of groundplan.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from groundplan.findings import GroundplanError

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Gpu:
    """The GPU side of a machine type. Memory in GB per GPU; `min_driver` is the NVIDIA driver branch (570 = R570)."""

    accelerator: str
    count: int
    memory_gb: int
    rdma_nics: int
    tuner: str
    min_driver: int
    min_gke: str


@dataclass(frozen=True)
class Machine:
    """A Compute Engine machine type. Memory in GiB, local SSDs of 375 GiB each."""

    name: str
    vcpus: int
    memory_gib: int
    local_ssds: int = 0
    boot_disks: tuple[str, ...] = ()
    gpu: Gpu | None = None


@dataclass(frozen=True)
class LustreTier:
    """Capacity limits in GiB of one throughput (MB/s per TiB)."""

    throughput: int
    min: int
    step: int
    older_max: int
    coarse_above: int
    coarse_step: int
    max: int


@dataclass(frozen=True)
class Catalog:
    """All facts, shipped and the user's own."""

    machines: dict[str, Machine]
    tiers: dict[int, LustreTier]
    gke: dict[str, str]
    kuberay: dict[str, dict[str, Any]]
    kuberay_repository: str
    releases: dict[str, dict[str, Any]] = field(default_factory=dict)
    recipes: dict[str, dict[str, Any]] = field(default_factory=dict)
    default_release: str = ""


@functools.cache
def shipped(name: str) -> dict[str, Any]:
    """One of groundplan's own data files, parsed."""
    text = resources.files(__name__).joinpath(f"{name}.yaml").read_text("utf-8")
    data: dict[str, Any] = yaml.load(text, Loader=_Loader)  # our own file, by the safe loader
    return data


def load_catalog(extra: tuple[Path, ...] = ()) -> Catalog:
    """The shipped catalog with the user's files over it. Raises GroundplanError naming the file that cannot be used."""
    return _shipped_catalog() if not extra else _build(tuple(_user_file(file) for file in extra))


@functools.cache
def _shipped_catalog() -> Catalog:
    return _build(())


_USER_SECTIONS = ("machines", "tiers", "kuberay", "releases", "recipes")


def _user_file(file: Path) -> dict[str, Any]:
    try:
        data = yaml.load(file.read_text("utf-8"), Loader=_Loader)
    except OSError as error:
        raise GroundplanError(f"catalog file {file} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise GroundplanError(f"catalog file {file} is not valid YAML: {str(error).partition(chr(10))[0]}") from None
    if not isinstance(data, dict) or not all(isinstance(v, dict) for k, v in data.items() if k in _USER_SECTIONS):
        raise GroundplanError(f"catalog file {file} must hold mappings called {', '.join(_USER_SECTIONS)}")
    unknown = set(data) - {*_USER_SECTIONS, "source", "date"}
    if unknown:
        known = ", ".join(_USER_SECTIONS)
        raise GroundplanError(f"catalog file {file}: unknown section {sorted(map(str, unknown))[0]}; known: {known}")
    return data


def _build(extra: tuple[dict[str, Any], ...]) -> Catalog:
    def merged(section: str, own: dict[Any, Any]) -> dict[Any, Any]:
        result = dict(own)
        for data in extra:
            result |= data.get(section, {})
        return result

    try:
        machines = {n: _machine(n, e) for n, e in merged("machines", shipped("machines")["machines"]).items()}
        tiers = {int(n): LustreTier(int(n), **e) for n, e in merged("tiers", shipped("lustre")["tiers"]).items()}
    except (TypeError, ValueError, AttributeError) as error:
        text = str(error).partition("__init__() ")[2] or str(error)
        raise GroundplanError(f"a catalog file of the profile has a wrong entry: {text}") from None
    kuberay = shipped("kuberay")
    return Catalog(
        machines,
        tiers,
        dict(shipped("gke")["floors"]),
        merged("kuberay", kuberay["releases"]),
        kuberay["repository"],
        merged("releases", {}),
        merged("recipes", {}),
    )


def _machine(name: str, entry: dict[str, Any]) -> Machine:
    gpu = entry.get("gpu")
    plain = {key: value for key, value in entry.items() if key not in ("gpu", "boot_disks")}
    disks = tuple(entry.get("boot_disks", ()))
    return Machine(name, **plain, boot_disks=disks, gpu=Gpu(**gpu) if gpu else None)
