"""All of a topic, as librdkafka reads it: for tests that judge what was written. Recorded histories have
their own, `penstock.testing.history.clients.read_to_the_end`."""

from __future__ import annotations

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

SECONDS = 20.0


def read_topic(servers: str, topic: str, isolation: str = "read_committed") -> list[Message]:
    """Every record up to the end of each partition as this isolation sees it, partition by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "judge",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,  # an end is known by an answer without records
            "log_level": 0,
        }
    )
    try:
        unread = set(consumer.list_topics(topic, SECONDS).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in unread])
        found: list[Message] = []
        while unread:
            message = consumer.poll(SECONDS)
            assert message is not None, f"{topic} cannot be read to its end: {len(found)} records"
            if message.error() is None:
                found.append(message)
            else:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                unread.discard(message.partition())
    finally:
        consumer.close()
    return sorted(found, key=lambda message: (message.partition(), message.offset()))
