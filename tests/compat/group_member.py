"""One member of a consumer group as a process, with the client it is told to use. It says on standard output
what it is given, reads and has committed; SIGTERM makes it leave.

    python group_member.py CLIENT SERVERS TOPIC GROUP [SETTING=VALUE ...]
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Iterable
from typing import Any

STOPPED = threading.Event()
BATCH = 100


def say(kind: str, *words: object) -> None:
    print(kind, *words, flush=True)


class Positions:
    """How far this member has read and not yet committed. What it must give up is no longer its to commit."""

    def __init__(self) -> None:
        self.pending: dict[int, int] = {}

    def read(self, records: Iterable[tuple[int, int, bytes | None]]) -> dict[int, int]:
        """Tell of each record; everything that is still to be committed."""
        lines = []
        for partition, offset, value in records:
            lines.append(f"record {partition} {offset} {(value or b'').decode()}")
            self.pending[partition] = offset + 1
        if lines:
            print("\n".join(lines), flush=True)
        return self.pending

    def committed(self) -> None:
        say("committed", *(f"{index}:{offset}" for index, offset in self.pending.items()))
        self.pending = {}

    def given(self, partitions: Iterable[Any]) -> None:
        say("assigned", *(part.partition for part in partitions))

    def taken(self, partitions: Iterable[Any]) -> None:
        for part in partitions:
            self.pending.pop(part.partition, None)
        say("revoked", *(part.partition for part in partitions))


def run_confluent(servers: str, topic: str, group: str, settings: dict[str, Any]) -> None:
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    positions = Positions()
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "reconnect.backoff.max.ms": 500,
            "topic.metadata.refresh.interval.ms": 1000,
            "log_level": 0,
            **settings,
        }
    )
    consumer.subscribe(
        [topic],
        on_assign=lambda _, parts: positions.given(parts),
        on_revoke=lambda _, parts: positions.taken(parts),
        on_lost=lambda _, parts: positions.taken(parts),
    )
    while not STOPPED.is_set():
        found = [message for message in consumer.consume(BATCH, 0.1) if message.error() is None]
        pending = positions.read(
            (message.partition(), message.offset(), message.value()) for message in found
        )
        if pending:
            wanted = [TopicPartition(topic, index, offset) for index, offset in pending.items()]
            with contextlib.suppress(KafkaException):  # refused or unknown: again, unless they are taken away
                consumer.commit(offsets=wanted, asynchronous=False)
                positions.committed()
    consumer.close()


def run_kafka_python(servers: str, topic: str, group: str, settings: dict[str, Any]) -> None:
    from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
    from kafka.errors import KafkaError

    positions = Positions()
    assigned: set[Any] = set()

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_assigned(self, parts: Iterable[Any]) -> None:
            positions.given(parts)
            assigned.update(parts)

        def on_partitions_revoked(self, parts: Iterable[Any]) -> None:
            positions.taken(parts)

    consumer = KafkaConsumer(
        bootstrap_servers=servers,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        reconnect_backoff_max_ms=500,
        **{name.replace(".", "_"): int(value) for name, value in settings.items()},
    )
    consumer.subscribe([topic], listener=Listener())
    while not STOPPED.is_set():
        found = consumer.poll(100, max_records=BATCH)
        if assigned:
            # kafka-python goes on where it was in a partition that it had before, also when it has missed a
            # generation in which somebody else read on, and takes commits back, on Apache Kafka too.
            with contextlib.suppress(KafkaError):
                for part in list(assigned & consumer.assignment()):
                    consumer.seek(part, consumer.committed(part) or 0)
                assigned.clear()
            continue
        pending = positions.read(
            (part.partition, r.offset, r.value) for part, rs in found.items() for r in rs
        )
        if pending:
            wanted = {
                TopicPartition(topic, index): OffsetAndMetadata(offset, "", -1)
                for index, offset in pending.items()
            }
            with contextlib.suppress(KafkaError):
                consumer.commit(wanted)
                positions.committed()
    consumer.close()


async def run_aiokafka(servers: str, topic: str, group: str, settings: dict[str, Any]) -> None:
    from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
    from aiokafka.errors import KafkaError

    positions = Positions()

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
            positions.given(assigned)

        def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
            positions.taken(revoked)

    consumer = AIOKafkaConsumer(
        bootstrap_servers=servers,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **{name.replace(".", "_"): int(value) for name, value in settings.items()},
    )
    await consumer.start()
    consumer.subscribe([topic], listener=Listener())
    while not STOPPED.is_set():
        try:
            found = await consumer.getmany(timeout_ms=100, max_records=BATCH)
        except KafkaError:
            continue
        pending = positions.read(
            (part.partition, r.offset, r.value) for part, rs in found.items() for r in rs
        )
        if pending:
            with contextlib.suppress(KafkaError):
                await consumer.commit({TopicPartition(topic, at): to for at, to in pending.items()})
                positions.committed()
    await consumer.stop()


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: STOPPED.set())
    client, servers, topic, group = sys.argv[1:5]
    settings = dict(argument.split("=", 1) for argument in sys.argv[5:])
    if client == "confluent-kafka":
        run_confluent(servers, topic, group, settings)
    elif client == "kafka-python":
        run_kafka_python(servers, topic, group, settings)
    else:
        asyncio.run(run_aiokafka(servers, topic, group, settings))
    say("left")


if __name__ == "__main__":
    main()
