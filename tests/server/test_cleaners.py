"""Compaction in a running broker: topics shrink to their last values while clients go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from penstock.testing import Broker
from tests.peers.topic_reader import read_topic

DEADLINE_SECONDS = 30.0
COMPACTED = {"cleanup.policy": "compact", "segment.bytes": "20000", "min.cleanable.dirty.ratio": "0.1"}
SETTINGS = {
    "log.cleaner.backoff.ms": "50",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": "20000",
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def broker(data: Path) -> Iterator[Broker]:
    with Broker(str(data), SETTINGS) as broker:
        yield broker


def create(broker: Broker, topic: str, **changes: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, config={**COMPACTED, **changes})])[topic].result(10)


def send(broker: Broker, topic: str, items: list[tuple[bytes | None, bytes | None]]) -> list[KafkaError]:
    """The errors among the answers."""
    errors: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            errors.append(error)

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "batch.num.messages": 50})
    for key, value in items:
        producer.produce(topic, value, key=key, partition=0, on_delivery=delivered)
        producer.poll(0)
    assert producer.flush(DEADLINE_SECONDS) == 0
    return errors


def read(broker: Broker, topic: str) -> list[tuple[int, bytes | None, bytes | None]]:
    found = read_topic(broker.bootstrap_servers, topic)
    return [(message.offset(), message.key(), message.value()) for message in found]


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the cleaner did not come"
        time.sleep(0.1)


def size_of(data: Path, log: str) -> int:
    return sum(path.stat().st_size for path in (data / log).glob("*.log"))


def test_a_compacted_topic_shrinks_to_the_last_value_of_each_key(broker: Broker, data: Path) -> None:
    create(broker, "prices")
    items = [(b"key%d" % (number % 20), b"%d:" % number + bytes(100)) for number in range(3000)]
    assert send(broker, "prices", items) == []
    wait_for(lambda: size_of(data, "prices-0") < 100_000)
    found = read(broker, "prices")
    offsets = [offset for offset, _, _ in found]
    assert offsets == sorted(set(offsets))
    for offset, key, value in found:
        assert (key, value) == items[offset]
    assert {key: value for _, key, value in found} == dict(items)
    assert len(found) < 1000


def test_a_compacted_topic_refuses_a_record_without_a_key(broker: Broker) -> None:
    create(broker, "keyed")
    (error,) = send(broker, "keyed", [(None, b"no key")])
    assert error.code() == KafkaError.INVALID_RECORD
    assert send(broker, "keyed", [(b"key", b"value")]) == []


def test_committed_offsets_are_compacted_and_survive_it(broker: Broker, data: Path) -> None:
    create(broker, "source")
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "busy"})
    for offset in range(1, 1500):
        consumer.commit(offsets=[TopicPartition("source", 0, offset)], asynchronous=False)
    checkpoint = data / "cleaner-offset-checkpoint"
    wait_for(lambda: "__consumer_offsets 0" in (checkpoint.read_text() if checkpoint.exists() else ""))
    wait_for(lambda: size_of(data, "__consumer_offsets-0") < 1500 * 100)
    assert consumer.committed([TopicPartition("source", 0)], timeout=10)[0].offset == 1499
    consumer.close()
    broker.stop()
    with Broker(str(data), SETTINGS) as again:
        consumer = Consumer({"bootstrap.servers": again.bootstrap_servers, "group.id": "busy"})
        assert consumer.committed([TopicPartition("source", 0)], timeout=10)[0].offset == 1499
        consumer.close()


def test_a_topic_becomes_compacted_while_it_is_in_use(broker: Broker, data: Path) -> None:
    create(broker, "later", **{"cleanup.policy": "delete"})
    items = [(b"key%d" % (number % 5), b"%d:" % number + bytes(100)) for number in range(1000)]
    assert send(broker, "later", items) == []
    before = size_of(data, "later-0")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    entry = ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, "later", incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(10)
    wait_for(lambda: size_of(data, "later-0") < before / 2)
    assert {key: value for _, key, value in read(broker, "later")} == dict(items)
