"""Primitive types in both forms, and input that lies about its lengths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.primitives import MalformedMessage, Reader, Writer

ints = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


@pytest.mark.parametrize("name", ints)
@given(data=st.data())
def test_an_integer_comes_back_as_it_went(name: str, data: st.DataObject) -> None:
    bits = ints[name]
    value = data.draw(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
    writer = Writer()
    getattr(writer, name)(value)
    assert len(writer.data) == bits // 8
    assert getattr(Reader(memoryview(writer.data)), name)() == value


@given(st.integers(0, 2**32 - 1))
def test_an_unsigned_varint_comes_back_as_it_went(value: int) -> None:
    writer = Writer()
    writer.unsigned_varint(value)
    assert Reader(memoryview(writer.data)).unsigned_varint() == value


@given(st.none() | st.text(max_size=300), st.booleans())
def test_a_string_comes_back_as_it_went(value: str | None, flexible: bool) -> None:
    writer = Writer(flexible=flexible)
    writer.nullable_string(value)
    reader = Reader(memoryview(writer.data), flexible=flexible)
    assert reader.nullable_string() == value
    assert reader.remaining == 0


@given(st.dictionaries(st.integers(0, 200), st.binary(max_size=20)))
def test_tagged_fields_come_back_as_they_went(fields: dict[int, bytes]) -> None:
    writer = Writer(flexible=True)
    writer.tags(fields)
    found = Reader(memoryview(writer.data), flexible=True).tags()
    assert {tag: bytes(value) for tag, value in found.items()} == fields


def test_an_array_longer_than_what_remains_is_refused_before_anything_is_allocated() -> None:
    writer = Writer()
    writer.int32(2**31 - 1)
    writer.int64(0)
    with pytest.raises(MalformedMessage):
        Reader(memoryview(writer.data)).array()


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x05abc", b"\xff\xfe", b"\x00\x02\xff\xff"])
def test_a_string_that_is_cut_off_negative_or_not_utf8_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        Reader(memoryview(data)).string()


@given(st.binary(max_size=60), st.booleans())
def test_arbitrary_bytes_are_read_or_refused_but_never_anything_else(data: bytes, flexible: bool) -> None:
    reader = Reader(memoryview(data), flexible=flexible)
    try:
        while reader.remaining:
            reader.nullable_string()
            reader.nullable_bytes()
            reader.array(4)
            reader.tags()
    except MalformedMessage:
        pass
