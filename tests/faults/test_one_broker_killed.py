"""kill -9 of a broker under load: every acknowledged record is there afterwards, once, in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing.history import Recorder, assert_kept
from penstock.testing.history.clients import RecordedConsumer, RecordedProducer, read_to_the_end
from penstock.testing.history.events import Partition
from penstock.testing.process import BrokerProcess

PARTITIONS = 3
DEADLINE_SECONDS = 60.0
ROUND_SECONDS = 6.0
"""After this long a history is judged and another begins on a new topic: histories have a bound."""

FEWEST_KILLS = 3


class Load(threading.Thread):
    """An idempotent producer that sends unique values as fast as it may."""

    def __init__(self, recorder: Recorder, servers: str, name: str, partitions: list[Partition]) -> None:
        super().__init__(daemon=True)
        self._partitions = partitions
        self._stopping = threading.Event()
        config = {
            "bootstrap.servers": servers,
            "linger.ms": 2,
            "delivery.timeout.ms": int(DEADLINE_SECONDS * 1000),
            "reconnect.backoff.max.ms": 200,
            "queue.buffering.max.messages": 10_000,
        }
        self.producer = RecordedProducer(recorder, name, config)

    def run(self) -> None:
        number = 0
        while not self._stopping.is_set():
            for _ in range(200):
                number += 1
                if not self.producer.send(self._partitions[number % PARTITIONS]):
                    self.producer.poll(0.1)
                    break
            self.producer.poll(0.001)

    def finish(self) -> None:
        """Send no more, and wait until everything sent is acknowledged."""
        self._stopping.set()
        self.join(DEADLINE_SECONDS)
        assert self.producer.flush(DEADLINE_SECONDS) == 0
        assert self.producer.errors == []


class Reader(threading.Thread):
    """A consumer that follows all partitions, and looks at their high watermarks from time to time."""

    def __init__(self, recorder: Recorder, servers: str, partitions: list[Partition]) -> None:
        super().__init__(daemon=True)
        self._partitions = partitions
        self._stopping = threading.Event()
        config = {"bootstrap.servers": servers, "reconnect.backoff.max.ms": 200}
        self._consumer = RecordedConsumer(recorder, "reader", config)

    def run(self) -> None:
        self._consumer.assign(dict.fromkeys(self._partitions, 0))
        while not self._stopping.is_set():
            self._consumer.poll(5_000, 0.2)
        for partition in self._partitions:
            self._consumer.look(partition)
        self._consumer.close()

    def finish(self) -> None:
        self._stopping.set()
        self.join(DEADLINE_SECONDS)
        assert not self.is_alive()


@pytest.mark.claim("A1")
@pytest.mark.timeout(900)
def test_every_acknowledged_record_survives_kill_9(tmp_path: Path, seed: int, long_form: bool) -> None:
    random, kills, acked = Random(seed), 0, 0
    end = time.monotonic() + (600 if long_form else ROUND_SECONDS)
    with BrokerProcess(str(tmp_path / "data"), {"log.segment.bytes": "2000000"}) as broker:
        for number in range(10_000):
            round_kills, round_acked = play_round(broker, f"killed-{number}", random)
            kills, acked = kills + round_kills, acked + round_acked
            if time.monotonic() >= end:
                break
    print(f"{kills} kills, {acked} records acknowledged")


def play_round(broker: BrokerProcess, topic: str, random: Random) -> tuple[int, int]:
    """Load, kills, a full read and the verdict; gives kills and acknowledged records."""
    servers, recorder, kills = broker.bootstrap_servers, Recorder(), 0
    partitions = [Partition(topic, index) for index in range(PARTITIONS)]
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result(10)
    loads = [Load(recorder, servers, f"load{number}", partitions) for number in range(2)]
    reader = Reader(recorder, servers, partitions)
    for thread in (*loads, reader):
        thread.start()
    end = time.monotonic() + ROUND_SECONDS
    while kills < FEWEST_KILLS or time.monotonic() < end:
        acked = total_acked(loads)
        wait_until(lambda before=acked: total_acked(loads) > before)  # type: ignore[misc]
        threading.Event().wait(random.uniform(0.1, 1.0))  # kill at a random moment of the flow
        broker.kill()
        broker.start()
        kills += 1
    for thread in (*loads, reader):
        thread.finish()
    assert_kept(recorder.history(read_to_the_end(servers, partitions, seconds=DEADLINE_SECONDS)))
    return kills, total_acked(loads)


def total_acked(loads: list[Load]) -> int:
    return sum(load.producer.acked for load in loads)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "no record was acknowledged for a minute"
        threading.Event().wait(0.02)
