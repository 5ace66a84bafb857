"""Dated public facts as data: machine types, Lustre tiers, version floors, releases, recipes.

Every file names its source and date, and an entry may name its own. A user's own files (``catalog:`` in the profile)
have the same sections and win over the shipped entries of the same name, so that a newer fact never waits for a release
of groundplan.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from findings import UserError
from findings.redaction import find_secrets, looks_secret, mask_secrets
from groundplan.catalog.entries import Gpu, LustreTier, Machine, build_entry
from groundplan.kernel.source import SAFE_LOADER

__all__ = ["Catalog", "Gpu", "LustreTier", "Machine", "Provenance", "load_catalog", "shipped"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an entry comes from."""

    source: str
    date: str


@dataclass(frozen=True)
class Catalog:
    """All facts, shipped and the user's own. `provenance` is by section and entry name."""

    machines: dict[str, Machine]
    tiers: dict[int, LustreTier]
    gke: dict[str, str]
    kuberay: dict[str, dict[str, Any]]
    kuberay_repository: str
    gib: dict[str, dict[str, Any]] = field(default_factory=dict)
    kueue: dict[str, dict[str, Any]] = field(default_factory=dict)
    releases: dict[str, dict[str, Any]] = field(default_factory=dict)
    recipes: dict[str, dict[str, Any]] = field(default_factory=dict)
    default_release: str = ""
    provenance: dict[tuple[str, str], Provenance] = field(default_factory=dict)

    def entries(self, section: str) -> dict[Any, Any]:
        """The entries of one of SECTIONS."""
        found: dict[Any, Any] = getattr(self, section)
        return found

    def has_tier(self, throughput: int) -> bool:
        """Whether Managed Lustre has a tier of so many MB/s per TiB."""
        return throughput in self.tiers


#: Section -> the shipped file that holds it; a file that is not there has no entries.
SECTIONS = {
    "machines": "machines",
    "tiers": "lustre",
    "gke": "gke",
    "kuberay": "kuberay",
    "gib": "gib",
    "kueue": "kueue",
    "releases": "nemo_rl",
    "recipes": "recipes",
}

#: The key of a section within its file, where it is not the section's own name.
_KEYS = {"gke": "floors", "kuberay": "releases", "gib": "releases", "kueue": "releases"}


@functools.cache
def shipped(name: str) -> dict[str, Any]:
    """One of groundplan's own data files, parsed; empty when there is no such file."""
    file = Path(__file__).with_name(f"{name}.yaml")  # importlib.resources would cost every `check` 10 ms
    if not file.is_file():
        return {}
    data: dict[str, Any] = yaml.load(file.read_text("utf-8"), Loader=SAFE_LOADER)  # our own file, by the safe loader
    return data


def load_catalog(extra: tuple[Path, ...] = ()) -> Catalog:
    """The shipped catalog with the user's files over it. Raises UserError naming the file that cannot be used."""
    if not extra:
        return _shipped_catalog()
    catalog = _shipped_catalog()
    for file in extra:
        catalog = _over(catalog, file, _user_file(file))
    return catalog


@functools.cache
def _shipped_catalog() -> Catalog:
    sections: dict[str, dict[Any, Any]] = {}
    provenance: dict[tuple[str, str], Provenance] = {}
    for section, file in SECTIONS.items():
        data = shipped(file)
        raw = dict(data.get(_KEYS.get(section, section), {}))
        if section == "machines":
            raw |= _family_members(data.get("families", {}))
        sections[section] = _section(section, raw, f"{file}.yaml")
        provenance |= _provenance(section, raw, Provenance(str(data.get("source", "")), str(data.get("date", ""))))
    return Catalog(
        **sections,
        kuberay_repository=shipped("kuberay")["repository"],
        default_release=str(shipped("nemo_rl").get("default", "")),
        provenance=provenance,
    )


def _family_members(families: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """``n2-highmem: {vcpus: [2, 4], gib: 8}`` -> n2-highmem-2 with 16 GiB and n2-highmem-4 with 32."""
    return {
        f"{family}-{vcpus}": {"vcpus": vcpus, "memory_gib": vcpus * entry["gib"], "boot_disks": entry["boot_disks"]}
        for family, entry in families.items()
        for vcpus in entry["vcpus"]
    }


def _over(catalog: Catalog, file: Path, data: dict[str, Any]) -> Catalog:
    """`catalog` with the sections of a user's file over its own."""
    sections = {section: dict(catalog.entries(section)) for section in SECTIONS}
    origin = Provenance(str(data.get("source", file.name)), str(data.get("date", "")))
    provenance = dict(catalog.provenance)
    for section in data.keys() & SECTIONS.keys():
        sections[section] |= _section(section, data[section], str(file))
        provenance |= _provenance(section, data[section], origin)
    return Catalog(
        **sections,
        kuberay_repository=catalog.kuberay_repository,
        default_release=catalog.default_release,
        provenance=provenance,
    )


def _section(section: str, raw: Mapping[Any, Any], file: str) -> dict[Any, Any]:
    built = (build_entry(section, name, entry, file) for name, entry in raw.items())
    return dict(built)


def _provenance(section: str, raw: Mapping[Any, Any], origin: Provenance) -> dict[tuple[str, str], Provenance]:
    found = {}
    for name, entry in raw.items():
        own = entry if isinstance(entry, dict) else {}
        source, date = own.get("source", origin.source), own.get("date", origin.date)
        found[section, str(name)] = Provenance(str(source), str(date))
    return found


_SECRET_MEND = "take it out and revoke it (it has been on disk)"


def _holds_secret(value: Any, seen: set[int]) -> bool:
    """Whether a secret stands in the data that the scan of the text did not see, folded or escaped."""
    if isinstance(value, str):
        return looks_secret(value)
    if not isinstance(value, dict | list) or id(value) in seen:
        return False
    seen.add(id(value))  # an alias is the same object met again
    inner = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    return any(_holds_secret(item, seen) for item in inner)


def _user_file(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text("utf-8")
        for line, _, what in find_secrets(text):
            raise UserError(f"catalog file {file}, line {line}: a literal {what} stands there; {_SECRET_MEND}")
        data = yaml.load(text, Loader=SAFE_LOADER)
    except OSError as error:
        raise UserError(f"catalog file {file} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        reason = mask_secrets(str(error).partition("\n")[0])
        raise UserError(f"catalog file {file} is not valid YAML: {reason}") from None
    if _holds_secret(data, set()):
        raise UserError(f"catalog file {file}: a literal secret stands in it; {_SECRET_MEND}")
    sections = ", ".join(SECTIONS)
    if not isinstance(data, dict):
        raise UserError(f"catalog file {file} must hold mappings called {sections}")
    for key, value in data.items():
        if key in ("source", "date"):
            continue
        if key not in SECTIONS:
            raise UserError(f"catalog file {file}: unknown section `{mask_secrets(str(key))}`; known: {sections}")
        if not isinstance(value, dict):
            raise UserError(f"catalog file {file}: `{key}` must be a mapping of entries by name")
    return data
