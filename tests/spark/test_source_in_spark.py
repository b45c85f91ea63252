"""The source inside Spark: what a person sees when something is wrong, and what a running query shows."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from penstock.spark import lag
from penstock.testing.process import BrokerProcess

SECONDS = 60
on_our_broker = pytest.mark.parametrize("servers", ["penstock"], indirect=True)
PATIENCE = {"kafka.default.api.timeout.ms": "2000"}
LONGER_PATIENCE = {"kafka.default.api.timeout.ms": "8000"}
"""Enough for a broker to start again while other tests use the cores."""


def produce(servers: str, topic: str, count: int, partition: int = 0, value: bytes | None = None) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for number in range(count):
        producer.produce(topic, value or b"%d" % number, partition=partition)
    assert producer.flush(20) == 0


def read(spark: SparkSession, servers: str, topic: str, **options: str) -> DataFrame:
    reader = spark.read.format("penstock").option("kafka.bootstrap.servers", servers)
    return reader.options(subscribe=topic, **options).load()


def stream(spark: SparkSession, servers: str, topic: str, **options: str) -> DataFrame:
    reader = spark.readStream.format("penstock").option("kafka.bootstrap.servers", servers)
    return reader.options(**{"subscribe": topic, "startingOffsets": "earliest", **options}).load()


def run_now(rows: DataFrame, checkpoint: Path) -> list[Any]:
    """Everything there is, to a table in memory; the progress of the batches that had rows."""
    query = start(rows, checkpoint, availableNow=True)
    assert query.awaitTermination(SECONDS)
    return [progress for progress in query.recentProgress if progress["numInputRows"]]


def start(rows: DataFrame, checkpoint: Path, **trigger: Any) -> StreamingQuery:
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    return writer.trigger(**trigger).start()


def told(caught: pytest.ExceptionInfo[Any]) -> str:
    """The line that names our error: what a person reads first below Spark's own heading."""
    lines = [line for line in str(caught.value).splitlines() if re.match(r"\S*penstock\.\S+: ", line.strip())]
    assert lines, str(caught.value)
    return lines[-1]


