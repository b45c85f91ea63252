"""Retries and a dead-letter topic: a record that fails does not hold up those behind it.

    python examples/client/retries.py [SERVERS]

A record that fails goes to the retry topic with the number of its attempts in a header; a record that failed
too often goes to the dead-letter topic with the reason. Both are written in the transaction that commits the
offset, so a crash neither loses nor repeats a step.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from penstock.client import Consumer, ConsumerRecord, OffsetAndMetadata, Producer

ATTEMPTS = 3
HEADER = "attempt"
Process = Callable[[ConsumerRecord], None]


def attempt_of(record: ConsumerRecord) -> int:
    return int(dict(record.headers).get(HEADER) or b"1")


def handle(producer: Producer, topic: str, record: ConsumerRecord, process: Process) -> None:
    try:
        process(record)
    except Exception as error:
        attempt = attempt_of(record)
        if attempt < ATTEMPTS:
            target, headers = f"{topic}-retry", {HEADER: str(attempt + 1).encode()}
        else:
            where = f"{record.topic}-{record.partition}@{record.offset}"
            target, headers = f"{topic}-dead", {"reason": repr(error).encode(), "from": where.encode()}
        producer.send(target, record.value, record.key, headers=headers)


def run(servers: str, topic: str, process: Process, goes_on: Callable[[], bool]) -> None:
    reading: dict[str, Any] = {
        "bootstrap.servers": servers,
        "group.id": f"{topic}-with-retries",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
    }
    writing = {"bootstrap.servers": servers, "transactional.id": f"{topic}-with-retries-1"}
    with Consumer(reading) as consumer, Producer(writing) as producer:
        producer.init_transactions()
        consumer.subscribe([topic, f"{topic}-retry"])
        while goes_on():
            records = consumer.poll(0.5)
            if not records:
                continue
            with producer.transaction():
                for record in records:
                    handle(producer, topic, record, process)
                positions = {
                    partition: OffsetAndMetadata(consumer.position(partition))
                    for partition in records.partitions()
                }
                producer.send_offsets_to_transaction(positions, consumer.group_metadata())


if __name__ == "__main__":
    run(
        sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092",
        "jobs",
        lambda record: print(record.topic, record.value),
        lambda: True,
    )
