"""Rows brought to the one task that writes their partition, in the order in which they were read.

Sequence numbers are per partition, so a partition has one writer in a transaction. A shuffle does not promise
order: each row carries the task that it came from and its number there, and is sorted by them afterwards.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from penstock.spark.clusters import cluster_for
from penstock.spark.options import WriteOptions
from penstock.spark.routing import Numbers, Targets, binary_input

PARTITION: Final = "partition"
SHARD: Final = "__shard"
SOURCE: Final = "__source"
ROW: Final = "__row"
_ADDED: Final = (
    StructField(PARTITION, IntegerType()),
    StructField(SHARD, IntegerType()),
    StructField(SOURCE, IntegerType()),
    StructField(ROW, LongType()),
)


def sharded(frame: DataFrame, columns: frozenset[str], options: WriteOptions, shards: int) -> DataFrame:
    """The rows of `frame` in `shards` parts: all of a target partition in one, each named in `partition`."""
    carried = [field for field in frame.schema if field.name in columns and field.name != PARTITION]
    given = frame.select(*[frame[field.name] for field in frame.schema if field.name in columns])
    names = [field.name for field in carried]
    addressed = given.mapInArrow(addressing(columns, names, options, shards), StructType([*carried, *_ADDED]))
    return addressed.repartitionById(shards, SHARD).sortWithinPartitions(SOURCE, ROW)


def addressing(
    columns: frozenset[str], carried: list[str], options: WriteOptions, shards: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does before the shuffle: name partition and shard of each row, and number the rows."""

    def address(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        source = 0 if context is None else context.partitionId()
        targets = Targets(cluster_for(options.bootstrap_servers, options.client_id), options)
        position = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            partitions, shard = _addresses(targets, batch, columns, shards)
            numbers = np.arange(position, position + batch.num_rows, dtype=np.int64)
            position += batch.num_rows
            added = [
                pa.array(partitions),
                pa.array(shard),
                pa.repeat(pa.scalar(source, pa.int32()), batch.num_rows),
                pa.array(numbers),
            ]
            arrays = [*(batch.column(name) for name in carried), *added]
            yield pa.RecordBatch.from_arrays(arrays, [*carried, *(field.name for field in _ADDED)])

    return address


def _addresses(
    targets: Targets, batch: pa.RecordBatch, columns: frozenset[str], shards: int
) -> tuple[Numbers, Numbers]:
    partitions = np.empty(batch.num_rows, dtype=np.int32)
    shard = np.empty(batch.num_rows, dtype=np.int32)
    key = binary_input(batch.column("key")) if "key" in columns else None
    for topic, target, rows, chosen in targets.address(batch, columns, key):
        partitions[rows] = chosen
        shard[rows] = (chosen + zlib.crc32(topic.encode()) % shards) % shards
        target.sticky.switch()  # rows without a key: another partition for each batch of rows
    return partitions, shard
