"""Packing: both twins write the same bytes, and what they write is read back as it was."""

from __future__ import annotations

from array import array
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.records.codecs import Codec
from penstock.records.record import Record, decode_batch
from penstock.wire import _pack_pure as pure
from penstock.wire.pack import BinaryInput, HeaderInput, Packed, RecordColumns, pack_records, seal, split
from penstock.wire.partitioner import partition_for_key

native = pytest.importorskip(
    "penstock.wire._pack_native", reason="the native packer is not built: no compiler at installation"
)

FIELDS = st.lists(st.none() | st.binary(max_size=150), min_size=1, max_size=20)
HEADER_LISTS = st.none() | st.lists(
    st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=5)), max_size=3
)


def column(items: list[bytes | None], first: int) -> BinaryInput:
    """Items in Arrow's layout, after `first` rows that do not count."""
    every = [b"not this"] * first + items
    offsets, end = array("i", [0]), 0
    validity = bytearray((len(every) + 7) // 8)
    for place, item in enumerate(every):
        end += len(item or b"")
        offsets.append(end)
        validity[place >> 3] |= (item is not None) << (place & 7)
    nulls = any(item is None for item in every)
    data = b"".join(item or b"" for item in every)
    return BinaryInput(offsets.tobytes(), data, bytes(validity) if nulls else None, first)


def header_column(lists: list[Any]) -> HeaderInput:
    offsets, validity = array("i", [0]), bytearray((len(lists) + 7) // 8)
    for place, pairs in enumerate(lists):
        offsets.append(offsets[-1] + len(pairs or ()))
        validity[place >> 3] |= (pairs is not None) << (place & 7)
    flat = [pair for pairs in lists for pair in pairs or ()]
    keys = column([name.encode() for name, _ in flat], 1)
    return HeaderInput(offsets.tobytes(), bytes(validity), keys, column([value for _, value in flat], 0))


@st.composite
def inputs(draw: st.DrawFn) -> tuple[RecordColumns, list[int], list[Record]]:
    values = draw(FIELDS)
    count = len(values)
    keys = draw(st.lists(st.none() | st.binary(max_size=20), min_size=count, max_size=count))
    headers = draw(st.lists(HEADER_LISTS, min_size=count, max_size=count))
    times = draw(st.lists(st.integers(-1, 1 << 42), min_size=count, max_size=count))
    rows = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=30))
    columns = RecordColumns(
        count,
        array("q", times).tobytes(),
        column(keys, draw(st.integers(0, 9))),
        column(values, draw(st.integers(0, 9))),
        header_column(headers),
    )
    records = [Record(keys[row], values[row], tuple(headers[row] or ()), times[row]) for row in rows]
    return columns, rows, records


def packed_by(twin: Any, columns: RecordColumns, rows: list[int], max_bytes: int) -> list[Packed]:
    packer = twin.Packer(max_bytes)
    numbers = array("i", rows).tobytes()
    done, position = [], packer.add(columns, numbers)
    while position < len(rows):
        assert packer.count
        done.append(packer.take())
        position = packer.add(columns, numbers, position)
    return [*done, packer.take()]


@settings(max_examples=200, deadline=None)
@given(inputs(), st.integers(0, 600))
def test_both_twins_pack_the_same_and_it_reads_back(
    case: tuple[RecordColumns, list[int], list[Record]], max_bytes: int
) -> None:
    columns, rows, records = case
    batches = packed_by(native, columns, rows, max_bytes)
    assert batches == packed_by(pure, columns, rows, max_bytes)
    back: list[Record] = []
    for packed in batches:
        assert packed.record_count == 1 or len(packed.payload) <= max_bytes
        batch = seal(packed, Codec.NONE, producer_id=1, producer_epoch=0, sequence=0)
        back += [record._replace(offset=-1) for record in decode_batch(batch)]
    assert back == records
    for packed in batches:
        again = decode_batch(seal(packed, Codec.LZ4, producer_id=1, producer_epoch=0, sequence=0))
        assert pack_records(again) == packed


@settings(max_examples=100, deadline=None)
@given(FIELDS, st.integers(0, 9), st.integers(1, 50))
def test_both_twins_and_the_partitioner_choose_the_same_partitions(
    keys: list[bytes | None], first: int, count: int
) -> None:
    key = column(keys, first)
    chosen = native.partitions_of_keys(key, len(keys), count, 7)
    assert chosen == pure.partitions_of_keys(key, len(keys), count, 7)
    assert list(memoryview(chosen).cast("i")) == [
        7 if item is None else partition_for_key(item, count) for item in keys
    ]


GOOD = BinaryInput(array("i", [0, 1, 2]).tobytes(), b"ab", None)


@pytest.mark.parametrize("twin", [native, pure])
@pytest.mark.parametrize(
    ("value", "rows", "sentence"),
    [
        (GOOD, [2], "there is no row 2"),
        (GOOD, [-1], "there is no row -1"),
        (GOOD._replace(offsets=array("i", [0]).tobytes()), [0], "shorter than its rows"),
        (GOOD._replace(offsets=array("i", [0, 9, 2]).tobytes()), [0], "point outside"),
        (GOOD._replace(offsets=array("i", [1, 0, 2]).tobytes()), [0], "point outside"),
        (GOOD._replace(validity=b""), [0], "shorter than its rows"),
        (GOOD._replace(first=9), [0], "shorter than its rows"),
    ],
)
def test_columns_that_do_not_hold_what_they_promise_are_refused(
    twin: Any, value: BinaryInput, rows: list[int], sentence: str
) -> None:
    columns = RecordColumns(2, array("q", [0, 0]).tobytes(), None, value, None)
    with pytest.raises(ValueError, match=sentence):
        twin.Packer(100).add(columns, array("i", rows).tobytes())


@pytest.mark.parametrize("twin", [native, pure])
def test_a_header_without_a_key_is_refused(twin: Any) -> None:
    no_key = GOOD._replace(validity=b"\x00")
    headers = HeaderInput(array("i", [0, 1]).tobytes(), None, no_key, GOOD)
    columns = RecordColumns(1, array("q", [0]).tobytes(), None, GOOD, headers)
    with pytest.raises(ValueError, match="header without a key"):
        twin.Packer(100).add(columns, array("i", [0]).tobytes())


def test_a_batch_is_split_in_halves_that_hold_all_of_it() -> None:
    records = [Record(None, b"%d" % number, (), 1000 + number) for number in range(5)]
    first, second = split(pack_records(records))
    assert (first.record_count, second.record_count) == (2, 3)
    assert (first, second) == (pack_records(records[:2]), pack_records(records[2:]))
