"""Dead letters of a sink sent again to the topics that they came from.

Records and the place that was reached are one transaction: a letter is sent once, whatever fails between. The
place is that of a consumer group of its own.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.client.librdkafka import Connection
from penstock.connect.config.shared_settings import DEAD_LETTERS
from penstock.connect.errors import ConnectError
from penstock.connect.pipeline.tolerance import PREFIX

SECONDS: Final = 60.0
AT_ONCE: Final = 1000
SILENT_MAX: Final = 10
"""After so many seconds without a letter what is left is only markers of transactions."""
_TOPIC: Final = PREFIX + "topic"


def redrive(connection: Connection, name: str, config: dict[str, str]) -> int:
    """How many dead letters were sent again: those that are there now and were not sent before."""
    topic = config.get(DEAD_LETTERS)
    if not topic:
        raise ConnectError(f"the connector {name} has no dead-letter topic ({DEAD_LETTERS})")
    from confluent_kafka import Consumer, Producer, TopicPartition

    group = f"connect-redrive-{name}"
    consumer = Consumer(
        connection.settings(
            **{"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest",
               "isolation.level": "read_committed"}
        )
    )  # fmt: skip
    try:
        partitions = consumer.list_topics(topic, SECONDS).topics[topic].partitions
        places = consumer.committed([TopicPartition(topic, each) for each in partitions], SECONDS)
        ends = {each.partition: consumer.get_watermark_offsets(each, SECONDS) for each in places}
        for each in places:
            each.offset = max(each.offset, ends[each.partition][0])
        consumer.assign(places)
        producer = Producer(connection.settings(transactional_id=group, linger_ms=0))
        producer.init_transactions(SECONDS)
        left = {each.partition for each in places if each.offset < ends[each.partition][1]}
        return _sent(consumer, producer, {number: ends[number][1] for number in left}, config)
    finally:
        consumer.close()


def _sent(consumer: Any, producer: Any, ends: dict[int, int], config: dict[str, str]) -> int:
    """Letters that come while this runs are left for the next time: no place beyond `ends` is kept."""
    count, silent, left = 0, 0, set(ends)
    while left and silent < SILENT_MAX:
        letters = [each for each in consumer.consume(AT_ONCE, 1.0) if each.error() is None]
        wanted = [each for each in letters if each.offset() < ends.get(each.partition(), 0)]
        silent = 0 if letters else silent + 1
        producer.begin_transaction()
        for each in wanted:
            headers = [(key, value) for key, value in each.headers() or () if not key.startswith(PREFIX)]
            producer.produce(_target(each, config), each.value(), each.key(), headers=headers)
        reached = [each for each in consumer.position(consumer.assignment()) if each.partition in left]
        known = [each for each in reached if each.offset >= 0]
        for place in known:
            place.offset = min(place.offset, ends[place.partition])
        if known:
            producer.send_offsets_to_transaction(known, consumer.consumer_group_metadata(), SECONDS)
        producer.commit_transaction(SECONDS)
        count += len(wanted)
        left -= {place.partition for place in known if place.offset >= ends[place.partition]}
    return count


def _target(letter: Any, config: dict[str, str]) -> str:
    """Where a letter came from: its header says so, or the connector reads one topic only."""
    for key, value in letter.headers() or ():
        if key == _TOPIC and value:
            return str(value.decode())
    topics = [each.strip() for each in config.get("topics", "").split(",") if each.strip()]
    if len(topics) == 1:
        return topics[0]
    raise ConnectError(
        "a dead letter does not say where it came from: set errors.deadletterqueue.context.headers.enable"
    )
