"""Terraform's plugin protocol 6, as much of it as Terraform calls: a small protobuf codec and the message layouts.

Written by hand, because generated code would tie us to one release of the protobuf package, and a dozen calls need
three kinds of field: integers, bytes and maps. A message is a list of ``(field number, value)``; what is read is a
dictionary of lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from staged_terraform.cty_values import Value, decode, encode
from staged_terraform.schema_types import Attribute, Block

Field = tuple[int, "int | bytes | str | bool"]
Message = dict[int, list[bytes | int]]
Path = tuple[str | int, ...]

_NESTING = {"single": 1, "list": 2, "set": 3, "map": 4}


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def message(*fields: Field) -> bytes:
    """Encode; integers and booleans that are 0 and empty texts are left out, as protobuf 3 does. Bytes are kept."""
    out = bytearray()
    for number, value in fields:
        if isinstance(value, str):
            value = value.encode()
            if not value:
                continue
        if isinstance(value, bytes):
            out += _varint(number << 3 | 2) + _varint(len(value)) + value
        elif value:
            out += _varint(number << 3) + _varint(int(value))
    return bytes(out)


def parse(data: bytes) -> Message:
    """Decode one level of a message. Raises ValueError on wire types that this protocol does not use."""
    fields: Message = {}
    position = 0

    def varint() -> int:
        nonlocal position
        number = shift = 0
        while True:
            byte = data[position]
            position += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7

    while position < len(data):
        tag = varint()
        if tag & 7 == 0:
            fields.setdefault(tag >> 3, []).append(varint())
        elif tag & 7 == 2:
            length = varint()
            fields.setdefault(tag >> 3, []).append(data[position : position + length])
            position += length
        else:
            raise ValueError(f"wire type {tag & 7} in a plugin message")
    return fields


def text(fields: Message, number: int) -> str:
    return raw(fields, number).decode()


def raw(fields: Message, number: int) -> bytes:
    """A bytes field; absent is empty."""
    value = fields.get(number, [b""])[-1]
    if isinstance(value, int):
        raise ValueError(f"field {number} is a number, not bytes")
    return value


def dynamic(fields: Message, number: int) -> Value:
    """A DynamicValue field, decoded; Terraform sends msgpack, and JSON only for stored state."""
    inner = parse(raw(fields, number))
    if 2 in inner:
        return json.loads(raw(inner, 2))
    return decode(raw(inner, 1))


def dynamic_value(value: Value) -> bytes:
    return message((1, encode(value)))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error or warning that Terraform prints with the resource it belongs to."""

    summary: str
    detail: str = ""
    severity: Literal["error", "warning"] = "error"
    path: Path = ()

    def encoded(self) -> bytes:
        path = attribute_path(self.path) if self.path else b""
        fields: list[Field] = [(1, 1 if self.severity == "error" else 2), (2, self.summary), (3, self.detail)]
        if path:
            fields.append((4, path))
        return message(*fields)


def attribute_path(path: Path) -> bytes:
    """Names are attributes, numbers are positions in a list."""
    steps: list[Field] = []
    for step in path:
        if isinstance(step, int):
            # A position of 0 must be written although it is the default: it is the chosen member of a oneof.
            steps.append((1, _varint(3 << 3) + _varint(step)))
        else:
            steps.append((1, message((1, step))))
    return message(*steps)


def schema(block: Block, version: int = 0) -> bytes:
    """A Schema message."""
    return message((1, version), (2, _block(block)))


def _block(block: Block) -> bytes:
    fields: list[Field] = [(2, _attribute(name, each)) for name, each in block.attributes.items()]
    for name, nested in block.blocks.items():
        fields.append(
            (
                3,
                message(
                    (1, name),
                    (2, _block(nested.block)),
                    (3, _NESTING[nested.nesting]),
                    (4, nested.min_items),
                    (5, nested.max_items),
                ),
            )
        )
    return message(*fields)


def _attribute(name: str, attribute: Attribute) -> bytes:
    fields: list[Field] = [(1, name)]
    if attribute.nesting:
        members: list[Field] = [(1, _attribute(each, member)) for each, member in attribute.nested.items()]
        fields.append((10, message(*members, (3, _NESTING[attribute.nesting]))))
    else:
        fields.append((2, json.dumps(attribute.type, separators=(",", ":")).encode()))
    return message(
        *fields,
        (4, attribute.required),
        (5, attribute.optional),
        (6, attribute.computed),
        (7, attribute.sensitive),
        (11, attribute.write_only),
    )


def provider_schema(
    provider: bytes,
    resources: Mapping[str, bytes],
    data_sources: Mapping[str, bytes],
    ephemeral: Mapping[str, bytes],
) -> bytes:
    """GetProviderSchema's answer, with the two capabilities we have: destroy is planned, schemas are asked for once."""
    fields: list[Field] = [(1, provider)]
    fields += [(2, message((1, name), (2, each))) for name, each in resources.items()]
    fields += [(3, message((1, name), (2, each))) for name, each in data_sources.items()]
    fields.append((6, message((1, True), (2, True))))
    fields += [(8, message((1, name), (2, each))) for name, each in ephemeral.items()]
    return message(*fields)


def diagnostics(number: int, found: Iterable[Diagnostic]) -> list[Field]:
    return [(number, each.encoded()) for each in found]
