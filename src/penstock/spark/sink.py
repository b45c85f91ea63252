"""Topics as a sink: rows in, acknowledged records out.

Columns, as in Spark's own Kafka sink: `value` (binary or string) and, where there are any, `key` (binary or
string), `topic` (string; the option `topic` wins), `partition` (int), `headers` (array of struct of key and
value) and `timestamp`. Others are left aside. Keyed records go to the partition that every Kafka producer
would choose.

The guarantee is at least once: a task that returns has every row acknowledged by all in-sync replicas, and
none of them twice; a task, or a batch, that Spark runs again after a failure writes its rows again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

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

from penstock.client.arrow.routing import Router
from penstock.spark.clusters import cluster_for
from penstock.spark.encoding import Encoding
from penstock.spark.options import OptionError, WriteOptions
from penstock.wire.produce import Producer, ProducerOptions

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
    cluster = cluster_for(options.client)
    producer = Producer(
        cluster, ProducerOptions(codec=options.codec, delivery_seconds=options.delivery_seconds)
    )
    router = Router(cluster, producer, options.topic, options.delivery_seconds)
    for batch in iterator:
        router.send(batch, columns)
    router.flush()
    return Written(producer.acknowledged)


class PenstockWriter(DataSourceArrowWriter):
    """`df.write.format("penstock")`: at least once."""

    def __init__(self, columns: frozenset[str], options: WriteOptions, encoding: Encoding) -> None:
        self._columns = columns
        self._options = options
        self._encoding = encoding

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write_rows(map(self._encoding.encode, iterator), self._columns, self._options)


class PenstockStreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream.format("penstock")`: at least once; a batch that fails is written again, whole."""

    def __init__(self, columns: frozenset[str], options: WriteOptions, encoding: Encoding) -> None:
        self._columns = columns
        self._options = options
        self._encoding = encoding

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write_rows(map(self._encoding.encode, iterator), self._columns, self._options)
