"""An application of Streams that is killed anywhere, and whose state directory is deleted, ends with the same
tables and has told every result once: windows, and each kind of join.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.protocol.topic_partition import TopicPartition as Place
from penstock.records.record import Record
from penstock.streams import TopologyTestDriver
from penstock.testing.process import BrokerProcess
from penstock.wire.cluster import Cluster
from penstock.wire.pack import pack_records
from penstock.wire.partitioner import partition_for_key
from penstock.wire.produce import Producer
from tests.faults.pipeline_rig import Driver, Rig, standalone
from tests.faults.streams_driver import INPUTS, STREAMS, TABLES, topology
from tests.peers.topic_reader import read_topic

APPLICATION = "killed"
PARTITIONS = 2
CLOSING_MS = 3_600_000
PATIENCE_SECONDS = 400.0
DRIVER = Path(__file__).with_name("streams_driver.py")
Given = list[tuple[str, str, str, int]]


def inputs(count: int, chooser: Random) -> tuple[Given, Given, Given]:
    """Rows of tables, then streams in the order of their times, then what closes all windows. Times are of
    today: retention deletes older records from topics and from changelogs of windows."""
    first = (time.time_ns() // 1_000_000 - CLOSING_MS) // 10_000 * 10_000
    keys = [f"user-{number}" for number in range(20)]
    tables: Given = [("countries", letter, letter.upper(), first) for letter in "abcdefghij"]
    for key in keys:
        tables.append(("users", key, chooser.choice(keys), first))
        tables.append(("places", key, f"place-{chooser.randrange(9)}", first))
    streams: Given = []
    for number in range(count):
        topic = chooser.choice(["views", "views", "clicks", "clicks"])
        value = f"{chooser.choice('abcdefghijxyz')}{number}"
        streams.append((topic, chooser.choice(keys), value, first + number * 10))
    closing = [(topic, key, f"x{topic}", first + CLOSING_MS) for topic in ("views", "clicks") for key in keys]
    return tables, streams, closing


def write(servers: str, records: Given) -> None:
    producer = Producer(Cluster(servers))
    for topic, key, value, at in records:
        partition = partition_for_key(key.encode(), PARTITIONS)
        packed = pack_records([Record(key.encode(), value.encode(), (), at)])
        producer.send(Place(topic, partition), packed)
    producer.flush()


def undisturbed(records: Given) -> dict[str, Any]:
    """What the test driver gives for the same records."""
    with TopologyTestDriver(topology()) as driver:
        for record in records:
            driver.pipe(*record)
        found = {name: [(row.key, row.value) for row in driver.read(name)] for name in (*STREAMS, *TABLES)}
    return judged(found)


def judged(found: dict[str, list[tuple[Any, Any]]]) -> dict[str, Any]:
    tables = {
        name: {key: value for key, value in dict(found[name]).items() if value is not None} for name in TABLES
    }
    return {**tables, **{name: Counter(found[name]) for name in STREAMS}}


def results(servers: str) -> dict[str, Any]:
    found = {
        name: [(text(message.key()), text(message.value())) for message in read_topic(servers, name)]
        for name in (*STREAMS, *TABLES)
    }
    return judged(found)


def text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


class Progress:
    """How far the application has committed, and how far there is to go."""

    def __init__(self, servers: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": APPLICATION,
                "log_level": 0,
                "enable.auto.commit": False,
            }
        )
        read = [name for name in INPUTS if name != "countries"]
        self._places = [TopicPartition(name, number) for name in read for number in range(PARTITIONS)]

    def committed(self) -> int:
        return sum(max(0, place.offset) for place in self._consumer.committed(self._places, 30))

    def wait(self, least: int, driver: Driver) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while self.committed() < least:
            assert time.monotonic() < end, (
                f"{self.committed()} of {least} committed after {PATIENCE_SECONDS} s"
            )
            driver.keep()
            time.sleep(0.1)  # between two looks at the group

    def close(self) -> None:
        self._consumer.close()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with BrokerProcess(str(tmp_path / "data"), settings=settings) as broker:
        yield broker


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path / "log")
    yield rig
    rig.close()


def kill_and_judge(
    servers: str, rig: Rig, tmp_path: Path, master: str, kills: int, count: int, seed: int
) -> None:
    chooser = Random(seed)
    tables, streams, closing = inputs(count, chooser)
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    topics = [NewTopic(name, PARTITIONS, 1) for name in (*INPUTS, *STREAMS, *TABLES)]
    for future in admin.create_topics(topics).values():
        future.result(30)
    write(servers, tables)
    state = tmp_path / "state"
    driver = Driver(rig, [servers, APPLICATION, str(state), master], script=DRIVER)
    progress = Progress(servers)
    rows = len([record for record in tables if record[0] != "countries"])
    driver.start()
    progress.wait(rows, driver)
    write(servers, streams)
    for kill in range(kills):
        progress.wait(rows + len(streams) * (kill + 1) // (kills + 2), driver)
        time.sleep(chooser.uniform(0, 1.0))  # any point of a batch
        driver.kill()
        if kill % 2 == 0:
            shutil.rmtree(state)
    write(servers, closing)
    progress.wait(rows + len(streams) + len(closing), driver)
    progress.close()
    driver.kill()
    assert driver.starts > kills
    assert results(servers) == undisturbed([*tables, *streams, *closing])


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("kills", "count"), [(1, 600), pytest.param(12, 12_000, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_a_killed_application_ends_with_the_tables_of_an_undisturbed_one(
    broker: BrokerProcess, rig: Rig, tmp_path: Path, kills: int, count: int
) -> None:
    kill_and_judge(broker.bootstrap_servers, rig, tmp_path, "local[2]", kills, count, seed=7)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_so_does_one_on_a_cluster_of_spark(broker: BrokerProcess, rig: Rig, tmp_path: Path) -> None:
    with standalone(rig, tmp_path) as master:
        kill_and_judge(broker.bootstrap_servers, rig, tmp_path, master, 3, 3000, seed=8)
