"""Arrow batches to batches of records, each row to its topic and partition.

The Spark sink and `Producer.send_arrow` call it; the exactly-once sink packs the same way before its shuffle
(`penstock.spark.sharding`). Rows are separated and packed column by column: a row never becomes a Python
object.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.pack import BinaryInput, HeaderInput, Packed, Packer, RecordColumns, partitions_of_keys
from penstock.wire.partitioner import StickyPartitioner
from penstock.wire.produce import BATCH_BYTES, BUFFER_BYTES, partition_count

Numbers = npt.NDArray[np.int32]

_NO_PARTITION = -(1 << 31)  # what no row can mean: -1 would be a mistake, and is reported


class UnusableRow(ValueError):
    """A row that names no topic, or a partition or time that no record can have."""


class Target:
    """A topic that rows go to."""

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self.sticky = StickyPartitioner(partitions)


class Addressed(NamedTuple):
    """Rows of one topic, by their numbers, and the partition of each."""

    topic: str
    target: Target
    rows: Numbers
    partitions: Numbers


class Targets:
    """Says of each row where it belongs."""

    def __init__(self, cluster: Cluster, topic: str | None, delivery_seconds: float) -> None:
        """Without a topic each row names its own, in the column topic."""
        self._cluster = cluster
        self._topic = topic
        self._delivery_seconds = delivery_seconds
        self._known: dict[str, Target] = {}

    def address(
        self, batch: pa.RecordBatch, columns: frozenset[str], key: BinaryInput | None
    ) -> Iterator[Addressed]:
        """The rows of `batch` by their topic, in the order in which they stand."""
        named = _named_partitions(batch) if "partition" in columns else None
        for topic, rows in self._by_topic(batch):
            target = self._target(topic)
            if named is None:
                partitions = _free_partitions(target, batch.num_rows, key)[rows]
            else:
                partitions = _checked(topic, target, named[rows])
                if (partitions == _NO_PARTITION).any():
                    free = _free_partitions(target, batch.num_rows, key)[rows]
                    partitions = np.where(partitions == _NO_PARTITION, free, partitions)
            yield Addressed(topic, target, rows, partitions)

    def _by_topic(self, batch: pa.RecordBatch) -> Iterator[tuple[str, Numbers]]:
        if self._topic is not None:
            yield self._topic, np.arange(batch.num_rows, dtype=np.int32)
            return
        topics = batch.column("topic")
        if topics.null_count:
            raise UnusableRow("a row has no topic: its column topic is null, and no topic is set")
        encoded = topics.dictionary_encode()
        for number, rows in _grouped(encoded.indices.to_numpy(), np.arange(batch.num_rows, dtype=np.int32)):
            yield encoded.dictionary[number].as_py(), rows

    def _target(self, topic: str) -> Target:
        target = self._known.get(topic)
        if target is None:
            count = partition_count(self._cluster, topic, Deadline(self._delivery_seconds))
            target = self._known[topic] = Target(count)
        return target


class Outlet(Protocol):
    """Where packed batches go: a `Producer`, or what stands for one."""

    def send(self, partition: TopicPartition, packed: Packed, /) -> None: ...

    def flush(self) -> None: ...


class Router:
    """Sends each row where it belongs. The rows of one partition stay in the order in which they came."""

    def __init__(
        self, cluster: Cluster, producer: Outlet, topic: str | None, delivery_seconds: float
    ) -> None:
        self._producer = producer
        self._targets = Targets(cluster, topic, delivery_seconds)
        self._packers: dict[TopicPartition, Packer] = {}

    def send(self, batch: pa.RecordBatch, columns: frozenset[str]) -> None:
        """Take the rows of `batch`; `columns` names those of its columns that count."""
        if not batch.num_rows:
            return
        fields = record_columns(batch, columns)
        for topic, target, rows, partitions in self._targets.address(batch, columns, fields.key):
            for partition, chosen in _grouped(partitions, rows):
                filled = self._pack(TopicPartition(topic, partition), fields, chosen)
                if filled and partition == target.sticky.partition:
                    target.sticky.switch()
        if sum(packer.size_bytes for packer in self._packers.values()) > BUFFER_BYTES:
            self.hand_over()

    def flush(self) -> None:
        """On return the outlet has everything, and is flushed: with a producer, acknowledged."""
        self.hand_over()
        self._producer.flush()

    def hand_over(self) -> None:
        """Give the outlet what is packed, full or not."""
        for partition, packer in self._packers.items():
            if packer.count:
                self._producer.send(partition, packer.take())

    def _pack(self, partition: TopicPartition, fields: RecordColumns, rows: Numbers) -> bool:
        """Pack the rows; whether a batch became full."""
        packer = self._packers.get(partition)
        if packer is None:
            packer = self._packers[partition] = Packer(BATCH_BYTES)
        filled = False
        position = packer.add(fields, rows.data)
        while position < len(rows):
            self._producer.send(partition, packer.take())
            filled = True
            position = packer.add(fields, rows.data, position)
        return filled


def record_columns(batch: pa.RecordBatch, columns: frozenset[str]) -> RecordColumns:
    """The columns of an Arrow batch, their buffers as they are."""
    return RecordColumns(
        rows=batch.num_rows,
        timestamps_ms=_timestamps(batch, columns),
        key=binary_input(batch.column("key")) if "key" in columns else None,
        value=binary_input(batch.column("value")),
        headers=_headers(batch.column("headers")) if "headers" in columns else None,
    )


def _timestamps(batch: pa.RecordBatch, columns: frozenset[str]) -> memoryview:
    now_ms = time.time_ns() // 1_000_000
    if "timestamp" not in columns:
        return np.full(batch.num_rows, now_ms, dtype=np.int64).data
    times = batch.column("timestamp").cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64())
    known = np.ascontiguousarray(times.fill_null(now_ms).to_numpy(zero_copy_only=False), dtype=np.int64)
    if len(known) and known.min() < 0:
        raise UnusableRow(
            f"a row has the timestamp {known.min()} ms, which is before 1970: a record cannot have it"
        )
    return known.data


def binary_input(array: pa.Array) -> BinaryInput:
    column = array.cast(pa.binary())
    validity, offsets, data = column.buffers()
    return BinaryInput(offsets, b"" if data is None else data, validity, column.offset)


def _headers(array: pa.ListArray) -> HeaderInput:
    validity, offsets = array.buffers()[:2]
    keys, values = array.values.flatten()
    return HeaderInput(offsets, validity, binary_input(keys), binary_input(values), array.offset)


def _free_partitions(target: Target, rows: int, key: BinaryInput | None) -> Numbers:
    """The partition of each row that names none: by its key, or the one that is stuck to."""
    sticky = target.sticky.partition
    if key is None:
        return np.full(rows, sticky, dtype=np.int32)
    return np.frombuffer(partitions_of_keys(key, rows, target.partitions, sticky), dtype=np.int32)


def _named_partitions(batch: pa.RecordBatch) -> Numbers:
    """The partition that each row names, or none."""
    named = batch.column("partition").fill_null(_NO_PARTITION).to_numpy(zero_copy_only=False)
    return np.asarray(named, dtype=np.int32)


def _checked(topic: str, target: Target, named: Numbers) -> Numbers:
    wrong = named[(named != _NO_PARTITION) & ((named < 0) | (named >= target.partitions))]
    if len(wrong):
        raise UnusableRow(
            f"a row names partition {wrong[0]} of topic {topic!r}, which has {target.partitions}"
        )
    return named


def _grouped(labels: Numbers, rows: Numbers) -> Iterator[tuple[int, Numbers]]:
    """`rows` by their label, in the order in which they stand."""
    order = np.argsort(labels, kind="stable")
    sorted_labels = labels[order]
    edges = np.flatnonzero(np.diff(sorted_labels)) + 1
    for part in np.split(order, edges):
        yield int(labels[part[0]]), np.ascontiguousarray(rows[part])
