"""What the catalog adds to the profile's JSON Schema, so that an editor completes and refuses as ``check`` does."""

from __future__ import annotations

from typing import Any

from groundplan.catalog import Catalog, load_catalog

_Path = tuple[str, ...]

#: Stands in a path for the entries of a list.
EACH = "[]"


def closed_sets(catalog: Catalog) -> dict[_Path, list[Any]]:
    """Key of the profile -> the values that `check` admits while the profile has no catalog file of its own."""
    return {
        ("gpu", "pools", EACH, "machine_type"): [name for name, machine in catalog.machines.items() if machine.gpu],
        ("storage", "lustre", "throughput"): sorted(catalog.tiers),
        ("platform", "kuberay", "version"): list(catalog.kuberay),
        ("workload", "recipe"): list(catalog.recipes),
        ("workload", "release"): list(catalog.releases),
    }


def open_sets(catalog: Catalog) -> dict[_Path, list[Any]]:
    """Key of the profile -> the values that are known; others are warned of, or may be right."""
    return {
        ("cluster", "cpu_pool", "machine_type"): [n for n, machine in catalog.machines.items() if not machine.gpu],
        ("platform", "gib", "version"): list(catalog.gib),
        ("platform", "kueue", "version"): list(catalog.kueue),
        ("project",): ["my-project"],
    }


def add_facts(schema: dict[str, Any]) -> None:
    """Add examples to the schema's sections, and the closed sets for profiles without a catalog file."""
    catalog = load_catalog()
    closed = closed_sets(catalog)
    for path, values in (closed | open_sets(catalog)).items():
        _key(schema, path)["examples"] = values
    schema["if"] = {"required": ["catalog"]}
    schema["else"] = _nested(closed)


def _key(schema: dict[str, Any], path: _Path) -> dict[str, Any]:
    """The schema of a key, through the sections on its way."""
    here = schema
    for part in path:
        here = _followed(schema, here)
        here = here["items"] if part == EACH else here["properties"][part]
    return here


def _followed(schema: dict[str, Any], here: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in here or "anyOf" in here:
        if "$ref" in here:
            here = schema["$defs"][here["$ref"].rpartition("/")[2]]
        else:
            here = next(each for each in here["anyOf"] if "properties" in each or "$ref" in each)
    return here


def _nested(sets: dict[_Path, list[Any]]) -> dict[str, Any]:
    """Paths with their values as one schema of nested properties."""
    root: dict[str, Any] = {}
    for path, values in sets.items():
        here = root
        for part in path:
            here = (
                here.setdefault("items", {}) if part == EACH else here.setdefault("properties", {}).setdefault(part, {})
            )
        here["enum"] = values
    return root
