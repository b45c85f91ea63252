"""Four ways to send: fire and forget, synchronous, asynchronous with a callback, and from a coroutine.

python examples/client/sending.py [SERVERS]
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from penstock.client import (
    AsyncProducer,
    KafkaException,
    Producer,
    RecordMetadata,
    StringSerializer,
)

TOPIC = "greetings"


def settings(servers: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": servers,
        "key.serializer": StringSerializer,
        "value.serializer": StringSerializer,
    }


def fire_and_forget(producer: Producer) -> None:
    """The quickest. A record that fails is retried by itself; one that fails for good is not noticed."""
    producer.send(TOPIC, "nobody waits for this")


def synchronously(producer: Producer) -> RecordMetadata:
    """The slowest: a round trip for each record. The result says where the record is."""
    return producer.send(TOPIC, "somebody waits for this", key="one").result(30)


def asynchronously(producer: Producer) -> list[RecordMetadata]:
    """As quick as the first, and nothing is missed: the callback has the place of a record, or the error."""
    acknowledged: list[RecordMetadata] = []

    def on_done(metadata: RecordMetadata | None, error: KafkaException | None) -> None:
        if metadata is None:
            print(f"lost: {error}", file=sys.stderr)
        else:
            acknowledged.append(metadata)

    for number in range(10):
        producer.send(TOPIC, f"number {number}", key="many", callback=on_done)
    producer.flush()
    return acknowledged


async def in_a_coroutine(servers: str) -> RecordMetadata:
    async with AsyncProducer(settings(servers)) as producer:
        return await producer.send_and_wait(TOPIC, "a coroutine waits for this")


def main(servers: str) -> None:
    with Producer(settings(servers)) as producer:
        fire_and_forget(producer)
        print("synchronous:", synchronously(producer))
        print("asynchronous:", len(asynchronously(producer)), "acknowledged")
    print("coroutine:", asyncio.run(in_a_coroutine(servers)))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092")
