"""NeMo RL releases and recipes: the catalog's data files as types.

A release says what its image holds and what its configuration takes; a recipe says which configuration to start from
and what to set over it. The next release is a data edit: an entry in ``catalog/nemo_rl.yaml`` and its keys file.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from findings import UserError
from groundplan.catalog import Catalog, shipped

#: Where the image keeps NeMo RL's source, and the driver is started.
WORKDIR = "/opt/nemo-rl"

#: The config whose leaves the keys files list; every recipe's config inherits from it.
BASE_CONFIG = "examples/configs/grpo_math_1B.yaml"


#: The algorithm whose configurations are judged.
GRPO = "grpo"

#: What an entry may say about itself.
_ABOUT = ("source", "date")


@dataclass(frozen=True)
class Release:
    """One NeMo RL release. `gsm8k` is ``built-in`` or ``jsonl``; `libraries` start the image's LD_LIBRARY_PATH."""

    version: str
    image: str
    ray: str
    cuda: str
    script: str
    gsm8k: str
    python: str = ""
    torch: str = ""
    vllm: str = ""
    nccl: str = ""
    """NCCL of the image; empty when it is not known."""
    archs: tuple[str, ...] = ("amd64",)
    """Architectures that the image is published for."""
    head_min_cpus: int = 1
    libraries: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    keys_of: str = ""
    """Release whose keys file applies, for a user's own entry that has none. Default: its own."""
    scripts: dict[str, str] = field(default_factory=dict)
    """Entry scripts of the image -> algorithm."""
    unconfirmed: str = ""
    """What is not known for sure, in words. When it says anything, the keys are not known for sure either."""

    @property
    def keys(self) -> dict[str, Any]:
        """Every leaf of the base config with its default; empty when no keys file is known."""
        return config_keys(self.keys_of or self.version)

    @property
    def algorithm(self) -> str:
        """What its entry script trains by; a script of one's own is taken to be GRPO."""
        return self.scripts.get(self.script.removeprefix(f"{WORKDIR}/"), GRPO)

    def since(self, version: str) -> bool:
        """Whether it is `version` or later; one whose name tells no number counts as the release of its keys, or as
        later."""
        own = _numbers(self.version) or _numbers(self.keys_of)
        return not own or own >= _numbers(version)

    @property
    def min_driver(self) -> int:
        """Least NVIDIA driver branch of its CUDA (530 for R530)."""
        drivers: dict[int, int] = shipped("nemo_rl")["cuda_drivers"]
        return drivers.get(int(self.cuda.partition(".")[0]), 0)


@dataclass(frozen=True)
class Recipe:
    """A job to start from. `sets` and `overrides` are flat: dotted path -> value."""

    name: str
    summary: str
    config: str
    nodes: int
    overrides: dict[str, Any]
    sets: dict[str, Any] = field(default_factory=dict)
    by_release: dict[str, Any] = field(default_factory=dict)
    """Release -> what is set from it on, over `overrides`."""
    dataset: str = ""
    head_cpu: int = 12
    head_memory: str = "96Gi"

    def overrides_at(self, release: Release) -> dict[str, Any]:
        """What it sets at that release."""
        values = dict(self.overrides)
        for version, more in self.by_release.items():
            if release.since(version):
                values |= more
        return values


@dataclass(frozen=True)
class Model:
    """What is known of a model. `billions` of parameters, None when unknown; `gated` needs a Hugging Face token.

    `active` are the parameters that one token passes, in billions: fewer in a mixture of experts.
    """

    name: str
    billions: float | None
    active: float | None
    gated: bool


@functools.cache
def _numbers(version: str) -> tuple[int, ...]:
    """``v0.6.1`` -> (0, 6, 1); empty for another form."""
    found = re.match(r"v?([0-9]+(?:\.[0-9]+)+)", version)
    return tuple(int(part) for part in found.group(1).split(".")) if found else ()


@functools.cache
def config_keys(version: str) -> dict[str, Any]:
    """The keys file of a release; empty when there is none."""
    file = resources.files("groundplan.catalog").joinpath("nemo_rl_keys", f"{version}.json")
    try:
        keys: dict[str, Any] = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return keys


