"""kill -9 of a broker under load: every acknowledged record is there afterwards, once, in order."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.testing.process import BrokerProcess

TOPIC = "killed"
PARTITIONS = 3
DEADLINE_SECONDS = 60.0


class Load(threading.Thread):
    """An idempotent producer that sends unique values as fast as it may, and remembers what it was
    promised."""

    def __init__(self, servers: str, name: str) -> None:
        super().__init__(daemon=True)
        self.acked: dict[tuple[int, int], bytes] = {}
        self.failed: list[KafkaError] = []
        self._name = name
        self._stopping = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 2,
                "delivery.timeout.ms": int(DEADLINE_SECONDS * 1000),
                "reconnect.backoff.max.ms": 200,
            }
        )

    def run(self) -> None:
        number = 0
        while not self._stopping.is_set():
            try:
                for _ in range(200):
                    value = f"{self._name}/{number}".encode()
                    self._producer.produce(
                        TOPIC, value, partition=number % PARTITIONS, on_delivery=self._delivered
                    )
                    number += 1
            except BufferError:
                self._producer.poll(0.1)
            self._producer.poll(0.001)

    def finish(self) -> None:
        """Send no more, and wait until everything sent is acknowledged."""
        self._stopping.set()
        self.join(DEADLINE_SECONDS)
        assert self._producer.flush(DEADLINE_SECONDS) == 0

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(error)
        else:
            self.acked[message.partition(), message.offset()] = message.value()


def read_all(servers: str) -> dict[tuple[int, int], bytes]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "auditor", "enable.auto.commit": False})
    ends = {
        index: consumer.get_watermark_offsets(TopicPartition(TOPIC, index), timeout=10)[1]
        for index in range(PARTITIONS)
    }
    consumer.assign([TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)])
    found: dict[tuple[int, int], bytes] = {}
    deadline = time.monotonic() + DEADLINE_SECONDS
    while len(found) < sum(ends.values()) and time.monotonic() < deadline:
        for message in consumer.consume(10_000, 1.0):
            assert message.error() is None, message.error()
            found[message.partition(), message.offset()] = message.value()
    consumer.close()
    assert len(found) == sum(ends.values())
    return found


@pytest.mark.claim("A1")
@pytest.mark.timeout(900)
def test_every_acknowledged_record_survives_kill_9(tmp_path: Path, seed: int, long_form: bool) -> None:
    random, kills = Random(seed), 0
    end = time.monotonic() + (600 if long_form else 6)
    with BrokerProcess(str(tmp_path / "data"), {"log.segment.bytes": "2000000"}) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result(10)
        loads = [Load(broker.bootstrap_servers, f"load{number}") for number in range(2)]
        for load in loads:
            load.start()
        while time.monotonic() < end:
            acked = sum(len(load.acked) for load in loads)
            wait_until(lambda before=acked: sum(len(load.acked) for load in loads) > before)
            threading.Event().wait(random.uniform(0.1, 1.0))  # kill at a random moment of the flow
            broker.kill()
            broker.start()
            kills += 1
        for load in loads:
            load.finish()
        found = read_all(broker.bootstrap_servers)
    acked_count = sum(len(load.acked) for load in loads)
    print(f"{kills} kills, {acked_count} records acknowledged")
    assert kills >= 3
    for load in loads:
        assert load.failed == []
        for place, value in load.acked.items():
            assert found[place] == value, f"{value!r} was acknowledged at {place}"
    assert len(set(found.values())) == len(found), "a record is there twice"
    assert len(found) == acked_count, "a record is there that nobody sent or acknowledged"
    for partition in range(PARTITIONS):
        check_order([found[place] for place in sorted(found) if place[0] == partition])


def check_order(values: list[bytes]) -> None:
    last: dict[bytes, int] = {}
    for value in values:
        name, number = value.split(b"/")
        assert int(number) > last.get(name, -1), f"{value!r} stands after {last[name]}"
        last[name] = int(number)


def wait_until(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "no record was acknowledged for a minute"
        threading.Event().wait(0.02)
