"""Columns of records as Arrow record batches, named as in Spark's own Kafka source. Nothing is copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from penstock.records.walk import BinaryColumn, Columns, HeaderColumns

# Measured as the best size of a batch between a worker and Spark; smaller and larger ones are slower.
ROWS: Final = 10_000

# Arrow counts microseconds in 64 bits, a record's milliseconds may be anything.
_MOST_MS: Final = (1 << 63) // 1000 - 1
_MICROSECONDS: Final = pa.timestamp("us", tz="UTC")

SCHEMA: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", _MICROSECONDS),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)
"""Every column there can be."""


class BatchMaker:
    """Makes record batches of one partition with the columns of `schema`."""

    def __init__(self, schema: pa.Schema, topic: str, partition: int) -> None:
        self._schema = schema
        topic_name = pa.scalar(topic, pa.string())
        number = pa.scalar(partition, pa.int32())
        makers: dict[str, Callable[[Columns], pa.Array]] = {
            "key": lambda columns: _binary(columns.rows, columns.key, pa.binary()),
            "value": lambda columns: _binary(columns.rows, columns.value, pa.binary()),
            "topic": lambda columns: pa.repeat(topic_name, columns.rows),
            "partition": lambda columns: pa.repeat(number, columns.rows),
            "offset": lambda columns: _numbers(pa.int64(), columns.rows, columns.offsets),
            "timestamp": _timestamps,
            "timestampType": lambda columns: _numbers(pa.int32(), columns.rows, columns.timestamp_types),
            "headers": lambda columns: _headers(
                columns.rows, columns.headers, self._schema.field("headers").type
            ),
        }
        self._makers = [makers[name] for name in self._schema.names]

    def whole(self, columns: Columns) -> pa.RecordBatch:
        """All rows in one batch."""
        return pa.RecordBatch.from_arrays([make(columns) for make in self._makers], schema=self._schema)

    def batches(self, columns: Columns) -> Iterator[pa.RecordBatch]:
        """The rows in batches of about `ROWS`; many small records of one stored batch are cut in slices."""
        whole = self.whole(columns)
        if columns.rows <= ROWS * 3 // 2:
            yield whole
            return
        for start in range(0, columns.rows, ROWS):
            yield whole.slice(start, ROWS)


def _numbers(kind: pa.DataType, rows: int, data: object) -> pa.Array:
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(data)])


def _binary(rows: int, column: BinaryColumn | None, kind: pa.DataType) -> pa.Array:
    assert column is not None, "the builder was told to leave this column out"
    validity = None if column.validity is None else pa.py_buffer(column.validity)
    return pa.Array.from_buffers(
        kind, rows, [validity, pa.py_buffer(column.offsets), pa.py_buffer(column.data)]
    )


def _timestamps(columns: Columns) -> pa.Array:
    times = np.frombuffer(columns.timestamps_ms, dtype=np.int64)
    microseconds = np.clip(times, -_MOST_MS, _MOST_MS) * 1000
    return _numbers(_MICROSECONDS, columns.rows, microseconds)


def _headers(rows: int, headers: HeaderColumns | None, kind: pa.ListType) -> pa.Array:
    assert headers is not None, "the builder was told to leave headers out"
    names = _binary(headers.header_count, headers.key, pa.string())
    try:
        names.validate(full=True)
    except pa.ArrowInvalid:  # a key that is not UTF-8: shown as Java's client shows it
        raw = _binary(headers.header_count, headers.key, pa.binary()).to_pylist()
        names = pa.array([name.decode(errors="replace") for name in raw], pa.string())
    values = _binary(headers.header_count, headers.value, pa.binary())
    entries = pa.StructArray.from_arrays([names, values], fields=list(kind.value_type))
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(headers.list_offsets)], children=[entries])
