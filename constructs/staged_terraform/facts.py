"""What is known of a type beyond its schema: force-new, defaults, identifiers, references, latencies.

The facts are data that the caller hands over. For a type without an entry they are guessed from its schema, which is
right often enough to plan something sensible, and said: see :attr:`TypeFacts.guessed`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from staged_terraform.schema_types import Block

_GROUP = re.compile(r"([\w.]*)\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """The facts of one type. Paths are dotted, without positions.

    Plans: `force_new` replaces (a block, by the number of its elements), `replaced_if` only on a
    :func:`~staged_terraform.conditions.condition`, `in_place` never; `defaults` and `predicted` are known at plan time,
    `computed_blocks` are the API's where nobody sets them, `unknown` and `recomputed` are known after apply alone;
    `false_is_unset` is planned as null.

    State: `identity` and `values` are the API's answers; with `zeros` what nobody set is its type's zero, but for
    `stays_null`; `left_empty` and `appears` are blocks that the API leaves out and fills in; `never_sent` is dropped,
    always ("") or while the argument named is false; `links` come back as full links, `copies` as a neighbour's value,
    `added` with entries of the API's own.

    The cloud: the service `api` must be enabled; `holds` and `needs` must exist, and what is held cannot go first;
    `peered` lives behind a connection; `abandons` is what a destroy leaves; `seconds` are assumed for create, update,
    delete.
    """

    name: str
    version: int = 0
    force_new: frozenset[str] = frozenset()
    replaced_if: dict[str, str] = field(default_factory=dict)
    in_place: frozenset[str] = frozenset()
    defaults: dict[str, Any] = field(default_factory=dict)
    computed_blocks: frozenset[str] = frozenset()
    sensitive: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    recomputed: frozenset[str] = frozenset()
    identity: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    zeros: bool = False
    stays_null: frozenset[str] = frozenset()
    left_empty: frozenset[str] = frozenset()
    appears: frozenset[str] = frozenset()
    never_sent: dict[str, str] = field(default_factory=dict)
    false_is_unset: frozenset[str] = frozenset()
    links: dict[str, str] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)
    added: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    predicted: dict[str, str] = field(default_factory=dict)
    api: str = ""
    holds: dict[str, str] = field(default_factory=dict)
    needs: dict[str, str] = field(default_factory=dict)
    peered: str = ""
    abandons: dict[str, str] = field(default_factory=dict)
    seconds: tuple[int, int, int] = (5, 5, 5)
    source: str = ""

    @property
    def guessed(self) -> bool:
        """No entry of its own: force-new and identifiers are guesses."""
        return not self.source


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of all types, and of what is there without being made.

    `assumed` are types that stacks use and never make, `always_enabled` services that answer in any project,
    `custom_kinds` Kubernetes kinds with what brings them, `namespaces` those of every cluster.
    """

    types: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    assumed: frozenset[str] = frozenset()
    always_enabled: frozenset[str] = frozenset()
    custom_kinds: tuple[dict[str, Any], ...] = ()
    namespaces: frozenset[str] = frozenset({"default", "kube-system"})

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Facts:
        """Facts as a YAML file has them, lists of words as texts. Raises KeyError when a section is missing."""
        return cls(
            types=data["types"],
            assumed=expand(data["assumed"]),
            always_enabled=expand(data["always_enabled"]),
            custom_kinds=tuple(data["custom_kinds"]),
            namespaces=expand(data["namespaces"]),
        )

    def of(self, name: str, block: Block) -> TypeFacts:
        """The facts of a type; `block` is its schema, from which anything missing is guessed."""
        pattern = self.types.get(name.partition("_")[0] + "_*", {})
        entry = self.types.get(name)
        merged = self._with_likeness({**pattern, **(entry or {})})
        if entry is None:
            merged.pop("source", None)
        force_new = expand(merged["force_new"]) if "force_new" in merged else _guess_force_new(block)
        computed_blocks = expand(merged.get("computed_blocks", ""))
        return TypeFacts(
            name=name,
            version=merged.get("version", 0),
            force_new=force_new,
            replaced_if=merged.get("replaced_if", {}),
            in_place=expand(merged.get("in_place", "")),
            defaults=_present(block, {**merged.get("always", {}), **merged.get("defaults", {})}),
            computed_blocks=computed_blocks if entry else _guess_computed_blocks(block),
            sensitive=expand(merged.get("sensitive", "")),
            unknown=expand(merged.get("unknown", "")),
            recomputed=expand(merged.get("recomputed", "")),
            identity=merged.get("id", ""),
            values=merged.get("values", {}),
            zeros=merged.get("zeros", False),
            stays_null=expand(merged.get("stays_null", "")),
            left_empty=expand(merged.get("left_empty", "")),
            appears=expand(merged.get("appears", "")),
            never_sent=merged.get("never_sent", {}),
            false_is_unset=expand(merged.get("false_is_unset", "")),
            links=merged.get("links", {}),
            copies=merged.get("copies", {}),
            added=merged.get("added", {}),
            predicted=merged.get("predicted", {}),
            api=merged.get("api", ""),
            holds=merged.get("holds", {}),
            needs=merged.get("needs", {}),
            peered=merged.get("peered", ""),
            abandons=merged.get("abandons", {}),
            seconds=tuple(merged.get("seconds", (5, 5, 5))),
            source=merged.get("source", ""),
        )

    def _with_likeness(self, entry: dict[str, Any]) -> dict[str, Any]:
        """An entry with what its blocks share with other types: ``like: {node_config: TYPE.node_config}``."""
        for block, model in entry.get("like", {}).items():
            name, _, inner = model.partition(".")
            other = self.types[name]
            for key in _SHARED:
                found = other.get(key)
                if isinstance(found, str):
                    words = [
                        f"{block}.{each.removeprefix(inner + '.')}"
                        for each in sorted(expand(found))
                        if each.startswith(inner + ".")
                    ]
                    entry = {**entry, key: " ".join([entry.get(key, ""), *words])}
                elif found:
                    pairs = {
                        f"{block}.{k.removeprefix(inner + '.')}": v
                        for k, v in found.items()
                        if k.startswith(inner + ".")
                    }
                    entry = {**entry, key: {**pairs, **entry.get(key, {})}}
        return entry


