"""An application whose broker is Apache Kafka's: words counted and two streams joined, exactly once."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.streams import (
    Application,
    JoinWindows,
    LongSerde,
    StreamsBuilder,
    StringSerde,
    Topology,
    TopologyTestDriver,
)
from penstock.wire.partitioner import partition_for_key
from tests.peers.apache_kafka import ApacheKafka
from tests.spark.host.conftest import PATIENCE_SECONDS, Topics

pytestmark = [pytest.mark.timeout(300), pytest.mark.long]

LINES, VIEWS, CLICKS = "peer-lines", "peer-views", "peer-clicks"
WORDS, JOINED = "peer-words", "peer-joined"
PARTITIONS = 2
Rows = list[tuple[str, str, str, int]]


def topology() -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    words = builder.stream(LINES).flat_map_values(str.split).group_by(lambda _, word: word).count()
    words.to_stream().to(WORDS, value_serde=LongSerde())
    views, clicks = builder.stream(VIEWS), builder.stream(CLICKS)
    views.left_join(clicks, lambda view, click: f"{view} {click}", JoinWindows(1000)).to(JOINED)
    return builder.build()


def inputs(first: int, count: int) -> Rows:
    lines: Rows = [(LINES, "k", f"to be or not to be {number % 3}", first) for number in range(count)]
    times = [first + 300 * number for number in range(count)]
    joined: Rows = []
    for number, at in enumerate(times):
        topic = VIEWS if number % 3 else CLICKS
        joined.append((topic, f"user-{number % 4}", f"{topic[5]}{number}", at))
    return lines + joined


def test_a_broker_of_apache_kafka_serves_an_application_exactly_once(
    spark: SparkSession, apache_kafka: ApacheKafka, tmp_path: Path
) -> None:
    servers = apache_kafka.bootstrap_servers
    topics = Topics(servers)
    topics.create(LINES, VIEWS, CLICKS, WORDS, JOINED, partitions=PARTITIONS)
    first = time.time_ns() // 1_000_000 - 3_600_000
    given = [inputs(first, 40), inputs(first + 60_000, 20), inputs(first + 120_000, 20)]
    for at, rows in enumerate(given):
        for topic in (LINES, VIEWS, CLICKS):
            topics.write(topic, [row[1:] for row in rows if row[0] == topic])
        settings = {"replication.factor": "1", "emit.every.update": "true"}
        application = Application(topology(), "peer", servers, settings, tmp_path / "state")
        application.start(spark, {"availableNow": True})
        assert application.wait(PATIENCE_SECONDS)
        assert application.error is None
        if at == 1:
            shutil.rmtree(tmp_path / "state")  # the third start reads Kafka's changelogs
    expected = driven([row for rows in given for row in rows])
    for topic in (WORDS, JOINED):
        found = [(key, value) for key, value, _ in topics.read(topic)]
        assert sorted(found) == sorted(expected[topic])


def driven(rows: Rows) -> dict[str, list[tuple[bytes | None, bytes | None]]]:
    """The results of a driver for each partition: when a window closes is a partition's own affair."""
    found: dict[str, list[tuple[bytes | None, bytes | None]]] = {WORDS: [], JOINED: []}
    for number in range(PARTITIONS):
        with TopologyTestDriver(topology(), application_id="peer") as driver:
            for row in rows:
                if partition_for_key(row[1].encode(), PARTITIONS) == number:
                    driver.pipe(*row)
            for topic, results in found.items():
                results += [(record.key, record.value) for record in driver.read_raw(topic)]
    return found
