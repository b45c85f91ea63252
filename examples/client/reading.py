"""At most once, at least once, exactly once: what a reader promises is decided by when it commits.

    python examples/client/reading.py [SERVERS]

`process` is where the work is done; a crash inside it loses a record, repeats it, or does neither.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from penstock.client import (
    Consumer,
    ConsumerRecord,
    OffsetAndMetadata,
    Producer,
    StringDeserializer,
    StringSerializer,
)

Process = Callable[[ConsumerRecord], str]
GoesOn = Callable[[], bool]


def settings(servers: str, group: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "value.deserializer": StringDeserializer,
    }


def at_most_once(servers: str, topic: str, process: Process, goes_on: GoesOn) -> None:
    """Commits before the work: what a crash interrupts is lost, and nothing is done twice."""
    with Consumer(settings(servers, f"{topic}-at-most")) as consumer:
        consumer.subscribe([topic])
        while goes_on():
            records = consumer.poll(1)
            consumer.commit_sync()
            for record in records:
                process(record)


def at_least_once(servers: str, topic: str, process: Process, goes_on: GoesOn) -> None:
    """Commits after the work: what a crash interrupts is done again, and nothing is lost."""
    with Consumer(settings(servers, f"{topic}-at-least")) as consumer:
        consumer.subscribe([topic])
        while goes_on():
            for record in consumer.poll(1):
                process(record)
            consumer.commit_sync()


def exactly_once(servers: str, topic: str, results: str, process: Process, goes_on: GoesOn) -> None:
    """Results and offsets are written in one transaction: both are there, or neither. Readers of the results
    need isolation.level=read_committed. One transactional.id per reader, the same after a restart."""
    writing = {
        "bootstrap.servers": servers,
        "value.serializer": StringSerializer,
        "transactional.id": f"{topic}-exactly-1",
    }
    with Consumer(settings(servers, f"{topic}-exactly")) as consumer, Producer(writing) as producer:
        producer.init_transactions()
        consumer.subscribe([topic])
        while goes_on():
            records = consumer.poll(1)
            if not records:
                continue
            with producer.transaction():
                for record in records:
                    producer.send(results, process(record), key=record.key)
                positions = {
                    partition: OffsetAndMetadata(consumer.position(partition))
                    for partition in records.partitions()
                }
                producer.send_offsets_to_transaction(positions, consumer.group_metadata())


def main(servers: str) -> None:
    topic = "payments"
    with Producer({"bootstrap.servers": servers, "value.serializer": StringSerializer}) as producer:
        for number in range(10):
            producer.send(topic, f"payment {number}")

    def process(record: ConsumerRecord) -> str:
        print(record.partition, record.offset, record.value)
        return f"done: {record.value}"

    for way in (at_most_once, at_least_once):
        way(servers, topic, process, _for_seconds(10))
    exactly_once(servers, topic, "payments-done", process, _for_seconds(10))


def _for_seconds(seconds: float) -> GoesOn:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092")
