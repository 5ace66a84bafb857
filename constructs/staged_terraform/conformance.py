"""Fitting data to schemas and schemas to facts: stored state, sensitive arguments, documented values."""

from __future__ import annotations

import json

from staged_terraform.cty_values import UNKNOWN, Value
from staged_terraform.protocol import Diagnostic, Path
from staged_terraform.schema_types import Block, CtyType


def conform(cty: CtyType, value: Value) -> Value:
    """Fit stored JSON to a type: missing members become null, members the schema no longer has are dropped."""
    if value is None or value is UNKNOWN or isinstance(cty, str):
        if cty == "dynamic" and isinstance(value, dict) and set(value) == {"type", "value"}:
            return [json.dumps(value["type"]).encode(), value["value"]]
        return value
    constructor, inner = cty
    if constructor == "object":
        return {name: conform(each, value.get(name)) for name, each in inner.items()}
    if constructor == "map":
        return {name: conform(inner, each) for name, each in value.items()}
    return [conform(inner, each) for each in value]


def mark_sensitive(block: Block, path: list[str]) -> None:
    """Hide the argument at `path` in plans."""
    name, *rest = path
    if rest and name in block.blocks:
        mark_sensitive(block.blocks[name].block, rest)
    elif name in block.attributes:
        attribute = block.attributes[name]
        for inner in rest:
            if inner not in attribute.nested:
                return
            attribute = attribute.nested[inner]
        attribute.sensitive = True


def check_choices(block: Block, config: Value, at: Path, found: list[Diagnostic]) -> None:
    """Warn of values that the documentation does not list; some of them have no validator in the provider."""
    if not isinstance(config, dict):
        return
    for name, attribute in block.attributes.items():
        value = config.get(name)
        if attribute.choices and isinstance(value, str) and value and value not in attribute.choices:
            listed = ", ".join(attribute.choices)
            detail = f'{name} = "{value}" is not among the documented values: {listed}.'
            found.append(Diagnostic("Value not documented", detail, "warning", (*at, name)))
    for name, nested in block.blocks.items():
        elements = config.get(name)
        if isinstance(elements, list):
            for index, each in enumerate(elements):
                where = (*at, name, index) if nested.nesting == "list" else (*at, name)
                check_choices(nested.block, each, where, found)
