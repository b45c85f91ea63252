"""What Kafka Streams' own test driver gave, through broker and Spark: each update, in order, with its time.

Records of several topics are taken by their times, so a batch ends where the golden took them in another
order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from penstock.plan.nodes import Source
from penstock.plan.raw_records import RawRecord, merged
from penstock.protocol.topic_partition import TopicPartition as WireTopicPartition
from penstock.records.record import Record
from penstock.streams import Application, Topology
from penstock.testing import Broker
from penstock.wire.cluster import Cluster
from penstock.wire.pack import pack_records
from penstock.wire.produce import Producer
from tests.golden.streams.topologies import build
from tests.peers.topic_reader import read_topic

GOLDEN = Path(__file__).parents[2] / "golden" / "streams"
PATIENCE_SECONDS = 280
SHORT = [
    ("sessions with grace suppressed", "late records"),
    ("stream outer join", "two topics"),
]
LONG = [
    ("group by, named", "late records"),
    ("split", "late records"),
    ("hopping aggregate", "late records"),
    ("table group aggregate", "late records"),
    ("processor with store", "late records"),
    ("table left join", "two topics"),
    ("global table join", "two topics"),
    ("repartition", "tidy records"),
    ("aggregate to null", "late records"),
    ("tumbling with grace count", "late records"),
    ("tumbling at close", "late records"),
    ("sliding with grace aggregate", "late records"),
    ("suppress, then group", "late records"),
    ("processor with windows", "late records"),
    ("processor with sessions", "far-off records"),
    ("stream left join with grace", "two busy topics"),
    ("stream table join", "two busy topics"),
    ("table outer join", "two busy topics"),
    ("windowed cogroup", "two busy topics"),
    ("versioned table join", "two topics"),
    ("foreign key join", "foreign rows"),
    ("foreign key left join", "foreign rows"),
]


def batches(inputs: list[list[Any]], *, singly: bool, apart: bool) -> Iterator[list[list[Any]]]:
    """The inputs in the fewest batches that take them in the order in which they stand; those of each topic
    apart where one is a global table, which a batch sees as it is when the batch begins."""
    batch: list[list[Any]] = []
    for record in inputs:
        longer = [*batch, record]
        raw = [
            RawRecord(topic, 0, at, time, None, b"%d" % at)
            for at, (topic, _, _, time, *_) in enumerate(longer)
        ]
        raw.sort(key=lambda one: one.topic)  # equally old heads are taken by their topics' names
        changed = batch and batch[-1][0] != record[0]
        if batch and (
            singly or (apart and changed) or [one.offset for one in merged(raw)] != list(range(len(longer)))
        ):
            yield batch
            longer = [record]
        batch = longer
    yield batch


def through_spark(
    spark: SparkSession, topology: Topology, inputs: list[list[Any]], place: Path, *, singly: bool
) -> Any:
    apart = any(source.is_global for _, source in topology.plan.sources)
    sources = [node.operation for node in topology.plan.nodes if isinstance(node.operation, Source)]
    inputs = [record for record in inputs if any(source.reads(record[0]) for source in sources)]
    with Broker(settings={"group.initial.rebalance.delay.ms": "0"}) as broker:
        servers = broker.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        names = {"a", "b", "c", "out", "out2", "nulls", "rest", "between"}
        for future in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
            future.result(20)
        producer = Producer(Cluster(servers))
        for batch in batches(inputs, singly=singly, apart=apart):
            for (
                topic,
                key,
                value,
                time,
                *headers,
            ) in batch:  # by our own producer: in librdkafka time 0 is now
                listed = tuple(
                    (name, told.encode()) for name, told in (headers[0] if headers else {}).items()
                )
                record = Record(data(key), data(value), listed, time)
                producer.send(WireTopicPartition(topic, 0), pack_records([record]))
            producer.flush()
            process(spark, Application(topology, "golden", servers, {"emit.every.update": "true"}, place))
        return {name: found for name in names - {"a", "b", "c"} if (found := rows(servers, name))}


def process(spark: SparkSession, application: Application) -> None:
    """What is there, and nothing that is written meanwhile: a query that goes on might take half a batch."""
    application.start(spark, {"availableNow": True})
    assert application.wait(PATIENCE_SECONDS)
    assert application.error is None


def rows(servers: str, topic: str) -> list[list[Any]]:
    found = []
    for message in read_topic(servers, topic):
        row = [text(message.key()), text(message.value()), message.timestamp()[1]]
        headers = {name: (value or b"").decode() for name, value in message.headers() or ()}
        found.append([*row, headers] if headers else row)
    return found


def data(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def check(spark: SparkSession, topology: str, inputs: str, place: Path) -> None:
    scenarios = json.loads((GOLDEN / "scenarios.json").read_text())
    golden = json.loads((GOLDEN / "goldens.json").read_text())[f"{topology} of {inputs}"]
    singly = topology.startswith("foreign")
    found = through_spark(spark, build(topology), scenarios["inputs"][inputs], place, singly=singly)
    assert found == {topic: rows for topic, rows in golden["topics"].items() if topic not in ("a", "b", "c")}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("topology", "inputs"), SHORT)
def test_a_topology_gives_through_spark_what_kafka_streams_gives(
    spark: SparkSession, topology: str, inputs: str, tmp_path: Path
) -> None:
    check(spark, topology, inputs, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("topology", "inputs"), LONG)
def test_more_topologies_give_through_spark_what_kafka_streams_gives(
    spark: SparkSession, topology: str, inputs: str, tmp_path: Path
) -> None:
    check(spark, topology, inputs, tmp_path)
