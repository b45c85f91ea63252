"""A Spark pipeline that is killed anywhere, again and again, has written every record once and in order."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing.process import BrokerProcess
from tests.faults.pipeline_kills import Deck, Killable, ways
from tests.faults.pipeline_rig import Driver, Rig, standalone
from tests.peers.apache_kafka import ApacheKafka

INPUT, OUTPUT = "input", "output"
INPUT_PARTITIONS, OUTPUT_PARTITIONS = 3, 4
LONG_SECONDS = 900.0
CATCH_UP_SECONDS = 600.0  # a machine with much else to do starts a driver and its executors in minutes
LOCAL = "local[2,4]"  # two cores, and a task is tried four times
STANDALONE = "standalone"  # a master with two workers; to start it takes too long for CI
IN_CI = ("task", "broker", "python", "driver")


class Input(threading.Thread):
    """Writes `partition-number` to each input partition, in order, until it is stopped."""

    def __init__(self, servers: str) -> None:
        super().__init__(daemon=True)
        self._servers = servers
        self._stopping = threading.Event()
        self.count = 0
        """Of each partition."""

    def run(self) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self._servers,
                "enable.idempotence": True,
                "delivery.timeout.ms": 300_000,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        while not self._stopping.wait(0.05):
            for _ in range(3):
                for partition in range(INPUT_PARTITIONS):
                    value = f"{partition}-{self.count}"
                    producer.produce(INPUT, value, key=str(self.count % 50), partition=partition)
                self.count += 1
            producer.poll(0)
        assert producer.flush(60) == 0

    def finish(self) -> int:
        self._stopping.set()
        self.join(90)
        return self.count * INPUT_PARTITIONS


class Output:
    """Everything that is committed in the output, by partition and in order."""

    def __init__(self, servers: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "judge",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(OUTPUT, number, 0) for number in range(OUTPUT_PARTITIONS)])
        self.values: list[list[str]] = [[] for _ in range(OUTPUT_PARTITIONS)]

    @property
    def count(self) -> int:
        return sum(map(len, self.values))

    def read(self, seconds: float) -> None:
        for message in self._consumer.consume(10_000, seconds):
            if message.error() is None:
                self.values[message.partition()].append(message.value().decode())

    def judge(self, written: int) -> None:
        """Once each, and in the order of the input partition."""
        found = [value for values in self.values for value in values]
        expected = {f"{p}-{n}" for p in range(INPUT_PARTITIONS) for n in range(written // INPUT_PARTITIONS)}
        assert not expected - set(found), f"lost: {sorted(expected - set(found))[:10]}"
        assert len(found) == len(expected), f"{len(found) - len(expected)} records too many"
        for values in self.values:
            for origin in range(INPUT_PARTITIONS):
                numbers = [int(v.partition("-")[2]) for v in values if v.startswith(f"{origin}-")]
                assert numbers == sorted(numbers), "records of one input partition changed places"


@pytest.fixture
def broker(tmp_path: Path, pytestconfig: pytest.Config) -> Iterator[Killable]:
    """Ours, or Apache's with `--apache`."""
    apache = pytestconfig.getoption("--apache")
    with ApacheKafka(parent=tmp_path) if apache else BrokerProcess(str(tmp_path / "data")) as broker:
        yield broker


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path / "log")
    yield rig
    rig.close()


def make_topics(servers: str) -> None:
    topics = [NewTopic(INPUT, INPUT_PARTITIONS, 1), NewTopic(OUTPUT, OUTPUT_PARTITIONS, 1)]
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_topics(topics).values():
        future.result(30)


def await_output(driver: Driver, output: Output, count: int) -> None:
    """Until so many records are committed; a driver that has ended is started again."""
    end = time.monotonic() + CATCH_UP_SECONDS
    while output.count < count:
        assert time.monotonic() < end, f"{output.count} of {count} records after {CATCH_UP_SECONDS} s"
        driver.keep()
        output.read(0.3)


@pytest.mark.claim("A15")
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("master", [LOCAL, pytest.param(STANDALONE, marks=pytest.mark.long)])
def test_a_pipeline_killed_anywhere_writes_each_record_once_and_in_order(
    broker: Killable, rig: Rig, tmp_path: Path, seed: int, long_form: bool, master: str
) -> None:
    servers, chooser, cluster = broker.bootstrap_servers, Random(seed), master == STANDALONE
    make_topics(servers)
    source, output = Input(servers), Output(servers)
    with contextlib.ExitStack() as running:
        address = running.enter_context(standalone(rig, tmp_path)) if cluster else master
        driver = Driver(rig, [servers, INPUT, OUTPUT, str(tmp_path / "checkpoint"), address])
        possible = ways(rig, driver, broker, chooser, cluster=cluster)
        deck = Deck(possible, chooser, () if long_form else IN_CI)
        source.start()
        end = time.monotonic() + (LONG_SECONDS / 2 if long_form else 0.0)  # each master has half of the time
        # Kill, wait until more is committed, kill again. A slow machine ends no round of ways before its end.
        while deck.to_come or time.monotonic() < end:
            await_output(driver, output, output.count + 1)
            time.sleep(chooser.uniform(0, 1.0))  # any point of a batch
            deck.kill()
        written = source.finish()
        await_output(driver, output, written)
        output.read(2)  # what is too many would come now
    output.judge(written)
    assert set(deck.kills) == set(possible if long_form else IN_CI)
    print(f"{master}: {dict(deck.kills)}, {driver.starts} starts, {written} records, seed {seed}")