@on_our_broker
def test_wrong_offsets_are_said_with_those_that_there_are(
    spark: SparkSession, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    produce(servers, topic, 3)
    wrong = f'{{"{topic}":{{"0":50}}}}'
    with pytest.raises(PySparkException) as caught:
        read(spark, servers, topic, startingOffsets=wrong).collect()
    assert f"offset 50 is given for {topic}-0, whose log begins at 0 and ends at 3" in told(caught)
    assert read(spark, servers, topic, startingOffsets=wrong, failOnDataLoss="false").count() == 0


@on_our_broker
def test_data_that_aged_out_between_two_runs_stops_the_query_unless_losses_do_not_matter(
    spark: SparkSession, servers: str, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = new_topic()
    produce(servers, topic, 5)
    run_now(stream(spark, servers, topic), tmp_path)
    produce(servers, topic, 10)
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.delete_records([Position(topic, 0, 12)]).values():
        future.result(20)
    with pytest.raises(StreamingQueryException) as caught:
        run_now(stream(spark, servers, topic), tmp_path)
    assert f"offsets 5 to 15 of {topic}-0 were to be read" in told(caught)
    assert "Set failOnDataLoss to false to go on with what is there" in told(caught)
    (progress,) = run_now(stream(spark, servers, topic, failOnDataLoss="false"), tmp_path)
    assert progress["numInputRows"] == 3


def test_a_broker_that_is_down_at_the_start_is_named_in_the_time_given(
    spark: SparkSession, tmp_path: Path
) -> None:
    began = time.monotonic()
    with pytest.raises(PySparkException) as caught:
        read(spark, "127.0.0.1:1", "t", **PATIENCE).collect()
    assert "no broker answers at 127.0.0.1:1" in told(caught)
    assert "is it running, and is this its address?" in told(caught)
    with pytest.raises(StreamingQueryException) as caught:
        run_now(stream(spark, "127.0.0.1:1", "t", **PATIENCE), tmp_path)
    assert "no broker answers at 127.0.0.1:1" in told(caught)
    assert time.monotonic() - began < 40


@pytest.fixture
def process(tmp_path: Path) -> Iterator[BrokerProcess]:
    broker = BrokerProcess(str(tmp_path / "data")).start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result(20)
    yield broker
    broker.kill()


def await_rows(query: StreamingQuery, count: int) -> None:
    end = time.monotonic() + SECONDS
    while sum(progress["numInputRows"] for progress in query.recentProgress) < count:
        assert query.isActive, query.exception()
        assert time.monotonic() < end, "the rows did not come"
        query.processAllAvailable()


def test_a_broker_that_goes_away_is_waited_for_and_then_named(
    spark: SparkSession, process: BrokerProcess, tmp_path: Path
) -> None:
    servers = process.bootstrap_servers
    produce(servers, "t", 5)
    query = start(stream(spark, servers, "t", **LONGER_PATIENCE), tmp_path / "c", processingTime="0 seconds")
    try:
        await_rows(query, 5)
        process.kill()
        process.start()
        produce(servers, "t", 5)
        await_rows(query, 10)
        process.kill()
        with pytest.raises(StreamingQueryException) as caught:
            query.awaitTermination(SECONDS)
        assert f"no broker answers at {servers}" in told(caught)
    finally:
        query.stop()


@on_our_broker
def test_an_unreadable_value_is_named_by_its_offset(
    spark: SparkSession, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    produce(servers, topic, 1, value=b'{"n": 1}')
    produce(servers, topic, 1, value=b"nonsense")
    options = {"valueFormat": "json", "valueSchema": '{"properties":{"n":{"type":"integer"}}}'}
    with pytest.raises(PySparkException) as caught:
        read(spark, servers, topic, **options).collect()
    assert f"the value at offset 1 of {topic}-0 cannot be decoded: JSON is malformed" in told(caught)
    rows = read(spark, servers, topic, onDecodeError="null", **options).select("value.n").collect()
    assert [row.n for row in rows] == [1, None]


@on_our_broker
def test_min_partitions_makes_more_tasks_and_offsets_restore_the_order(
    spark: SparkSession, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=2)
    produce(servers, topic, 500, 0)
    produce(servers, topic, 500, 1)
    rows = read(spark, servers, topic, minPartitions="7")
    assert rows.rdd.getNumPartitions() == 7
    found = sorted((row.partition, row.offset, int(row.value)) for row in rows.collect())
    assert found == [(partition, number, number) for partition in range(2) for number in range(500)]


@on_our_broker
def test_progress_tells_the_lag_and_is_seen_as_a_consumer_group(
    spark: SparkSession, servers: str, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic = new_topic()
    produce(servers, topic, 30)
    group = f"{topic}-query"
    limited = {"maxOffsetsPerTrigger": "20", "groupIdForOffsets": group}
    first, last = run_now(stream(spark, servers, topic, **limited), tmp_path)
    assert lag(first) == {f"{topic}-0": 10}
    assert lag(last) == {f"{topic}-0": 0}
    admin = AdminClient({"bootstrap.servers": servers})
    (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    assert [(p.partition, p.offset) for p in future.result(20).topic_partitions] == [(0, 30)]


@on_our_broker
def test_workers_keep_their_connections_from_task_to_task(
    spark: SparkSession, servers: str, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=2)
    produce(servers, topic, 200)
    before, tasks = connections(servers), 0
    for _ in range(3):
        tasks += 16
        assert read(spark, servers, topic, minPartitions="16").count() == 200
    opened = len(connections(servers) - before)
    assert opened < tasks / 4, f"{opened} connections for {tasks} tasks"


def connections(servers: str) -> set[str]:
    """Every connection to the broker that Linux remembers, those among them that were closed of late."""
    port = f":{int(servers.rpartition(':')[2]):04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    ends = [line.split()[1:3] for line in lines]
    return {client for client, broker in ends if broker.endswith(port)} | {
        client for broker, client in ends if broker.endswith(port) and not client.endswith(":0000")
    }
