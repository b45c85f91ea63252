"""Clients that use fetch sessions: the Java client and kafka-python."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from penstock.testing import Broker
from tests.peers.java_programs import JavaPrograms

PARTITIONS = 8
RECORDS = 40
EXPECTED = {index: [f"v{sent}" for sent in range(index, RECORDS, PARTITIONS)] for index in range(PARTITIONS)}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A broker of our own: its sessions are counted."""
    with Broker() as running:
        yield running


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    name = request.node.originalname.replace("_", "-")[:80]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(name, PARTITIONS)])[name].result(10)
    return str(name)


def sessions(broker: Broker) -> int:
    assert broker._broker is not None
    return len(broker._broker._node.broker.fetch_sessions)


def test_kafka_python_reads_all_partitions_in_order_through_one_session(broker: Broker, topic: str) -> None:
    before = sessions(broker)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest", fetch_max_wait_ms=50
    )
    consumer.assign([TopicPartition(topic, index) for index in range(PARTITIONS)])
    received: dict[int, list[str]] = {index: [] for index in range(PARTITIONS)}
    for sent in range(RECORDS):
        producer.send(topic, f"v{sent}".encode(), partition=sent % PARTITIONS).get(10)
        gather(consumer, received, timeout_ms=20)
    for _ in range(100):
        if sum(map(len, received.values())) >= RECORDS:
            break
        gather(consumer, received, timeout_ms=100)
    assert received == EXPECTED
    assert sessions(broker) == before + 1
    consumer.close()
    producer.close()


def gather(consumer: KafkaConsumer, received: dict[int, list[str]], timeout_ms: int) -> None:
    for place, records in consumer.poll(timeout_ms=timeout_ms).items():
        received[place.partition] += [record.value.decode() for record in records]


def test_the_java_client_reads_all_partitions_in_order(
    broker: Broker, topic: str, java_programs: JavaPrograms
) -> None:
    arguments = (broker.bootstrap_servers, topic, str(PARTITIONS), str(RECORDS))
    said = java_programs.run("FetchSessionCheck", *arguments)
    lines = [line.split(" ") for line in said.splitlines() if line[:1].isdigit()]
    assert {int(index): values.split(",") for index, values in lines} == EXPECTED
