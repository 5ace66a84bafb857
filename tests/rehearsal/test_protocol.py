"""The codec speaks protobuf and msgpack as Terraform does; expected bytes are written by hand from the formats."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from staged_terraform import protocol
from staged_terraform.cty_values import UNKNOWN, decode, encode, is_known


def test_fields_are_encoded_as_protobuf_3() -> None:
    # Field 1 varint 150 is the format's own example; field 2 is text.
    assert protocol.message((1, 150), (2, "testing")) == b"\x08\x96\x01\x12\x07testing"
    assert protocol.message((1, 0), (2, ""), (3, False)) == b""
    assert protocol.message((1, b"")) == b"\x0a\x00"


@given(st.lists(st.tuples(st.integers(1, 500), st.one_of(st.integers(1, 2**40), st.binary()))))
def test_what_is_written_is_read(fields: list[tuple[int, int | bytes]]) -> None:
    expected: dict[int, list[int | bytes]] = {}
    for number, value in fields:
        expected.setdefault(number, []).append(value)
    assert protocol.parse(protocol.message(*fields)) == expected


def test_other_wire_types_are_refused() -> None:
    with pytest.raises(ValueError, match="wire type 5"):
        protocol.parse(b"\x0d\x00\x00\x00\x00")


def test_positions_in_paths_are_kept_even_when_zero() -> None:
    assert protocol.attribute_path(("a", 0)) == b"\x0a\x03\x0a\x01a" + b"\x0a\x02\x18\x00"


def test_unknown_values() -> None:
    assert encode(UNKNOWN) == b"\xd4\x00\x00"
    assert decode(b"\xd4\x00\x00") is UNKNOWN
    assert decode(b"\xc7\x03\x0c\x81\x01\xc2") is UNKNOWN  # refined: not null
    assert decode(encode({"a": [1, UNKNOWN, None]})) == {"a": [1, UNKNOWN, None]}
    assert not is_known({"a": [UNKNOWN]})


def test_nothing_else_goes_to_the_wire() -> None:
    with pytest.raises(TypeError, match="set cannot go to Terraform"):
        encode({1})
