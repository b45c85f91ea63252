"""A compacted topic as a table: the last salary of each person, whatever happened before.

    python examples/client/salaries.py [SERVERS]

The key is the person, the value the salary. A record without a value deletes the person. Compaction removes
what newer records of a key replace; a reader that starts from the beginning still sees every person once.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from penstock.client import (
    Admin,
    Consumer,
    IntegerDeserializer,
    IntegerSerializer,
    NewTopic,
    Producer,
    StringDeserializer,
    StringSerializer,
    TopicExistsException,
    TopicPartition,
)

TOPIC = "salaries"


def create(servers: str) -> None:
    settings = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "100",
        "delete.retention.ms": "100",
    }
    with Admin({"bootstrap.servers": servers}) as admin, suppress(TopicExistsException):
        admin.create_topics([NewTopic(TOPIC, 1, 1, configs=settings)]).all().result(30)


def change(servers: str, changes: list[tuple[str, int | None]]) -> None:
    settings = {
        "bootstrap.servers": servers,
        "key.serializer": StringSerializer,
        "value.serializer": IntegerSerializer,
    }
    with Producer(settings) as producer:
        futures = [producer.send(TOPIC, salary, key=person) for person, salary in changes]
    for future in futures:
        future.result(30)


def table(servers: str) -> dict[str, int]:
    """Everybody's salary as of now."""
    settings = {
        "bootstrap.servers": servers,
        "auto.offset.reset": "earliest",
        "key.deserializer": StringDeserializer,
        "value.deserializer": IntegerDeserializer,
    }
    found: dict[str, int] = {}
    with Consumer(settings) as consumer:
        partitions = [TopicPartition(TOPIC, each.partition) for each in consumer.partitions_for(TOPIC)]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(each) < end for each, end in ends.items()):
            for record in consumer.poll(1):
                if record.value is None:
                    found.pop(record.key, None)
                else:
                    found[record.key] = record.value
    return found


def main(servers: str) -> None:
    create(servers)
    change(servers, [("Ann", 5000), ("Bo", 4000), ("Ann", 5500), ("Cy", 3000), ("Bo", None)])
    print(table(servers))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092")
