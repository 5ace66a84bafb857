"""KubeRay's CRDs as closed JSON Schemas: a field that the API server would drop without a word is an error here."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

VERSIONS = ("1.4.2", "1.5.2", "1.6.2", "1.7.0")
KINDS = {"RayJob": "rayjobs", "RayCluster": "rayclusters"}

_FOLDER = os.environ.get("GROUNDPLAN_CRDS", "")

needs_crds = pytest.mark.skipif(
    not _FOLDER, reason="GROUNDPLAN_CRDS names no folder with KubeRay's CRDs, which are no part of this project"
)


@cache
def validator(kind: str, version: str) -> Draft202012Validator:
    """The validator of a kind at a KubeRay release."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    file = Path(_FOLDER) / f"kuberay-v{version}-ray.io_{KINDS[kind]}.yaml"
    crd = yaml.load(file.read_text("utf-8"), Loader=loader)
    (served,) = [v for v in crd["spec"]["versions"] if v["name"] == "v1"]
    schema = closed(served["schema"]["openAPIV3Schema"])
    # The root's metadata is typed by Kubernetes itself.
    schema["properties"]["metadata"] = {"type": "object"}
    return Draft202012Validator(schema)


def problems(document: dict[str, Any], version: str) -> list[str]:
    """Everything that the CRD says against a document."""
    found = validator(document["kind"], version).iter_errors(document)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in found]


def closed(node: Any) -> Any:
    """An OpenAPI v3 schema as JSON Schema, with every object that names its properties closed."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    result = {
        key: closed(value) for key, value in node.items() if not key.startswith("x-kubernetes") and key != "format"
    }
    if "properties" in node:
        result["properties"] = {name: closed(value) for name, value in node["properties"].items()}
        # A template's metadata is `type: object` without properties: open, as in the CRD.
        if not node.get("x-kubernetes-preserve-unknown-fields") and "additionalProperties" not in node:
            result["additionalProperties"] = False
    if node.get("x-kubernetes-int-or-string"):
        result.pop("type", None)
        result["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if node.get("nullable") and isinstance(result.get("type"), str):
        result["type"] = [result["type"], "null"]
    result.pop("nullable", None)
    return result