#: What a block shares with its likes: how the API fills it, not what replaces.
_SHARED = (
    "computed_blocks",
    "stays_null",
    "left_empty",
    "appears",
    "never_sent",
    "copies",
    "added",
    "values",
    "defaults",
)


def without_fact(found: TypeFacts, block: Block, body: dict[str, Any], prefix: str = "") -> list[str]:
    """The arguments of a resource's JSON of which we do not know whether a change replaces it; sorted paths."""
    if found.source == "provider":
        return []
    missing = set()
    for name, value in body.items():
        path = prefix + name
        if name not in block.attributes and name not in block.blocks:
            continue  # a meta-argument
        if path not in found.force_new and path not in found.in_place:
            missing.add(path)
        if name in block.blocks:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, dict):
                    missing.update(without_fact(found, block.blocks[name].block, each, path + "."))
    return sorted(missing)


def expand(text: str) -> frozenset[str]:
    """``"a b.{c d}"`` -> ``{"a", "b.c", "b.d"}``."""
    plain = _GROUP.sub(lambda m: " ".join(m[1] + each for each in m[2].split()), " ".join(text.split()))
    return frozenset(plain.split())


def paths_of(block: Block, prefix: str = "") -> set[str]:
    """Every argument and block of a schema as a dotted path."""
    found = {prefix + name for name in block.attributes}
    for name, nested in block.blocks.items():
        found |= {prefix + name} | paths_of(nested.block, f"{prefix}{name}.")
    return found


def _present(block: Block, defaults: dict[str, Any]) -> dict[str, Any]:
    """Defaults of a pattern entry hold for those of its types that have the argument."""
    return {path: value for path, value in defaults.items() if _has(block, path)}


def _has(block: Block, path: str) -> bool:
    *outer, last = path.split(".")
    for name in outer:
        if name not in block.blocks:
            return False
        block = block.blocks[name].block
    return last in block.attributes


def _guess_force_new(block: Block) -> frozenset[str]:
    """A type whose timeouts know no update is replaced by any change; else by a change of what identifies it."""
    timeouts = block.blocks.get("timeouts")
    if timeouts and "update" not in timeouts.block.attributes:
        return frozenset(path for path in paths_of(block) if not path.startswith(("timeouts", "labels", "annotations")))
    known = ("name", "location", "region", "zone", "project")
    return frozenset(name for name in known if name in block.attributes)


def _guess_computed_blocks(block: Block, prefix: str = "") -> frozenset[str]:
    """A block of at most one that holds values only the API knows is most likely filled by the API."""
    found: set[str] = set()
    for name, nested in block.blocks.items():
        members = nested.block.attributes.values()
        if nested.max_items == 1 and any(each.computed and not each.optional for each in members):
            found.add(prefix + name)
        found |= _guess_computed_blocks(nested.block, f"{prefix}{name}.")
    return frozenset(found)
