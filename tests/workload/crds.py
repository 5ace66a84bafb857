"""KubeRay's CRDs as closed JSON Schemas: a field that the API server would drop without a word is an error here.

They come from the facts in crd_facts/, whose notation crd_extract.py tells.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from workload.crd_extract import QUANTITY, VERSIONS, Facts

FACTS = Path(__file__).with_name("crd_facts")

__all__ = ["FACTS", "VERSIONS", "facts", "problems", "validator"]


@cache
def facts(version: str) -> Facts:
    """The facts of a KubeRay release."""
    found: Facts = yaml.safe_load((FACTS / f"{version}.yaml").read_text("utf-8"))
    return found


@cache
def validator(kind: str, version: str) -> Draft202012Validator:
    """The validator of a kind at a KubeRay release."""
    return Draft202012Validator(
        {
            "$ref": f"#/$defs/{kind}",
            "$defs": {name: _object(fields) for name, fields in facts(version).items()},
        }
    )


def problems(document: dict[str, Any], version: str) -> list[str]:
    """Everything that the CRD says against a document."""
    found = validator(document["kind"], version).iter_errors(document)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in found]


def _object(fields: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name.rstrip("!"): _field(text) for name, text in fields.items()},
        "required": [name[:-1] for name in fields if name.endswith("!")],
        "additionalProperties": False,
    }


def _field(text: str) -> dict[str, Any]:
    kind, *limits = text.split(" ")
    schema = _type(kind)
    for limit, value in (part.split("=", 1) for part in limits):
        if limit == "nullable":
            schema["type"] = [schema["type"], "null"]
        elif limit == "enum":
            schema["enum"] = value.split(",")
        else:
            schema[limit] = value if limit == "pattern" else int(value)
    return schema


def _type(kind: str) -> dict[str, Any]:
    if kind.endswith("[]"):
        return {"type": "array", "items": _type(kind[:-2])}
    if kind.endswith("{}"):
        return {"type": "object", "additionalProperties": _type(kind[:-2])}
    if kind[0].isupper():
        return {"$ref": f"#/$defs/{kind}"}
    if kind == "int-or-string":
        return {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    if kind == "quantity":
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": QUANTITY}
    return {"type": kind}
