"""Rows are packed into batches by the task that has them, and the batches brought to the one task that writes
their partition.

Sequence numbers are per partition, so a partition has one writer in a transaction, and a shuffle is needed.
Batches of records go through it, not rows: a shuffle of rows would cost more than all the rest. A shuffle
promises no order. Each batch therefore carries the number of its task and its own number there, and the
writer sorts by both.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from penstock.client.arrow.routing import Router
from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.clusters import cluster_for
from penstock.spark.options import WriteOptions
from penstock.wire.pack import Packed

SHARD: Final = "shard"
SOURCE: Final = "source"
NUMBER: Final = "number"
_PARCEL: Final = pa.schema(
    [
        (SHARD, pa.int32()),
        (SOURCE, pa.int32()),
        (NUMBER, pa.int64()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("payload", pa.binary()),
        ("records", pa.int32()),
        ("base_timestamp", pa.int64()),
        ("max_timestamp", pa.int64()),
    ]
)
PARCELS: Final = (
    "shard int, source int, number bigint, topic string, partition int, payload binary, records int, "
    "base_timestamp bigint, max_timestamp bigint"
)


def sharded(frame: DataFrame, columns: frozenset[str], options: WriteOptions, shards: int) -> DataFrame:
    """The rows of `frame` as parcels in `shards` parts: all of a target partition in one, and in order."""
    given = frame.select(*[frame[field.name] for field in frame.schema if field.name in columns])
    parcels = given.mapInArrow(packing(columns, options, shards), PARCELS)
    return gathered(parcels, shards)


def gathered(parcels: DataFrame, shards: int) -> DataFrame:
    """What was packed into parcels for so many shards, each with the one task that writes it."""
    return parcels.repartitionById(shards, SHARD).sortWithinPartitions(SOURCE, NUMBER)


def packing(
    columns: frozenset[str], options: WriteOptions, shards: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does before the shuffle."""

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        outbox = _Outbox(shards, 0 if context is None else context.partitionId())
        router = Router(cluster_for(options.client), outbox, options.topic, options.delivery_seconds)
        for batch in batches:
            router.send(batch, columns)
            yield from outbox.take()
        router.flush()
        yield from outbox.take()

    return pack


def unpacked(batch: pa.RecordBatch) -> Iterator[tuple[TopicPartition, Packed]]:
    """What arrives after the shuffle; payloads are not copied."""
    topics, partitions = batch.column("topic").to_pylist(), batch.column("partition").to_pylist()
    payloads = [memoryview(payload.as_buffer()) for payload in batch.column("payload")]
    rest = [batch.column(name).to_pylist() for name in ("records", "base_timestamp", "max_timestamp")]
    for topic, partition, *packed in zip(topics, partitions, payloads, *rest, strict=True):
        yield TopicPartition(topic, partition), Packed(*packed)


def parcels_of_note(note: bytes) -> pa.RecordBatch:
    """Something that a task reports to the driver: it travels with the parcels, and names no topic."""
    row = (0, 0, 0, None, None, note, None, None, None)
    arrays = [pa.array([value], field.type) for value, field in zip(row, _PARCEL, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_PARCEL)


class _Outbox:
    """Stands where a producer would: what a router has packed, until the task hands it on."""

    def __init__(self, shards: int, source: int) -> None:
        self._shards = shards
        self._source = source
        self._number = 0
        self._rows: list[tuple[Any, ...]] = []

    def send(self, place: TopicPartition, packed: Packed) -> None:
        shard = (place.partition + zlib.crc32(place.topic.encode()) % self._shards) % self._shards
        self._rows.append((shard, self._source, self._number, *place, *packed))
        self._number += 1

    def flush(self) -> None:
        """Nothing: the task takes what is here."""

    def take(self) -> Iterator[pa.RecordBatch]:
        """One batch of parcels, or none."""
        if self._rows:
            rows, self._rows = self._rows, []
            arrays = [
                pa.array(column, field.type)
                for column, field in zip(zip(*rows, strict=True), _PARCEL, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=_PARCEL)
