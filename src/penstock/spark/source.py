"""Topics as a source: which offsets a batch reads, and how they are split among tasks.

Offsets are kept in a checkpoint as Spark's own Kafka source writes them: `{"topic": {"0": 23, "1": 4}}`,
always in the same order, because Spark compares their text. The reading itself is `penstock.spark.reading`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from penstock.spark.clusters import cluster_for
from penstock.spark.discovery import discover, look_again
from penstock.spark.options import ReadOptions
from penstock.spark.reading import METADATA_SECONDS, DataLoss, OffsetRange, read_range
from penstock.wire import offsets
from penstock.wire.cluster import Cluster, TopicPartition
from penstock.wire.deadline import Deadline

log = logging.getLogger(__name__)

Offsets = dict[TopicPartition, int]
OffsetJson = dict[str, dict[str, int]]


def to_json(positions: Mapping[TopicPartition, int]) -> OffsetJson:
    written: OffsetJson = {}
    for (topic, partition), offset in sorted(positions.items()):
        written.setdefault(topic, {})[str(partition)] = offset
    return written


def from_json(written: Mapping[str, Mapping[str, int]]) -> Offsets:
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, partitions in written.items()
        for partition, offset in partitions.items()
    }


def limited(start: Offsets, end: Offsets, limit: int) -> Offsets:
    """About `limit` offsets after `start`, shared out by how much each partition has; none starves."""
    sizes = {partition: max(0, end[partition] - start[partition]) for partition in end}
    total = sum(sizes.values())
    if total <= limit:
        return end
    shared = {}
    for partition, size in sizes.items():
        share = limit * size / total
        step = math.ceil(share) if share < 1 else math.floor(share)
        shared[partition] = min(end[partition], start[partition] + step) if size else end[partition]
    return shared


class PenstockReader(DataSourceReader):
    """`spark.read`: from the starting to the ending offsets, both settled when the query is planned."""

    def __init__(self, schema: StructType, options: ReadOptions) -> None:
        self._schema = schema
        self._options = options

    def partitions(self) -> list[InputPartition]:
        options = self._options
        cluster = cluster_for(options.bootstrap_servers, options.client_id)
        deadline = Deadline(METADATA_SECONDS)
        partitions = discover(cluster, options, deadline)
        start = options.starting.resolve(cluster, partitions, deadline)
        end = options.ending.resolve(cluster, partitions, deadline, read_committed=options.read_committed)
        return [
            OffsetRange(*partition, start[partition], end[partition])
            for partition in partitions
            if start[partition] < end[partition]
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, OffsetRange):  # Spark makes a partition of its own when we have none
            return iter(())
        return read_range(partition, self._schema, self._options)


class PenstockStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`spark.readStream`. Lives in one Python process as long as the query; `read` runs in the tasks."""

    def __init__(self, schema: StructType, options: ReadOptions) -> None:
        self._schema = schema
        self._options = options
        self._last_offsets: Offsets | None = None
        """Where an available-now query ends; None in any other."""

    def initialOffset(self) -> OffsetJson:  # noqa: N802
        cluster, deadline = self._cluster(), Deadline(METADATA_SECONDS)
        partitions = discover(cluster, self._options, deadline)
        return to_json(
            self._options.starting.resolve(
                cluster, partitions, deadline, read_committed=self._options.read_committed
            )
        )

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._last_offsets = self._ends()

    def latestOffset(self, start: OffsetJson, limit: ReadLimit) -> OffsetJson:  # noqa: N802
        begin = from_json(start)
        end = self._ends() if self._last_offsets is None else dict(self._last_offsets)
        for partition in begin.keys() - end.keys():
            self._lost(f"{partition} was read up to offset {begin[partition]} and does not exist any more")
            end[partition] = begin[partition]
        for partition in begin.keys() & end.keys():
            if end[partition] < begin[partition]:
                self._lost(
                    f"{partition} was read up to offset {begin[partition]} and ends at {end[partition]} now: "
                    "it was truncated, or its topic was created anew"
                )
        if isinstance(limit, ReadMaxRows):
            begin |= self._first_offsets(end.keys() - begin.keys())
            end = limited(begin, end, limit.max_rows)
        return to_json(end)

    def reportLatestOffset(self) -> OffsetJson:  # noqa: N802
        return to_json(self._ends())

    def partitions(self, start: OffsetJson, end: OffsetJson) -> Sequence[InputPartition]:
        begin, finish = from_json(start), from_json(end)
        # New partitions are read from their beginning, and so are those whose topic was created anew.
        anew = [p for p, offset in finish.items() if p not in begin or offset < begin[p]]
        begin |= self._first_offsets(anew)
        return [
            OffsetRange(*partition, begin[partition], offset)
            for partition, offset in sorted(finish.items())
            if begin[partition] < offset
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, OffsetRange), partition
        return read_range(partition, self._schema, self._options)

    def stop(self) -> None:
        self._cluster().close()

    def _cluster(self) -> Cluster:
        return cluster_for(self._options.bootstrap_servers, self._options.client_id)

    def _ends(self) -> Offsets:
        cluster, deadline = self._cluster(), Deadline(METADATA_SECONDS)
        partitions, missing = look_again(cluster, self._options, deadline)
        if missing:
            self._lost(f"{missing[0]} does not exist at {self._options.bootstrap_servers} any more")
        return offsets.latest(cluster, partitions, deadline, read_committed=self._options.read_committed)

    def _first_offsets(self, partitions: Sequence[TopicPartition] | set[TopicPartition]) -> Offsets:
        if not partitions:
            return {}
        return offsets.earliest(self._cluster(), list(partitions), Deadline(METADATA_SECONDS))

    def _lost(self, what: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLoss(f"{what}. Set failOnDataLoss to false to go on with what is there")
        log.warning("%s; going on with what is there", what)
