"""One range of one partition as Arrow batches: what a task of the source does."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pyarrow as pa
from pyspark.sql.types import StructType

from penstock.client.arrow.columns import ROWS
from penstock.client.arrow.stored import add_stored
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.walk import ColumnBuilder
from penstock.spark.arrow import batch_maker
from penstock.spark.clusters import cluster_for
from penstock.spark.limits import OffsetRange
from penstock.spark.options import ReadOptions
from penstock.wire import offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import OffsetOutOfRange
from penstock.wire.fetch import Batch, FetchOptions, fetch

log = logging.getLogger(__name__)

# Large records make a batch before there are ROWS of them.
_GATHERED_BYTES: Final = 16 * 1024 * 1024


class DataLoss(RuntimeError):
    """Offsets that were to be read are no longer there."""


def read_range(wanted: OffsetRange, schema: StructType, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """The rows of the range in the order of their offsets."""
    wanted = replace(wanted)  # it may shrink
    cluster = cluster_for(options.client)
    partition = TopicPartition(wanted.topic, wanted.partition)
    names = set(schema.fieldNames())
    builder = ColumnBuilder(keys="key" in names, values="value" in names, headers="headers" in names)
    maker = batch_maker(schema, *partition)
    for batch in _batches(cluster, partition, wanted, options):
        add_stored(builder, batch, partition, wanted.start, wanted.end)
        if builder.rows >= ROWS or builder.size_bytes >= _GATHERED_BYTES:
            yield from maker.batches(builder.take())
    if builder.rows:
        yield from maker.batches(builder.take())


def _batches(
    cluster: Cluster, partition: TopicPartition, wanted: OffsetRange, options: ReadOptions
) -> Iterator[Batch]:
    """The stored batches; goes on after a hole only where the user has said that holes do not matter."""
    fetch_options = FetchOptions(read_committed=options.read_committed, idle_seconds=options.patience_seconds)
    position = wanted.start
    while position < wanted.end:
        try:
            for batch in fetch(cluster, partition, position, wanted.end, fetch_options):
                position = batch.header.next_offset
                yield batch
            return
        except OffsetOutOfRange as error:
            if options.fail_on_data_loss:
                raise DataLoss(
                    f"offsets {position} to {wanted.end} of {partition} were to be read. {error}. Set "
                    "failOnDataLoss to false to go on with what is there"
                ) from error
            first = offsets.earliest(cluster, [partition], Deadline(options.patience_seconds))[partition]
            log.warning("%s: offsets %d to %d are gone and were skipped", partition, position, first)
            if first <= position:  # the log ends before what was to be read
                return
            # A stored batch may begin before the log does; what it holds from before counts as deleted.
            position = wanted.start = first
