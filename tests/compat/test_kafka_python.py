"""kafka-python, whose producer is idempotent by default."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from tests.compat.expectations import CODECS, Sent, numbers, records


def consume(servers: str, topic: str, count: int) -> list[Sent]:
    consumer = KafkaConsumer(
        bootstrap_servers=servers, auto_offset_reset="earliest", consumer_timeout_ms=15_000, group_id=None
    )
    consumer.assign([TopicPartition(topic, 0)])
    received = []
    for record in consumer:
        received.append(Sent(record.key, record.value, tuple(record.headers), record.timestamp))
        if len(received) == count:
            break
    consumer.close()
    return received


@pytest.mark.parametrize("codec", CODECS)
def test_records_come_back_as_they_went_in_every_codec(
    servers: str, topic: Callable[[int], str], codec: str
) -> None:
    name, sent = topic(1), records()
    producer = KafkaProducer(
        bootstrap_servers=servers, compression_type=None if codec == "none" else codec, linger_ms=20
    )
    futures = [
        producer.send(
            name,
            key=item.key,
            value=item.value,
            headers=list(item.headers),
            timestamp_ms=item.timestamp_ms,
            partition=0,
        )
        for item in sent
    ]
    producer.flush(30)
    assert [future.get(10).offset for future in futures] == list(range(len(sent)))
    producer.close()
    assert consume(servers, name, len(sent)) == sent


def test_a_hundred_thousand_records_with_acks_all_come_back_exactly(
    servers: str, topic: Callable[[int], str]
) -> None:
    name, values = topic(1), numbers()
    producer = KafkaProducer(bootstrap_servers=servers, acks="all", linger_ms=50, batch_size=200_000)
    for value in values:
        producer.send(name, value, partition=0)
    producer.flush(60)
    producer.close()
    assert [item.value for item in consume(servers, name, len(values))] == values
