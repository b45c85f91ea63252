"""Zigzag varints, against the examples of protobuf's documentation and at the edges of their types."""

from __future__ import annotations

import pytest

from penstock.records.varint import MalformedVarint, read_varint, read_varlong, write_varlong


def written(value: int) -> bytes:
    out = bytearray()
    write_varlong(out, value)
    return bytes(out)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (-2, "03"), (63, "7e"), (64, "8001"), (-65, "8101"), (300, "d804")],
)
def test_small_numbers_have_the_bytes_of_protobuf(value: int, encoded: str) -> None:
    assert written(value).hex() == encoded
    assert read_varint(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31)])
def test_the_edges_of_32_bits_take_five_bytes_and_come_back(value: int) -> None:
    assert len(written(value)) == 5
    assert read_varint(written(value), 0) == (value, 5)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_the_edges_of_64_bits_take_ten_bytes_and_come_back(value: int) -> None:
    assert len(written(value)) == 10
    assert read_varlong(written(value), 0) == (value, 10)


def test_reading_goes_on_where_it_is_told() -> None:
    assert read_varint(b"\xff" + written(300) + b"\xff", 1) == (300, 3)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff\xff\xff"])
def test_bytes_that_end_inside_a_varint_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedVarint, match="end inside"):
        read_varint(data, 0)


def test_a_varint_of_six_bytes_is_refused() -> None:
    with pytest.raises(MalformedVarint, match="longer than 5"):
        read_varint(b"\x80\x80\x80\x80\x80\x01", 0)


def test_bits_beyond_the_type_are_refused() -> None:
    with pytest.raises(MalformedVarint, match="32 bits"):
        read_varint(b"\xff\xff\xff\xff\x7f", 0)