def flatten(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested or dotted mappings as dotted paths -> values, in order. An empty mapping is a value; later ones win."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        path = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, dict) and value:
            flat |= flatten(value, path)
        else:
            flat[path] = value
    return flat


def release_of(catalog: Catalog, version: str) -> Release | None:
    """The release called `version`; None when the catalog has none. Raises UserError on a wrong entry."""
    given = _entry(Release, "release", catalog.releases, version)
    if given is None:
        return None
    lists: dict[str, tuple[str, ...]] = {name: tuple(given[name]) for name in ("libraries", "archs") if name in given}
    return Release(**given | {"version": version, **lists})


def recipe_of(catalog: Catalog, name: str) -> Recipe | None:
    """The recipe called `name`; None when the catalog has none. Raises UserError on a wrong entry."""
    given = _entry(Recipe, "recipe", catalog.recipes, name)
    if given is None:
        return None
    flat = {"overrides": flatten(given["overrides"]), "sets": flatten(given.get("sets", {}))}
    flat["by_release"] = {str(at): flatten(more or {}) for at, more in given.get("by_release", {}).items()}
    return Recipe(**given | {"name": name} | flat)


def _entry(cls: type, word: str, entries: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any] | None:
    """What a catalog entry gives for `cls`; None when there is none. Raises UserError on a wrong one."""
    _check_names(word, entries)
    entry = entries.get(name)
    if entry is None:
        return None
    _check(cls, entry, f"catalog entry of {word} {name}")
    return {key: value for key, value in entry.items() if key not in _ABOUT}


def model_of(name: str) -> Model:
    """Facts about a Hugging Face model; the size of an unlisted one is read from its name (``...-8B-...``)."""
    data = shipped("recipes")
    entry: dict[str, Any] | None = data["models"].get(name)
    if entry is not None:
        billions = float(entry["billions"])
        return Model(name, billions, float(entry.get("active", billions)), entry.get("gated", False))
    size, active = _sizes_in_name(name)
    return Model(name, size, active, name.startswith(tuple(data["gated_owners"])))


#: Names stand in scripts, labels and file names.
_NAME = re.compile(r"[A-Za-z0-9][-._A-Za-z0-9]*")


def _check_names(kind: str, names: Iterable[str]) -> None:
    """Raises UserError on the first name that is no plain word."""
    for name in names:
        if not _NAME.fullmatch(name):
            limit = "letters, digits, hyphens, dots and underscores, the first a letter or digit"
            raise UserError(f"catalog entry of {kind} {name!r}: its name must be {limit}")


def _sizes_in_name(name: str) -> tuple[float | None, float | None]:
    found = re.search(
        r"(?<![0-9A-Za-z.])([0-9]+(?:\.[0-9]+)?)[bB](?:-[aA]([0-9]+(?:\.[0-9]+)?)[bB])?(?![A-Za-z0-9])", name
    )
    if not found:
        return None, None
    return float(found.group(1)), float(found.group(2) or found.group(1))


#: How a field's annotation begins -> the type of its YAML value, and its name.
_TYPES: tuple[tuple[str, type, str], ...] = (
    ("str", str, "text"),
    ("int", int, "a whole number"),
    ("dict", dict, "a mapping"),
    ("tuple", list, "a list"),
)


def _check(kind: type, entry: dict[str, Any], where: str) -> None:
    """Raises UserError when a field of `entry` is unknown, missing or of another type than `kind` takes."""
    fields = {f.name: f for f in dataclasses.fields(kind) if f.name not in ("name", "version")}
    for key, value in entry.items():
        if key in _ABOUT:
            continue
        if key not in fields:
            raise UserError(f"{where}: unknown field `{key}`; known: {', '.join(fields)}")
        wanted, words = next((t, w) for start, t, w in _TYPES if str(fields[key].type).startswith(start))
        right = isinstance(value, wanted) and not isinstance(value, bool)
        if not right or (key == "nodes" and int(value) < 1):
            raise UserError(f"{where}: `{key}` must be {words}" + (", in quotes" if wanted is str else ""))
    for name, field_ in fields.items():
        needed = field_.default is dataclasses.MISSING and field_.default_factory is dataclasses.MISSING
        if needed and name not in entry:
            raise UserError(f"{where}: `{name}` is missing")
