"""What a provider's schema has gained and lost since the release that the installed bindings describe.

A change is one line: the argument's dotted path, and what it is now. An attribute is its flags and its type in
Terraform's notation (``optional computed list(string)``), a block its nesting and how many (``block list 0-1``; without
a number there is no limit), and what is no longer there is ``gone``. So the schemas of the wheels and a page of changes
make the schemas of the release that is pinned, and whoever reviews a new release reads that page.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from staged_terraform.schema_types import Attribute, Block, CtyType, NestedBlock

_FLAGS = ("required", "optional", "computed", "sensitive", "write_only")
_BLOCK = re.compile(r"block (single|list|set|map) (\d+)-(\d*)")
_COLLECTION = re.compile(r"(list|set|map)\((.*)\)")
GONE = "gone"

#: Path -> what stands there now.
Changes = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SchemaChanges:
    """By provider: the release that is meant; by type: its changes since the bindings' release; ephemeral types.

    `data` are the changes of data sources.
    """

    versions: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, Changes] = field(default_factory=dict)
    ephemeral: Mapping[str, Changes] = field(default_factory=dict)
    data: Mapping[str, Changes] = field(default_factory=dict)

    def of(self, kind: str, name: str) -> Changes:
        """The changes of a resource or a data source; none of what is neither."""
        return {"resource": self.resources, "data": self.data}.get(kind, {}).get(name, {})


#: The schemas are those of the bindings.
NO_CHANGES = SchemaChanges()


def amended(block: Block, changes: Changes) -> Block:
    """A copy of a schema with its changes. Raises ValueError on a line that cannot be read."""
    result = copy.deepcopy(block)
    for path, now in changes.items():
        *parents, name = path.split(".")
        here = result
        for parent in parents:
            if parent not in here.blocks:
                raise ValueError(f"schema change {path}: there is no block {parent}")
            here = here.blocks[parent].block
        before = here.blocks.pop(name, None)
        here.attributes.pop(name, None)
        if now == GONE:
            continue
        if match := _BLOCK.fullmatch(now):
            inner = before.block if before else Block()
            here.blocks[name] = NestedBlock(match[1], inner, int(match[2]), int(match[3] or 0))
        else:
            here.attributes[name] = attribute_of(path, now)
    return result


def attribute_of(path: str, text: str) -> Attribute:
    """``optional computed string`` as an attribute. Raises ValueError."""
    words = text.split(" ")
    flags = [word for word in words if word in _FLAGS]
    kind = " ".join(words[len(flags) :])
    if not kind.strip() or not flags or kind != kind.strip():
        raise ValueError(f"schema change {path}: {text!r} names no type, or no flag")
    return Attribute(
        type=cty_of(kind),
        required="required" in flags,
        optional="optional" in flags,
        computed="computed" in flags,
        sensitive="sensitive" in flags,
        write_only="write_only" in flags,
    )


def cty_of(text: str) -> CtyType:
    """``list(string)`` in Terraform's JSON form; objects are written in that form already."""
    if match := _COLLECTION.fullmatch(text):
        return [match[1], cty_of(match[2])]
    return json.loads(text) if text.startswith("[") else text


def text_of(cty: CtyType) -> str:
    """The reverse of :func:`cty_of`."""
    if isinstance(cty, str):
        return cty
    kind, inner = cty
    return f"{kind}({text_of(inner)})" if kind != "object" and "object" not in json.dumps(inner) else json.dumps(cty)


def changes_between(ours: Block, real: Mapping[str, Any]) -> dict[str, str]:
    """What makes our schema the real one; `real` is a block in the form of ``terraform providers schema -json``.

    Published schemas leave descriptions out, and with them every argument of that name: those are not compared.
    """
    found: dict[str, str] = {}
    _compare(ours, real, "", found)
    return found


def _compare(ours: Block, real: Mapping[str, Any], front: str, found: dict[str, str]) -> None:
    attributes, blocks = real.get("attributes", {}), real.get("block_types", {})
    for name in (*ours.attributes, *ours.blocks):
        if name not in attributes and name not in blocks and name != "description":
            found[f"{front}{name}"] = GONE
    for name, each in attributes.items():
        if "nested_type" in each:  # helm's; the bindings have them whole
            continue
        now = _line(each)
        mine = ours.attributes.get(name)
        if mine is None or _line_of(mine) != now:
            found[f"{front}{name}"] = now
    for name, each in blocks.items():
        now = f"block {each['nesting_mode']} {each.get('min_items', 0)}-{each.get('max_items') or ''}"
        nested = ours.blocks.get(name)
        if nested is None or f"block {nested.nesting} {nested.min_items}-{nested.max_items or ''}" != now:
            found[f"{front}{name}"] = now
        _compare(nested.block if nested else Block(), each["block"], f"{front}{name}.", found)


def _line(attribute: Mapping[str, Any]) -> str:
    return " ".join([*(flag for flag in _FLAGS if attribute.get(flag)), text_of(attribute["type"])])


def _line_of(attribute: Attribute) -> str:
    return " ".join([*(flag for flag in _FLAGS if getattr(attribute, flag)), text_of(attribute.type)])
