"""Batches in LZ4 that the native walk unpacks by itself: those that the LZ4 library takes, and no others."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.records.batch import CRC_POSITION, CRC_START, HEADER_SIZE
from penstock.records.codecs import Codec
from penstock.records.record import Record, encode_batch
from penstock.settings.topic import TopicSettings
from penstock.storage import incoming

native = pytest.importorskip(
    "penstock.records._walk_native", reason="the native walk is not built: no compiler at installation"
)

NOW_MS = 1 << 44
TOPIC = TopicSettings(max_message_bytes=1 << 24)
FRAME_HEADER = 7
# As Java writes it: independent blocks of 64 KB without checksums.
JAVA_HEADER = b"\x04\x22\x4d\x18\x60\x40\x82"
VALUES = st.binary(max_size=60) | st.builds(
    lambda word, count, end: word * count + end,
    st.binary(min_size=1, max_size=9),
    st.integers(1, 400),
    st.binary(max_size=9),
)


def batch_of(values: list[bytes]) -> bytearray:
    return encode_batch([Record(None, value, timestamp_ms=7) for value in values], codec=Codec.LZ4)


def accept(batch: bytearray) -> Any:
    return native.accept(memoryview(batch), 1 << 24, False, NOW_MS, 1 << 62, 1 << 62)


def sealed(batch: bytearray) -> bytearray:
    """With the length and the CRC of what it holds."""
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[CRC_POSITION:CRC_START] = crc32c(batch[CRC_START:]).to_bytes(4, "big")
    return batch


def as_java(batch: bytearray) -> bytearray:
    """The same blocks without checksums."""
    frame = batch[HEADER_SIZE:]
    blocks, at = bytearray(JAVA_HEADER), FRAME_HEADER
    while (word := int.from_bytes(frame[at : at + 4], "little")) != 0:
        size = word & 0x7FFFFFFF
        blocks += frame[at : at + 4 + size]
        at += 4 + size + 4
    return sealed(batch[:HEADER_SIZE] + blocks + bytes(4))


@settings(max_examples=150, deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=20))
def test_what_the_library_writes_is_accepted_at_a_glance(values: list[bytes]) -> None:
    batch = batch_of(values)
    for written in (batch, as_java(batch)):
        header = accept(written)
        assert header is not None
        assert incoming.examine_produced(memoryview(written), TOPIC, NOW_MS).headers == [(0, header)]


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, 300_000])
@pytest.mark.parametrize("value", [b"\0", bytes(range(256)), b"a random word "])
def test_batches_of_several_blocks_are_accepted_too(size: int, value: bytes) -> None:
    batch = batch_of([(value * size)[:size], b"last"])
    assert accept(batch) is not None
    assert accept(as_java(batch)) is not None


def test_large_batches_are_left_to_the_library() -> None:
    batch = batch_of([bytes(Random(1).randbytes(70_000))])
    assert accept(batch) is None
    assert incoming.examine_produced(memoryview(batch), TOPIC, NOW_MS).headers


@st.composite
def damaged(draw: st.DrawFn) -> bytearray:
    """Bytes of the frame changed, inserted or cut, under a right CRC."""
    batch = batch_of(draw(st.lists(VALUES, min_size=1, max_size=6)))
    if draw(st.booleans()):
        batch = as_java(batch)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(HEADER_SIZE, len(batch) - 1))
        kind = draw(st.sampled_from(["flip", "flip", "flip", "insert", "cut"]))
        if kind == "flip":
            batch[place] = draw(st.integers(0, 255))
        elif kind == "insert":
            batch[place:place] = draw(st.binary(min_size=1, max_size=6))
        elif len(batch) > HEADER_SIZE + 8:
            del batch[place : place + draw(st.integers(1, 5))]
    return sealed(batch)


@settings(max_examples=600, deadline=None)
@given(damaged())
def test_nothing_is_accepted_that_the_library_would_refuse(batch: bytearray) -> None:
    header = accept(batch)
    if header is not None:
        assert incoming.examine_produced(memoryview(batch), TOPIC, NOW_MS).headers == [(0, header)]
