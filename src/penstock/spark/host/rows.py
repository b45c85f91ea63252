"""Records between the stages of a batch, as rows: their columns, their order, and Python records in and out.

Every row names the run that takes it (or is `FINAL`, to be written) and its Spark partition. The columns
`source` and `offset` restore the order in which records were read or produced, which a shuffle does not
keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from penstock.client.arrow.columns import ROWS
from penstock.client.arrow.routing import binary_input
from penstock.kernels.record import Headers
from penstock.plan.raw_records import ProducedColumns, RecordColumns
from penstock.spark.arrow import full_schema
from penstock.wire.pack import partitions_of_keys

FINAL: Final = -1
"""Instead of a run: the row is for the sink."""
UNREADABLE: Final = -2
"""The JVM was to compute the row and could not read it (`expressions.py`)."""
UNDECIDED: Final = -3
"""Not said: the topic says which run takes the row."""
RUN, SHARD, SOURCE, NEXT = "run", "shard", "source", "next"
RECORD: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "headers")

_full: Final = {field.name: field for field in full_schema(include_headers=True)}
RECORD_SCHEMA: Final = StructType([_full[name] for name in RECORD])
SCHEMA: Final = StructType(
    [
        *RECORD_SCHEMA,
        StructField(RUN, IntegerType()),
        StructField(SHARD, IntegerType()),
        StructField(SOURCE, LongType()),
        StructField(NEXT, IntegerType()),
    ]
)
_ARROW: Final = to_arrow_schema(SCHEMA, timezone="UTC")
_HEADERS: Final = _ARROW.field("headers").type
_TIME: Final = _ARROW.field("timestamp").type

Longs = npt.NDArray[np.int64]


def produced_table(columns: ProducedColumns, run: Any, shard: Any, source: int, first: int) -> pa.Table:
    """The records as rows, numbered from `first`; `run` and `shard` are arrays or one number for all."""
    rows = len(columns.topics)
    times = np.fromiter(columns.timestamps, dtype=np.int64, count=rows) * 1000
    arrays = [
        pa.array(columns.keys, pa.binary()),
        pa.array(columns.values, pa.binary()),
        pa.array(columns.topics, pa.string()),
        pa.array(columns.partitions, pa.int32()),
        pa.array(np.arange(first, first + rows, dtype=np.int64)),
        pa.array(times).cast(_TIME),
        header_column(columns.headers),
        _ints(run, rows),
        _ints(shard, rows),
        pa.array(np.full(rows, source, dtype=np.int64)),
        _ints(0, rows),
    ]
    return pa.Table.from_arrays(arrays, schema=_ARROW)


def with_columns(table: pa.Table, **replaced: Any) -> pa.Table:
    for name, values in replaced.items():
        at = _ARROW.get_field_index(name)
        field = _ARROW.field(at)
        column = values if isinstance(values, pa.Array | pa.ChunkedArray) else _ints(values, table.num_rows)
        if table.schema.get_field_index(name) < 0:
            table = table.append_column(field, column.cast(field.type))
        else:
            table = table.set_column(table.schema.get_field_index(name), field, column.cast(field.type))
    return table


def batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows as Spark takes them best."""
    yield from table.select(_ARROW.names).cast(_ARROW).combine_chunks().to_batches(max_chunksize=ROWS)


def empty() -> pa.Table:
    return _ARROW.empty_table()


def partitions_by_key(
    keys: Sequence[bytes | None], partitions: int, without_key: int
) -> npt.NDArray[np.int32]:
    column = binary_input(pa.array(keys, pa.binary()))
    return np.frombuffer(partitions_of_keys(column, len(keys), partitions, without_key), dtype=np.int32)


def merge_order(table: pa.Table, times_of: Callable[[pa.Table], Sequence[int]] | None = None) -> Longs:
    """The row numbers in the order in which Kafka Streams takes the records: offsets within a queue (a
    topic's partition, or what one task sent to it), across queues the smallest timestamp at the head first.

    A head waits until no other head is older, and the records behind it wait with it. A record therefore
    counts with the latest time in its queue so far: sorting by each queue's running maximum gives the order.
    `times_of` gives the times of records where an extractor gives other ones than their own.
    """
    queue = _queues(table)
    offsets = table["offset"].to_numpy()
    order = np.lexsort((offsets, queue))
    if not len(order) or queue[order[0]] == queue[order[-1]]:
        return order
    times = milliseconds(table)[order] if times_of is None else np.array(times_of(table.take(order)))
    edges = np.flatnonzero(np.diff(queue[order])) + 1
    running = np.concatenate([np.maximum.accumulate(part) for part in np.split(times, edges)])
    return order[np.argsort(running, kind="stable")]


def source_order(table: pa.Table) -> Longs:
    """The row numbers in the order in which each task has made the rows."""
    return np.lexsort((table["offset"].to_numpy(), table[SOURCE].to_numpy()))


def milliseconds(table: pa.Table | pa.RecordBatch) -> Longs:
    return table["timestamp"].cast(pa.int64()).to_numpy() // 1000


def records(table: pa.Table | pa.RecordBatch) -> Iterable[tuple[Any, ...]]:
    """The fields of a raw record, row by row."""
    return zip(table["topic"].to_pylist(), *_columns(table), strict=True)


def columns_of(table: pa.Table, topic: str) -> RecordColumns:
    """The fields of raw records that all are of one topic."""
    return RecordColumns(topic, *_columns(table))


def _columns(table: pa.Table | pa.RecordBatch) -> tuple[list[Any], ...]:
    return (
        table["partition"].to_pylist(),
        table["offset"].to_pylist(),
        milliseconds(table).tolist(),
        table["key"].to_pylist(),
        table["value"].to_pylist(),
        headers_of(table),
    )


def headers_of(table: pa.Table | pa.RecordBatch) -> list[Headers]:
    column = table["headers"]
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if all(not len(chunk.flatten()) for chunk in chunks):
        return [()] * table.num_rows
    return [tuple((header["key"], header["value"]) for header in found or ()) for found in column.to_pylist()]


def _queues(table: pa.Table) -> Longs:
    topics = table["topic"].combine_chunks().dictionary_encode()
    ranks = np.argsort(np.argsort(topics.dictionary.to_pylist()))
    topic = ranks[topics.indices.to_numpy()].astype(np.int64)
    partition = table["partition"].to_numpy().astype(np.int64)
    source = table[SOURCE].to_numpy()
    return (topic << 44) + (partition << 24) + source


def header_column(headers: Sequence[Headers]) -> pa.Array:
    """Empty lists where there are no headers: null ones are slow in Spark."""
    if not any(headers):
        offsets = pa.array(np.zeros(len(headers) + 1, dtype=np.int32))
        return pa.ListArray.from_arrays(offsets, pa.array([], _HEADERS.value_type)).cast(_HEADERS)
    listed = [[{"key": name, "value": value} for name, value in each] for each in headers]
    return pa.array(listed, _HEADERS)


def _ints(values: Any, rows: int) -> pa.Array:
    if isinstance(values, int):
        return pa.array(np.full(rows, values, dtype=np.int32))
    return pa.array(values)
