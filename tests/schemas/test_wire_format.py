"""The frame of values with schemas, as Confluent's own serialisers write it."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.schemas import wire_format
from penstock.schemas.errors import InvalidFrame


def test_the_header_is_a_zero_and_the_id_in_four_bytes() -> None:
    assert wire_format.write_header(258) == b"\x00\x00\x00\x01\x02"
    assert wire_format.read_header(b"\x00\x00\x00\x01\x02rest") == 258


@pytest.mark.parametrize("data", [b"", b"\x00\x00\x00\x01", b'{"a":1}'])
def test_bytes_that_were_written_without_a_registry_are_said_to_be_so(data: bytes) -> None:
    with pytest.raises(InvalidFrame, match="without a registry"):
        wire_format.read_header(data)


def test_the_first_message_is_a_single_zero() -> None:
    assert wire_format.write_indexes((0,)) == b"\x00"
    assert wire_format.read_indexes(b"\x00rest", 0) == ((0,), 1)


def test_the_indexes_are_zigzag_varints() -> None:
    assert wire_format.write_indexes((1, 0)) == b"\x04\x02\x00"


@given(st.lists(st.integers(0, 500), min_size=1, max_size=10).map(tuple), st.binary(max_size=5))
def test_indexes_are_read_as_they_were_written(indexes: tuple[int, ...], before: bytes) -> None:
    data = before + wire_format.write_indexes(indexes)
    assert wire_format.read_indexes(data + b"message", len(before)) == (indexes, len(data))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x04\x02", b"\xfe\xff\xff\xff\x0f", b"\x02\x01"])
def test_broken_indexes_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidFrame):
        wire_format.read_indexes(data, 0)


def test_a_header_holds_a_guid() -> None:
    guid = uuid.UUID("89791762-2336-4186-9674-299b90a802e2")
    written = wire_format.write_guid(guid, (1,))
    assert written == b"\x01" + guid.bytes + b"\x02\x02"
    assert wire_format.read_guid(written) == (guid, b"\x02\x02")
    with pytest.raises(InvalidFrame):
        wire_format.read_guid(b"\x00" + guid.bytes)
