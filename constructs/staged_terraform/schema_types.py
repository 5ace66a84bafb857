"""The shape of a provider's types: attributes and blocks, as Terraform sees them.

Cty types keep Terraform's own JSON form (``"string"``, ``["list", "string"]``, ``["object", {...}]``), so that they go
to the wire and to the cache without translation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: ``"string"``, ``"number"``, ``"bool"``, ``"dynamic"`` or ``[constructor, argument]``.
CtyType = Any


@dataclass(slots=True)
class Attribute:
    """One argument or computed value. `nested` is set (and `type` is not) for nested attributes of helm's framework.

    `choices` are the values the documentation calls possible: advice, since some have no validator behind them.
    """

    type: CtyType = None
    required: bool = False
    optional: bool = False
    computed: bool = False
    sensitive: bool = False
    write_only: bool = False
    nesting: str = ""
    nested: dict[str, Attribute] = field(default_factory=dict)
    choices: tuple[str, ...] = ()


@dataclass(slots=True)
class NestedBlock:
    """A block inside a block; `nesting` is ``single``, ``list`` or ``set``; `max_items` 0 means no limit."""

    nesting: str
    block: Block
    min_items: int = 0
    max_items: int = 0


@dataclass(slots=True)
class Block:
    """A resource, a data source, a provider's configuration, or the body of a nested block."""

    attributes: dict[str, Attribute] = field(default_factory=dict)
    blocks: dict[str, NestedBlock] = field(default_factory=dict)


def attribute_type(attribute: Attribute) -> CtyType:
    """The cty type of an attribute, nested ones included."""
    if not attribute.nesting:
        return attribute.type
    members = ["object", {name: attribute_type(member) for name, member in attribute.nested.items()}]
    return members if attribute.nesting == "single" else [attribute.nesting, members]


def block_type(block: Block) -> CtyType:
    """The cty type of a whole block: what Terraform sends over the wire for it."""
    members: dict[str, CtyType] = {name: attribute_type(each) for name, each in block.attributes.items()}
    for name, nested in block.blocks.items():
        inner = block_type(nested.block)
        members[name] = inner if nested.nesting == "single" else [nested.nesting, inner]
    return ["object", members]


_FLAGS = (("r", "required"), ("o", "optional"), ("c", "computed"), ("s", "sensitive"), ("w", "write_only"))


def to_json(block: Block) -> dict[str, Any]:
    """A compact form for the cache; :func:`from_json` reads it."""
    return {
        "a": {name: _attribute_to_json(each) for name, each in block.attributes.items()},
        "b": {
            name: [each.nesting, each.min_items, each.max_items, to_json(each.block)]
            for name, each in block.blocks.items()
        },
    }


def from_json(data: dict[str, Any]) -> Block:
    """Read :func:`to_json`'s form. Raises KeyError, TypeError or ValueError on anything else (a corrupt cache)."""
    return Block(
        {name: _attribute_from_json(each) for name, each in data["a"].items()},
        {
            name: NestedBlock(nesting, from_json(inner), least, most)
            for name, (nesting, least, most, inner) in data["b"].items()
        },
    )


def _attribute_to_json(attribute: Attribute) -> list[Any]:
    flags = "".join(letter for letter, name in _FLAGS if getattr(attribute, name))
    nested = {name: _attribute_to_json(each) for name, each in attribute.nested.items()}
    return [flags, attribute.type, attribute.nesting, nested, list(attribute.choices)]


def _attribute_from_json(data: list[Any]) -> Attribute:
    flags, cty, nesting, nested, choices = data
    return Attribute(
        type=cty,
        nesting=nesting,
        nested={name: _attribute_from_json(each) for name, each in nested.items()},
        choices=tuple(choices),
        **{name: letter in flags for letter, name in _FLAGS},
    )
