"""The native columns and their pure twin say the same of every input."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.records import _columns_pure as pure
from penstock.records.record import Record
from tests.properties.test_walk import INT64, RECORDS, TIMESTAMPS, mutated, outcome, payload_of

native = pytest.importorskip(
    "penstock.records._columns_native", reason="the native walk is not built: no compiler at installation"
)


def plain(columns: Any) -> Any:
    """Columns with each buffer as bytes, so that they can be compared."""
    if columns is None or isinstance(columns, int):
        return columns
    if isinstance(columns, tuple):
        return tuple(plain(part) for part in columns)
    return bytes(columns)


def values(column: Any) -> list[bytes | None]:
    offsets = memoryview(column.offsets).cast("B").cast("i")
    data = bytes(column.data)
    bits = None if column.validity is None else bytes(column.validity)
    return [
        data[offsets[row] : offsets[row + 1]] if bits is None or bits[row >> 3] >> (row & 7) & 1 else None
        for row in range(len(offsets) - 1)
    ]


@settings(max_examples=300, deadline=None)
@given(
    batches=st.lists(
        st.tuples(
            mutated(),
            st.integers(0, 1 << 40) | st.integers((1 << 63) - 10, (1 << 63) - 1),
            TIMESTAMPS | INT64,
            st.none() | TIMESTAMPS,
            st.integers(0, 5),
            st.integers(0, 30),
        ),
        max_size=5,
    ),
    wanted=st.fixed_dictionaries({name: st.booleans() for name in ("keys", "values", "headers")}),
)
def test_both_twins_lay_out_the_same_columns_and_forget_refused_batches(
    batches: list[Any], wanted: dict[str, bool]
) -> None:
    builders = [native.ColumnBuilder(**wanted), pure.ColumnBuilder(**wanted)]
    for (payload, count), base_offset, base_timestamp, append_time, skip, keep in batches:
        upper = min((1 << 63) - 1, base_offset + keep)
        arguments = (payload, count, base_offset, base_timestamp, append_time, base_offset + skip, upper)
        if arguments[5] > upper:
            continue
        said = [outcome(builder.add, *arguments) for builder in builders]
        assert said[0] == said[1]
    assert builders[0].rows == builders[1].rows
    assert builders[0].size_bytes == builders[1].size_bytes
    assert plain(builders[0].take()) == plain(builders[1].take())


@settings(max_examples=100, deadline=None)
@given(RECORDS)
def test_what_the_encoder_wrote_comes_back_in_columns(records: list[Record]) -> None:
    payload = payload_of(records)
    base = records[0].timestamp_ms
    for twin in (native, pure):
        builder = twin.ColumnBuilder()
        builder.add(payload, len(records), 100, base)
        columns = builder.take()
        assert columns.rows == len(records)
        assert values(columns.key) == [record.key for record in records]
        assert values(columns.value) == [record.value for record in records]
        assert list(memoryview(columns.offsets).cast("B").cast("q")) == [
            100 + index for index in range(len(records))
        ]
        assert list(memoryview(columns.timestamps_ms).cast("B").cast("q")) == [
            record.timestamp_ms for record in records
        ]
        names = [(value or b"").decode() for value in values(columns.headers.key)]
        flat = list(zip(names, values(columns.headers.value), strict=True))
        assert flat == [header for record in records for header in record.headers]
        assert builder.rows == 0
