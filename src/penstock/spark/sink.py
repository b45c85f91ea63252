"""Topics as a sink: rows in, acknowledged records out.

Columns, as in Spark's own Kafka sink: `value` (binary or string) and, where there are any, `key` (binary or
string), `topic` (string; the option `topic` wins), `partition` (int), `headers` (array of struct of key and
value) and `timestamp`. Others are left aside. Keyed records go to the partition that every Kafka producer
would choose.

The guarantee is at least once: a task that returns has every row acknowledged by all in-sync replicas, and
none of them twice; a task, or a batch, that Spark runs again after a failure writes its rows again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from penstock.records.record import Record
from penstock.spark.clusters import cluster_for
from penstock.spark.options import OptionError, WriteOptions
from penstock.wire.cluster import Cluster, TopicPartition
from penstock.wire.deadline import Deadline
from penstock.wire.partitioner import StickyPartitioner, partition_for_key
from penstock.wire.produce import Producer, ProducerOptions, partition_count

_HEADERS: Final = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
_BYTES: Final = (BinaryType(), StringType())
_ALLOWED: Final[dict[str, tuple[DataType, ...]]] = {
    "topic": (StringType(),),
    "key": _BYTES,
    "value": _BYTES,
    "partition": (IntegerType(),),
    "timestamp": (TimestampType(),),
}


@dataclass
class Written(WriterCommitMessage):
    """How many records a task has written."""

    records: int


def checked_columns(schema: StructType, options: WriteOptions) -> frozenset[str]:
    """The columns that mean something to the sink, their types checked before anything runs."""
    types = {field.name: field.dataType for field in schema}
    if "value" not in types:
        raise OptionError(f"the rows have no column value: there are {', '.join(types) or 'none'}")
    if options.topic is None and "topic" not in types:
        raise OptionError("say where to: set the option topic, or give the rows a column topic")
    for name, allowed in _ALLOWED.items():
        if name in types and types[name] not in allowed:
            wanted = " or ".join(kind.simpleString() for kind in allowed)
            raise OptionError(f"column {name} is {types[name].simpleString()}: cast it to {wanted}")
    headers = types.get("headers")
    if headers is not None and headers.simpleString() != _HEADERS.simpleString():
        raise OptionError(f"column headers is {headers.simpleString()}: make it {_HEADERS.simpleString()}")
    used = {*_ALLOWED, "headers"} & types.keys()
    return frozenset(used - {"topic"} if options.topic is not None else used)


def write_rows(iterator: Iterator[pa.RecordBatch], columns: frozenset[str], options: WriteOptions) -> Written:
    """What one task does: everything acknowledged on return, an exception otherwise."""
    cluster = cluster_for(options.bootstrap_servers, options.client_id)
    producer = Producer(
        cluster, ProducerOptions(codec=options.codec, delivery_seconds=options.delivery_seconds)
    )
    router = _Router(cluster, producer, options)
    for batch in iterator:
        router.send(batch, columns)
    producer.flush()
    return Written(producer.acknowledged)


class _Router:
    """Sends each row where it belongs."""

    def __init__(self, cluster: Cluster, producer: Producer, options: WriteOptions) -> None:
        self._cluster = cluster
        self._producer = producer
        self._options = options
        self._counts: dict[str, int] = {}
        self._sticky: dict[str, StickyPartitioner] = {}

    def send(self, batch: pa.RecordBatch, columns: frozenset[str]) -> None:
        rows = batch.num_rows
        nothing = [None] * rows
        now_ms = time.time_ns() // 1_000_000
        # With the option topic there is no column topic among `columns`.
        topics = _values(batch, "topic") if "topic" in columns else [self._options.topic] * rows
        keys = _bytes(batch, "key") if "key" in columns else nothing
        partitions = _values(batch, "partition") if "partition" in columns else nothing
        headers = _values(batch, "headers") if "headers" in columns else nothing
        times = _milliseconds(batch) if "timestamp" in columns else nothing
        for topic, key, value, number, pairs, stamp in zip(
            topics, keys, _bytes(batch, "value"), partitions, headers, times, strict=True
        ):
            if topic is None:
                raise OptionError("a row has no topic: its column topic is null, and the option is not set")
            record = Record(key, value, _header_pairs(pairs), now_ms if stamp is None else stamp)
            target = TopicPartition(topic, self._partition(topic, key, number))
            if self._producer.send(target, record) and key is None and number is None:
                self._sticky[topic].switch()

    def _partition(self, topic: str, key: bytes | None, number: int | None) -> int:
        if topic not in self._counts:
            deadline = Deadline(self._options.delivery_seconds)
            self._counts[topic] = partition_count(self._cluster, topic, deadline)
            self._sticky[topic] = StickyPartitioner(self._counts[topic])
        count = self._counts[topic]
        if number is not None:
            if not 0 <= number < count:
                raise OptionError(f"a row names partition {number} of topic {topic!r}, which has {count}")
            return number
        return self._sticky[topic].partition if key is None else partition_for_key(key, count)


def _values(batch: pa.RecordBatch, name: str) -> list[Any]:
    return batch.column(name).to_pylist()


def _bytes(batch: pa.RecordBatch, name: str) -> list[bytes | None]:
    return batch.column(name).cast(pa.binary()).to_pylist()


def _milliseconds(batch: pa.RecordBatch) -> list[int | None]:
    return (
        batch.column("timestamp").cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64()).to_pylist()
    )


def _header_pairs(pairs: list[dict[str, Any]] | None) -> tuple[tuple[str, bytes | None], ...]:
    if not pairs:
        return ()
    if any(pair["key"] is None for pair in pairs):
        raise OptionError("a row has a header without a key")
    return tuple((pair["key"], pair["value"]) for pair in pairs)


class PenstockWriter(DataSourceArrowWriter):
    """`df.write.format("penstock")`: at least once."""

    def __init__(self, columns: frozenset[str], options: WriteOptions) -> None:
        self._columns = columns
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write_rows(iterator, self._columns, self._options)


class PenstockStreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream.format("penstock")`: at least once; a batch that fails is written again, whole."""

    def __init__(self, columns: frozenset[str], options: WriteOptions) -> None:
        self._columns = columns
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write_rows(iterator, self._columns, self._options)
