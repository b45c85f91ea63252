"""Topics as a source: which offsets a batch reads, and how they are split among tasks.

Offsets are kept in a checkpoint as Spark's own Kafka source writes them: `{"topic": {"0": 23, "1": 4}}`,
always in the same order, because Spark compares their text. The reading itself is `penstock.spark.reading`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.clusters import cluster_for
from penstock.spark.decoding import Decoding
from penstock.spark.discovery import Found, TopicIds, discover, look_again
from penstock.spark.limits import Minimum, OffsetRange, Offsets, limited, split
from penstock.spark.options import ReadOptions
from penstock.spark.reading import DataLoss, read_range
from penstock.wire import group_offsets, offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError

log = logging.getLogger(__name__)

# Lag and group offsets are for people to look at: the query does not wait long for them.
REPORT_SECONDS: Final = 5.0

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


def _read(
    partition: OffsetRange, schema: StructType, options: ReadOptions, decodings: Sequence[Decoding]
) -> Iterator[pa.RecordBatch]:
    if decodings:
        from penstock.spark.decoded_reading import read_decoded  # few queries need it

        return read_decoded(partition, schema, options, decodings)
    return read_range(partition, schema, options)


class PenstockReader(DataSourceReader):
    """`spark.read`: from the starting to the ending offsets, both settled when the query is planned."""

    def __init__(self, schema: StructType, options: ReadOptions, decodings: Sequence[Decoding] = ()) -> None:
        self._schema = schema
        self._options = options
        self._decodings = tuple(decodings)

    def partitions(self) -> list[InputPartition]:
        options = self._options
        cluster = cluster_for(options.client)
        deadline = Deadline(options.patience_seconds)
        partitions = discover(cluster, options, deadline).partitions
        strict, committed = options.fail_on_data_loss, options.read_committed
        start = options.starting.resolve(cluster, partitions, deadline, strict=strict)
        end = options.ending.resolve(cluster, partitions, deadline, read_committed=committed, strict=strict)
        ranges = [OffsetRange(*partition, start[partition], end[partition]) for partition in partitions]
        return list(split(ranges, options.min_partitions, options.max_records_per_partition))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, OffsetRange):  # Spark makes a partition of its own when we have none
            return iter(())
        return _read(partition, self._schema, self._options, self._decodings)


class PenstockStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`spark.readStream`. Lives in one Python process as long as the query; `read` runs in the tasks."""

    def __init__(self, schema: StructType, options: ReadOptions, decodings: Sequence[Decoding] = ()) -> None:
        self._schema = schema
        self._options = options
        self._decodings = tuple(decodings)
        self._last_offsets: Offsets | None = None
        """Where an available-now query ends; None in any other."""
        self._shown: OffsetJson | None = None
        """What was last committed for the consumer group."""
        self._topic_ids = TopicIds()
        self._anew: tuple[OffsetJson, set[str]] = ({}, set())
        """The start of a batch, and the topics that were created anew before it: it reads them from their
        beginning."""
        least = options.min_offsets_per_trigger
        self._minimum = None if least is None else Minimum(least, options.max_trigger_delay_seconds)

    def initialOffset(self) -> OffsetJson:  # noqa: N802
        cluster, deadline = self._cluster(), self._deadline()
        found = discover(cluster, self._options, deadline)
        self._topic_ids.changed(found.topic_ids)
        strict, committed = self._options.fail_on_data_loss, self._options.read_committed
        return to_json(
            self._options.starting.resolve(
                cluster, found.partitions, deadline, read_committed=committed, strict=strict
            )
        )

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        found = self._look()
        self._topic_ids.changed(found.topic_ids)
        self._last_offsets = self._ends(found)

    def latestOffset(self, start: OffsetJson, limit: ReadLimit) -> OffsetJson:  # noqa: N802
        self._show(
            start
        )  # Spark asks for the next batch when all before are done, and never commits the last
        if self._last_offsets is None:
            found = self._look()
            self._notice_anew(start, found)
            end = self._ends(found)
        else:
            end = dict(self._last_offsets)
        begin = self._begin(start)
        for partition in begin.keys() - end.keys():
            self._lost(f"{partition} was read up to offset {begin[partition]} and does not exist any more")
            end[partition] = begin[partition]
        for partition in begin.keys() & end.keys():
            if end[partition] < begin[partition]:
                self._lost(
                    f"{partition} was read up to offset {begin[partition]} and ends at {end[partition]} now: "
                    "it was truncated, or its topic was created anew"
                )
        if not isinstance(limit, ReadMaxRows) and self._minimum is None:
            return to_json(end)
        known = begin | self._first_offsets(end.keys() - begin.keys())
        # An available-now query takes what there is: it would wait for ever for more.
        if self._minimum is not None and self._last_offsets is None:
            available = sum(max(0, offset - known[partition]) for partition, offset in end.items())
            if not self._minimum.reached(available):
                return start
        return to_json(self.limited(known, end, limit.max_rows) if isinstance(limit, ReadMaxRows) else end)

    def limited(self, start: Mapping[TopicPartition, int], end: Offsets, limit: int) -> Offsets:
        """Where a batch of about `limit` offsets ends: every partition gets its share by its backlog."""
        return limited(start, end, limit)

    def reportLatestOffset(self) -> OffsetJson | None:  # noqa: N802
        """The ends now, for the lag in the query's progress; a broker that is away fails no query here."""
        try:
            deadline = Deadline(min(REPORT_SECONDS, self._options.patience_seconds))
            return to_json(self._ends(self._look(deadline), deadline))
        except (WireError, DataLoss) as error:
            log.warning("the lag is not known: %s", error)
            return None

    def partitions(self, start: OffsetJson, end: OffsetJson) -> Sequence[InputPartition]:
        begin, finish = self._begin(start), from_json(end)
        # New partitions are read from their beginning, and so are those whose topic was created anew.
        anew = [p for p, offset in finish.items() if p not in begin or offset < begin[p]]
        begin |= self._first_offsets(anew)
        ranges = [OffsetRange(*partition, begin[partition], end) for partition, end in sorted(finish.items())]
        return split(ranges, self._options.min_partitions, self._options.max_records_per_partition)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, OffsetRange), partition
        return _read(partition, self._schema, self._options, self._decodings)

    def commit(self, end: OffsetJson) -> None:
        self._show(end)

    def _show(self, done: OffsetJson) -> None:
        """Commit `done` for the group that shows the progress. The query's own place is in the checkpoint."""
        group = self._options.group_id_for_offsets
        if group is None or done == self._shown:
            return
        self._shown = done
        try:
            deadline = Deadline(min(REPORT_SECONDS, self._options.patience_seconds))
            group_offsets.commit(self._cluster(), group, from_json(done), deadline)
        except WireError as error:
            if not error.retriable:
                raise
            log.warning("group %r does not show where the query is: %s", group, error)

    def stop(self) -> None:
        self._cluster().close()

    def _cluster(self) -> Cluster:
        return cluster_for(self._options.client)

    def _deadline(self) -> Deadline:
        return Deadline(self._options.patience_seconds)

    def _look(self, deadline: Deadline | None = None) -> Found:
        found = look_again(self._cluster(), self._options, deadline or self._deadline())
        if found.missing:
            self._lost(
                f"{found.missing[0]} does not exist at {self._options.client.bootstrap_servers} any more"
            )
        return found

    def _ends(self, found: Found, deadline: Deadline | None = None) -> Offsets:
        committed = self._options.read_committed
        return offsets.latest(
            self._cluster(), found.partitions, deadline or self._deadline(), read_committed=committed
        )

    def _notice_anew(self, start: OffsetJson, found: Found) -> None:
        topics = self._topic_ids.changed(found.topic_ids)
        for topic in sorted(topics):
            self._lost(f"topic {topic!r} was deleted and created anew since it was read")
        before, known = self._anew
        self._anew = (start, topics | (known if before == start else set()))

    def _begin(self, start: OffsetJson) -> Offsets:
        """Where the batch begins; without the topics that were created anew, whose offsets mean nothing."""
        before, topics = self._anew
        begin = from_json(start)
        return {p: at for p, at in begin.items() if p.topic not in topics} if before == start else begin

    def _first_offsets(self, partitions: Sequence[TopicPartition] | set[TopicPartition]) -> Offsets:
        if not partitions:
            return {}
        return offsets.earliest(self._cluster(), list(partitions), self._deadline())

    def _lost(self, what: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLoss(f"{what}. Set failOnDataLoss to false to go on with what is there")
        log.warning("%s; going on with what is there", what)
