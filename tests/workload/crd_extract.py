"""Compact facts of KubeRay's CRDs: which fields RayJob and RayCluster have, of which type, and which are required.

The CRDs themselves (1.4 MB a file, most of it prose) are no part of this project; these facts are, one file a release,
and `scripts/crd-facts` writes them. `status` is left out: the operator writes it, a manifest never does.

    RayJob:                     an object; every field that it does not name here is unknown to it
      apiVersion: string        string, integer, boolean, quantity, int-or-string, or object (open: anything goes)
      spec: Spec                another object of the file; objects with equal fields are written once
    Spec:
      entrypoint!: string       required
      containers: Containers[]  a list
      labels: string{}          a map from strings
      mode: string enum=A,B     with a limit: enum, minimum, minLength, maxLength, minItems, pattern or nullable
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

VERSIONS = ("1.4.2", "1.5.2", "1.6.2", "1.7.0")
KINDS = {"RayJob": "rayjobs", "RayCluster": "rayclusters"}

Facts = dict[str, dict[str, str]]

# A number with an optional unit of Kubernetes: `quantity` stands for it.
QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
LIMITS = ("enum", "minimum", "minLength", "maxLength", "minItems", "nullable", "pattern")
# What says nothing about a document that the validator could check: prose, defaults, how lists merge, and CEL.
SILENT = ("description", "default", "format")
SHAPES = ("type", "properties", "required", "items", "additionalProperties", "anyOf")


def crd_file(folder: Path, kind: str, version: str) -> Path:
    """Where a CRD lies in a folder of them."""
    return folder / f"kuberay-v{version}-ray.io_{KINDS[kind]}.yaml"


def facts_of(folder: Path, version: str) -> Facts:
    """The facts of a release, from its CRDs; ValueError for a schema with a part that the facts cannot hold."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    facts = _Facts()
    for kind in KINDS:
        crd = yaml.load(crd_file(folder, kind, version).read_text("utf-8"), Loader=loader)
        (served,) = [v for v in crd["spec"]["versions"] if v["name"] == "v1"]
        schema = _slim(served["schema"]["openAPIV3Schema"])
        schema["properties"].pop("status", None)
        facts.add(kind, schema)
    return facts.objects


def written(facts: Facts, version: str) -> str:
    """The text of the file with a release's facts."""
    head = f"# Fields of KubeRay {version}'s RayJob and RayCluster, by scripts/crd-facts (see its --help).\n"
    return head + yaml.safe_dump(facts, sort_keys=False, width=1000)


class _Facts:
    """The objects so far; equal ones share a name."""

    def __init__(self) -> None:
        self.objects: Facts = {}
        self._names: dict[str, str] = {}

    def add(self, name: str, schema: dict[str, Any], parent: str = "") -> str:
        """The name of an object, which is written unless an equal one is already."""
        key = json.dumps(schema, sort_keys=True)
        if key not in self._names:
            name = name[0].upper() + name[1:]
            while name in self.objects:
                if not parent:
                    raise ValueError(f"two objects would be called {name}")
                name, parent = parent + name, ""
            self._names[key] = name
            fields = self.objects[name] = {}
            required = schema.get("required", [])
            for field, of in schema["properties"].items():
                fields[field + "!" * (field in required)] = self._type(field, of, name)
        return self._names[key]

    def _type(self, field: str, schema: dict[str, Any], parent: str) -> str:
        if unknown := set(schema) - {*LIMITS, *SHAPES, "x-kubernetes-int-or-string"}:
            raise ValueError(f"{parent}.{field}: nothing here knows {sorted(unknown)}")
        kind, limits = self._bare(field, schema, parent)
        for limit in LIMITS:
            if limit in schema and not (limit == "pattern" and kind == "quantity"):
                value = schema[limit]
                limits.append(f"{limit}={','.join(value) if isinstance(value, list) else value}")
        return " ".join([kind, *limits])

    def _bare(self, field: str, schema: dict[str, Any], parent: str) -> tuple[str, list[str]]:
        if schema.get("x-kubernetes-int-or-string"):
            return ("quantity" if schema.get("pattern") == QUANTITY else "int-or-string"), []
        inner, mark = {
            "array": (schema.get("items"), "[]"),
            "object": (schema.get("additionalProperties"), "{}"),
        }.get(schema["type"], (None, ""))
        if inner:
            kind, *limits = self._type(field, inner, parent).split(" ")
            if limits:
                raise ValueError(f"{parent}.{field}: a limit of its elements cannot be told from one of its own")
            return kind + mark, []
        if "properties" in schema:
            return self.add(field, schema, parent), []
        return schema["type"], []


def _slim(node: Any) -> Any:
    if isinstance(node, list):
        return [_slim(item) for item in node]
    if not isinstance(node, dict):
        return node
    result = {}
    for key, value in node.items():
        if key == "properties":
            result[key] = {name: _slim(of) for name, of in value.items()}
        elif key not in SILENT and not (key.startswith("x-kubernetes") and key != "x-kubernetes-int-or-string"):
            result[key] = _slim(value)
    return result
