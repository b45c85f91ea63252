"""librdkafka through confluent-kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

from tests.compat.expectations import CODECS, Sent, numbers, records

DEADLINE_SECONDS = 30.0


def produce(servers: str, topic: str, sent: list[Sent], **settings: object) -> None:
    errors = []
    producer = Producer(
        {"bootstrap.servers": servers, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000, **settings}
    )
    for item in sent:
        producer.produce(
            topic,
            key=item.key,
            value=item.value,
            headers=list(item.headers),
            timestamp=item.timestamp_ms,
            partition=0,
            on_delivery=lambda error, _: errors.append(error) if error else None,
        )
        producer.poll(0)
    assert producer.flush(DEADLINE_SECONDS) == 0
    assert errors == []


def messages(servers: str, topic: str, count: int, partitions: int = 1) -> Iterator[Message]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "compat", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    end = time.monotonic() + DEADLINE_SECONDS
    received = 0
    try:
        while received < count and time.monotonic() < end:
            for message in consumer.consume(min(10_000, count - received), 1.0):
                assert message.error() is None, message.error()
                received += 1
                yield message
    finally:
        consumer.close()


def seen(message: Message) -> Sent:
    return Sent(message.key(), message.value(), tuple(message.headers() or ()), message.timestamp()[1])


@pytest.mark.parametrize("codec", CODECS)
def test_records_come_back_as_they_went_in_every_codec(
    servers: str, topic: Callable[[int], str], codec: str
) -> None:
    name, sent = topic(1), records()
    produce(servers, name, sent, **{"compression.type": codec})
    received = list(messages(servers, name, len(sent)))
    assert [seen(message) for message in received] == sent
    assert [message.offset() for message in received] == list(range(len(sent)))


def test_a_hundred_thousand_records_with_acks_all_come_back_exactly(
    servers: str, topic: Callable[[int], str]
) -> None:
    name, values = topic(1), numbers()
    produce(servers, name, [Sent(None, value, (), 1) for value in values], acks="all")
    assert [message.value() for message in messages(servers, name, len(values))] == values


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_level_of_acknowledgement_works(servers: str, topic: Callable[[int], str], acks: str) -> None:
    name, sent = topic(1), records(50)
    produce(servers, name, sent, acks=acks)
    assert [seen(message) for message in messages(servers, name, len(sent))] == sent


def test_offsets_are_committed_and_fetched_without_being_a_member(
    servers: str, topic: Callable[[int], str]
) -> None:
    name = topic(2)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bookkeeper"})
    place = TopicPartition(name, 1, 42, metadata="a note")
    consumer.commit(offsets=[place], asynchronous=False)
    (found, never) = consumer.committed([TopicPartition(name, 1), TopicPartition(name, 0)], timeout=10)
    consumer.close()
    assert (found.offset, found.metadata) == (42, "a note")
    assert never.offset < 0


def test_offsets_are_found_by_time(servers: str, topic: Callable[[int], str]) -> None:
    name, sent = topic(1), records(100)
    produce(servers, name, sent)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "times"})
    ask = [TopicPartition(name, 0, sent[60].timestamp_ms)]
    (found,) = consumer.offsets_for_times(ask, timeout=10)
    (late,) = consumer.offsets_for_times([TopicPartition(name, 0, sent[-1].timestamp_ms + 1)], timeout=10)
    assert found.offset == 60
    assert late.offset < 0
    assert consumer.get_watermark_offsets(TopicPartition(name, 0), timeout=10) == (0, 100)
    consumer.close()


def test_topics_are_administered(servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("administered", 2, config={"retention.ms": "60000"})])[
        "administered"
    ].result(10)
    admin.create_partitions([NewPartitions("administered", 5)])["administered"].result(10)
    assert len(admin.list_topics("administered", timeout=10).topics["administered"].partitions) == 5
    resource = ConfigResource("topic", "administered")
    config = admin.describe_configs([resource])[resource].result(10)
    assert config["retention.ms"].value == "60000"
    assert config["cleanup.policy"].value == "delete"
    admin.delete_topics(["administered"])["administered"].result(10)
    assert "administered" not in admin.list_topics(timeout=10).topics


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        (NewTopic("../x", 1), "TOPIC_EXCEPTION"),
        (NewTopic("fine", 1, 3), "INVALID_REPLICATION_FACTOR"),
        (NewTopic("fine", 1, config={"retention.ms": "soon"}), "INVALID_CONFIG"),
        (NewTopic("fine", 1, config={"no.such.thing": "1"}), "INVALID_CONFIG"),
    ],
)
def test_a_topic_that_cannot_be_is_refused_with_kafkas_reason(
    servers: str, wish: NewTopic, reason: str
) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    with pytest.raises(KafkaException) as refused:
        admin.create_topics([wish])[wish.topic].result(10)
    assert refused.value.args[0].name() == reason


def test_a_record_larger_than_the_topic_allows_is_refused(servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("small", 1, config={"max.message.bytes": "1000"})])["small"].result(10)
    outcome = []
    producer = Producer({"bootstrap.servers": servers})
    producer.produce("small", b"x" * 5000, on_delivery=lambda error, _: outcome.append(error))
    producer.flush(DEADLINE_SECONDS)
    assert outcome[0].name() == "MSG_SIZE_TOO_LARGE"


def test_a_consumer_waits_for_records_without_polling(servers: str, topic: Callable[[int], str]) -> None:
    name = topic(1)
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "waiting",
            "fetch.wait.max.ms": 10_000,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(name, 0, 0)])
    assert consumer.poll(0.5) is None
    produce(servers, name, records(1))
    started = time.monotonic()
    message = consumer.poll(DEADLINE_SECONDS)
    consumer.close()
    assert message is not None
    assert time.monotonic() - started < 5, "an append must wake the waiting fetch before its deadline"


@pytest.mark.parametrize("codec", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_topic_stores_batches_in_its_own_codec(servers: str, codec: str) -> None:
    admin, name, sent = AdminClient({"bootstrap.servers": servers}), f"stored-as-{codec}", records()
    admin.create_topics([NewTopic(name, 1, config={"compression.type": codec})])[name].result(10)
    produce(servers, name, sent, **{"compression.type": "lz4" if codec != "lz4" else "zstd"})
    assert [seen(message) for message in messages(servers, name, len(sent))] == sent
