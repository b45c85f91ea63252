"""The sink without Spark around it: Arrow batches in, records out, read back by the source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from penstock.spark.datasource import PenstockDataSource
from penstock.spark.options import OptionError
from penstock.wire.errors import DeliveryFailed
from penstock.wire.partitioner import partition_for_key

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
MICROS = pa.timestamp("us", "UTC")
NOW = 1_700_000_000_000
TYPES: dict[str, DataType] = {
    "string": StringType(),
    "binary": BinaryType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "timestamp": TimestampType(),
    "headers": ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
}


def fields(text: str) -> StructType:
    """`"key binary, value string"` as a schema."""
    pairs = (part.split() for part in text.split(","))
    return StructType([StructField(name, TYPES[kind]) for name, kind in pairs])


def write(servers: str, schema: str, *batches: pa.RecordBatch, **options: str) -> int:
    source = PenstockDataSource({"kafka.bootstrap.servers": servers, **options})
    return source.writer(fields(schema), overwrite=False).write(iter(batches)).records


def read(servers: str, topic: str) -> list[dict[str, Any]]:
    options = {"kafka.bootstrap.servers": servers, "subscribe": topic, "includeHeaders": "true"}
    source = PenstockDataSource(options)
    reader = source.reader(source.schema())
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_rows_become_records_with_all_their_columns(
    servers: str, new_topic: Callable[..., str], codec: str
) -> None:
    topic = new_topic(partitions=3)
    batch = pa.record_batch(
        {
            "topic": pa.array([topic] * 3),
            "key": pa.array([b"a", None, b"c"], pa.binary()),
            "value": pa.array(["one", "two", None]),
            "partition": pa.array([2, 2, 2], pa.int32()),
            "headers": pa.array([[{"key": "h", "value": b"1"}], [], None], HEADERS),
            "timestamp": pa.array([NOW, NOW + 1, None], pa.timestamp("ms")).cast(
                pa.timestamp("us", tz="UTC")
            ),
            "other": pa.array([1, 2, 3]),
        }
    )
    schema = (
        "topic string, key binary, value string, partition int, "
        "headers headers, timestamp timestamp, other bigint"
    )
    assert write(servers, schema, batch, **{"kafka.compression.type": codec}) == 3
    found = read(servers, topic)
    assert [row["key"] for row in found] == [b"a", None, b"c"]
    assert [row["value"] for row in found] == [b"one", b"two", None]
    assert [row["partition"] for row in found] == [2, 2, 2]
    assert [row["headers"] for row in found] == [[{"key": "h", "value": b"1"}], [], []]
    assert [row["timestamp"].timestamp() * 1000 for row in found[:2]] == [NOW, NOW + 1]


def test_keys_go_where_every_producer_sends_them_and_order_within_a_key_is_kept(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=4)
    keys = [b"key-%d" % (number % 10) for number in range(2000)]
    values = [b"%d" % number for number in range(2000)]
    batch = pa.record_batch({"key": pa.array(keys), "value": pa.array(values)})
    assert write(servers, "key binary, value binary", batch, topic=topic) == 2000
    found = read(servers, topic)
    assert len(found) == 2000
    assert all(row["partition"] == partition_for_key(row["key"], 4) for row in found)
    for key in set(keys):
        numbers = [int(row["value"]) for row in found if row["key"] == key]
        assert numbers == sorted(numbers)


def test_records_without_a_key_go_in_whole_batches(servers: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=4)
    batch = pa.record_batch({"value": pa.array([b"x"] * 100)})
    write(servers, "value binary", batch, topic=topic)
    assert len({row["partition"] for row in read(servers, topic)}) == 1


def test_slices_of_arrow_batches_are_written_as_they_look(
    servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    whole = pa.record_batch(
        {"key": pa.array(["a", None, "c", "d"]), "value": pa.array(["1", "2", None, "4"])}
    )
    write(servers, "key string, value string", whole.slice(1, 2), topic=topic)
    assert [(row["key"], row["value"]) for row in read(servers, topic)] == [(None, b"2"), (b"c", None)]


def test_the_option_topic_wins_over_the_column(servers: str, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    batch = pa.record_batch({"topic": pa.array([None], pa.string()), "value": pa.array([b"x"])})
    assert write(servers, "topic string, value binary", batch, topic=topic) == 1
    assert len(read(servers, topic)) == 1


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"topic": pa.array([None], pa.string())}, "a row has no topic"),
        ({"topic": pa.array(["{topic}"]), "partition": pa.array([9], pa.int32())}, "names partition 9"),
        ({"topic": pa.array(["{topic}"]), "partition": pa.array([-1], pa.int32())}, "names partition -1"),
        (
            {"topic": pa.array(["{topic}"]), "timestamp": pa.array([-5000], MICROS)},
            "-5 ms, which is before 1970",
        ),
        (
            {"topic": pa.array(["{topic}"]), "headers": pa.array([[{"key": None, "value": b""}]], HEADERS)},
            "header without a key",
        ),
    ],
)
def test_rows_that_cannot_be_sent_fail_the_task(
    servers: str, new_topic: Callable[..., str], columns: dict[str, pa.Array], sentence: str
) -> None:
    topic = new_topic()
    if columns["topic"][0].as_py():
        columns = {**columns, "topic": pa.array([topic])}
    batch = pa.record_batch({**columns, "value": pa.array([b"x"])})
    types = {"topic": "string", "partition": "int", "headers": "headers", "timestamp": "timestamp"}
    schema = ", ".join(f"{name} {types[name]}" for name in columns) + ", value binary"
    with pytest.raises(ValueError, match=sentence):
        write(servers, schema, batch)


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ("key binary", "no column value"),
        ("value bigint", "column value is bigint: cast it to binary or string"),
        ("value binary, headers string", "column headers is string"),
        ("value binary, partition bigint", "column partition is bigint: cast it to int"),
    ],
)
def test_columns_that_cannot_be_written_are_refused_before_anything_runs(schema: str, sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        write("127.0.0.1:1", schema, topic="t")


def test_a_topic_must_be_named_and_cannot_be_overwritten() -> None:
    source = PenstockDataSource({"kafka.bootstrap.servers": "127.0.0.1:1"})
    with pytest.raises(OptionError, match="set the option topic"):
        source.writer(fields("value binary"), overwrite=False)
    with pytest.raises(OptionError, match=r"cannot be overwritten.*append"):
        source.writer(fields("value binary"), overwrite=True)


def test_a_broker_that_is_not_there_fails_in_the_time_given() -> None:
    batch = pa.record_batch({"value": pa.array([b"x"]), "partition": pa.array([0], pa.int32())})
    options = {"topic": "t", "kafka.delivery.timeout.ms": "200"}
    with pytest.raises(Exception, match=r"no broker answers at 127\.0\.0\.1:1") as caught:
        write("127.0.0.1:1", "value binary, partition int", batch, **options)
    assert not isinstance(caught.value, DeliveryFailed)  # it failed before anything was sent
