"""Applications on the area's Spark session and on a broker in the process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from penstock.streams import Application, Topology
from penstock.testing import Broker
from tests.peers.topic_reader import read_topic

PATIENCE_SECONDS = 280.0
_numbers = count()


class Topics:
    """Topics with names of their own, written and read as text."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._prefix = f"t{next(_numbers)}-"
        # Kafka Streams, and so an application, partitions by murmur2; librdkafka by CRC32 unless told.
        self._producer = Producer(
            {"bootstrap.servers": servers, "log_level": 0, "partitioner": "murmur2_random"}
        )

    def create(self, *names: str, partitions: int = 1, **config: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        settings = {key.replace("_", "."): value for key, value in config.items()}
        new = [NewTopic(name, partitions, 1, config=settings) for name in names]
        for future in admin.create_topics(new).values():
            future.result(20)

    def write(self, topic: str, records: list[tuple[Any, ...]], partition: int = -1) -> None:
        """Records are key, value and a time where there is one."""
        for key, value, *rest in records:
            at = {"timestamp": rest[0]} if rest else {}
            self._producer.produce(topic, key=key, value=value, partition=partition, **at)
        assert self._producer.flush(30) == 0

    def read(self, topic: str) -> list[tuple[bytes | None, bytes | None, int]]:
        """All that is committed, partition by partition."""
        return [
            (message.key(), message.value(), message.timestamp()[1])
            for message in read_topic(self.servers, topic)
        ]

    def wait(self, topic: str, count: int) -> list[tuple[bytes | None, bytes | None, int]]:
        """As `read`, as soon as there is so much."""
        end = time.monotonic() + PATIENCE_SECONDS
        while len(found := self.read(topic)) < count:
            assert time.monotonic() < end, f"{len(found)} of {count} records in {topic}"
        return found


@pytest.fixture(scope="session")
def streams_servers() -> Iterator[str]:
    """The first instance of an application need not wait for others."""
    with Broker(settings={"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def topics(streams_servers: str) -> Topics:
    return Topics(streams_servers)


Run = Callable[..., Application]


@pytest.fixture
def run(spark: SparkSession, streams_servers: str, tmp_path: Path) -> Iterator[Run]:
    """Run an application until it has processed everything that is there."""
    applications: list[Application] = []

    def start(
        topology: Topology,
        application_id: str,
        settings: dict[str, str] | None = None,
        *,
        trigger: dict[str, Any] | None = None,
        state_dir: Path | None = None,
    ) -> Application:
        application = Application(
            topology, application_id, streams_servers, settings, state_dir or tmp_path / "state"
        )
        applications.append(application)
        application.start(spark, {"availableNow": True} if trigger is None else trigger)
        if trigger is None:
            assert application.wait(PATIENCE_SECONDS), "it did not end"
        return application

    yield start
    for application in applications:
        application.close()
