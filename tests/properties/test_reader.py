"""The native reader of messages and its pure twin say the same of every input."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol import _reader_pure as pure
from penstock.protocol._produce_pure import read_produce_request
from penstock.protocol.primitives import Writer

native = pytest.importorskip(
    "penstock.protocol._reader_native", reason="the native reader is not built: no compiler at installation"
)

LAYOUT = struct.Struct(">hi")
FIELDS = (
    *("int8", "int16", "int32", "int64", "float64", "boolean", "uuid", "unsigned_varint"),
    *("nullable_string", "string", "nullable_bytes", "nullable_array", "array", "int32_array", "tags"),
)
STEPS = st.one_of(
    st.sampled_from(FIELDS).map(lambda name: (name,)),
    st.tuples(st.just("text"), st.integers(-3, 20)),
    st.tuples(st.just("nullable_array"), st.integers(1, 16)),
    st.tuples(st.just("array"), st.integers(1, 16)),
    st.tuples(st.just("unpack"), st.just(LAYOUT)),
    st.tuples(st.just("structures"), st.just(LAYOUT), st.just(list)),
    st.tuples(st.just("flexible"), st.booleans()),
)
# Small numbers make lengths that fit; anything at all makes those that do not.
BYTES = st.binary(max_size=60) | st.lists(st.integers(0, 6), max_size=60).map(bytes)


def plain(value: Any) -> Any:
    """A result that can be compared: views as bytes, and numbers so that NaN equals itself."""
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, float):
        return struct.pack(">d", value)
    if hasattr(value, "items"):
        return {tag: bytes(data) for tag, data in value.items()}
    return value


def read(kind: Any, data: bytes, start: int, steps: list[Any]) -> list[Any]:
    """What each step gives and where the reader stands then, up to the first refusal."""
    reader = kind(memoryview(data), start)
    told: list[Any] = []
    for name, *arguments in steps:
        if name == "flexible":
            (reader.flexible,) = arguments
            continue
        try:
            value = plain(getattr(reader, name)(*arguments))
        except pure.MalformedMessage as problem:
            return [*told, str(problem)]
        told.append((type(value), value, reader.position, reader.remaining))
    return told


@given(BYTES, st.integers(0, 3), st.lists(STEPS, max_size=12))
def test_both_twins_read_and_refuse_alike(data: bytes, start: int, steps: list[Any]) -> None:
    start = min(start, len(data))
    assert read(native.Reader, data, start, steps) == read(pure.Reader, data, start, steps)


# A topic has a name: an array is refused where its items would have less than four bytes each.
TOPICS = st.lists(
    st.tuples(
        st.text(min_size=1, max_size=5),
        st.lists(st.tuples(st.integers(0, 9), st.binary(max_size=9) | st.none())),
    ),
    max_size=3,
)


def produce_request(version: int, transactional_id: str | None, topics: list[Any]) -> bytes:
    writer = Writer(flexible=version >= 9)
    writer.nullable_string(transactional_id)
    writer.int16(-1)
    writer.int32(1500)
    writer.array(len(topics))
    for name, partitions in topics:
        writer.string(name) if version < 13 else writer.uuid(name.encode().ljust(16)[:16])
        writer.array(len(partitions))
        for partition, records in partitions:
            writer.int32(partition)
            writer.length(-1 if records is None else len(records))
            writer.data += records or b""
            writer.tags()
        writer.tags()
    return bytes(writer.data)


def read_produce(twin: Any, kind: Any, data: bytes, version: int) -> Any:
    reader = kind(memoryview(data), flexible=version >= 9)
    try:
        transactional_id, acks, timeout_ms, topics = twin(reader, version)
    except pure.MalformedMessage as problem:
        return str(problem)
    places = [
        (name, topic_id, index, plain(records)) for name, topic_id, data in topics for index, records in data
    ]
    return transactional_id, acks, timeout_ms, len(topics), places, reader.position


@given(st.integers(3, 13), st.text(max_size=3) | st.none(), TOPICS, st.data())
def test_both_twins_read_a_produce_request_alike_whole_or_damaged(
    version: int, transactional_id: str | None, topics: list[Any], draw: st.DataObject
) -> None:
    data = bytearray(produce_request(version, transactional_id, topics))
    whole = read_produce(native.read_produce_request, native.Reader, bytes(data), version)
    assert whole == read_produce(read_produce_request, pure.Reader, bytes(data), version)
    assert whole[0] == transactional_id
    assert whole[3:] == (len(topics), whole[4], len(data))
    data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    damaged = bytes(data[: draw.draw(st.integers(0, len(data)))])
    assert read_produce(native.read_produce_request, native.Reader, damaged, version) == read_produce(
        read_produce_request, pure.Reader, damaged, version
    )


def test_both_count_items_over_all_arrays_of_a_message() -> None:
    data = struct.pack(">i", 200_000) * 2 + bytes(200_000)
    for kind in (native.Reader, pure.Reader):
        reader = kind(memoryview(data))
        reader.array()
        with pytest.raises(pure.MalformedMessage, match="more than 250000 items"):
            reader.array()
