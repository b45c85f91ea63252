"""The two indexes: lookups, truncation, and Kafka's bytes on disk."""

from __future__ import annotations

import struct

import pytest

from penstock.storage.index import OffsetIndex, TimeIndex

BASE = 1000


def offset_index(*entries: tuple[int, int]) -> OffsetIndex:
    index = OffsetIndex(BASE)
    for offset, position in entries:
        index.append(offset, position)
    return index


def time_index(*entries: tuple[int, int]) -> TimeIndex:
    index = TimeIndex(BASE)
    for timestamp, offset in entries:
        index.append_if_later(timestamp, offset)
    return index


def test_an_offset_is_looked_for_from_the_last_entry_at_or_before_it() -> None:
    index = offset_index((1010, 500), (1020, 900))
    assert [index.position_for(offset) for offset in (1000, 1009, 1010, 1019, 1020, 5000)] == [
        *(0, 0, 500, 500, 900, 900)
    ]


def test_an_empty_index_says_begin_at_the_beginning() -> None:
    assert offset_index().position_for(1234) == 0
    assert offset_index().last_position() == 0
    assert time_index().entry_before(99) is None
    assert time_index().last_entry() is None


def test_offset_entries_are_eight_bytes_relative_offset_then_position() -> None:
    data = offset_index((1010, 500), (1020, 900)).to_bytes()
    assert data == struct.pack(">iiii", 10, 500, 20, 900)


def test_time_entries_are_twelve_bytes_timestamp_then_relative_offset() -> None:
    data = time_index((1_700_000_000_000, 1010), (1_700_000_000_005, 1020)).to_bytes()
    assert data == struct.pack(">qiqi", 1_700_000_000_000, 10, 1_700_000_000_005, 20)


def test_both_indexes_come_back_from_their_bytes() -> None:
    offsets = OffsetIndex.from_bytes(BASE, offset_index((1010, 500), (1020, 900)).to_bytes(), 1000)
    assert [offsets.position_for(offset) for offset in (1009, 1010, 1020)] == [0, 500, 900]
    times = TimeIndex.from_bytes(BASE, time_index((50, 1010), (60, 1020)).to_bytes())
    assert times.last_entry() == (60, 1020)


def test_a_timestamp_is_looked_for_from_the_last_entry_before_it() -> None:
    index = time_index((50, 1010), (60, 1020))
    entries = [index.entry_before(timestamp) for timestamp in (49, 50, 51, 60, 61)]
    assert entries == [None, None, (50, 1010), (50, 1010), (60, 1020)]


def test_a_timestamp_that_is_no_later_gets_no_entry() -> None:
    assert len(time_index((50, 1010), (50, 1011), (49, 1012), (-1, 1013))) == 1


def test_truncation_forgets_what_begins_behind_the_cut() -> None:
    offsets = offset_index((1010, 500), (1020, 900))
    offsets.truncate_to(900)
    assert (len(offsets), offsets.last_position()) == (1, 500)
    times = time_index((50, 1010), (60, 1020))
    times.truncate_to(1020)
    assert times.last_entry() == (50, 1010)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00" * 7,
        struct.pack(">iiii", 10, 500, 10, 900),
        struct.pack(">iiii", 10, 500, 20, 500),
        struct.pack(">ii", -1, 500),
        struct.pack(">ii", 10, 1000),
    ],
    ids=["half an entry", "equal offsets", "equal positions", "negative offset", "behind the end of the log"],
)
def test_an_impossible_offset_index_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="entr"):
        OffsetIndex.from_bytes(BASE, data, 1000)


@pytest.mark.parametrize(
    "data",
    [b"\x00" * 13, struct.pack(">qiqi", 50, 10, 50, 20), struct.pack(">qi", -5, 10)],
    ids=["half an entry", "equal timestamps", "negative timestamp"],
)
def test_an_impossible_time_index_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="entr"):
        TimeIndex.from_bytes(BASE, data)
