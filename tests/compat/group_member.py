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


def read(records: Iterable[tuple[int, int, bytes | None]]) -> dict[int, int]:
    """Tell of each record; the positions behind them."""
    positions = {}
    lines = []
    for partition, offset, value in records:
        lines.append(f"record {partition} {offset} {(value or b'').decode()}")
        positions[partition] = offset + 1
    if lines:
        print("\n".join(lines), flush=True)
    return positions


def run_confluent(servers: str, topic: str, group: str, settings: dict[str, Any]) -> None:
    from confluent_kafka import Consumer, KafkaException, TopicPartition

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
        on_assign=lambda _, parts: say("assigned", *(part.partition for part in parts)),
        on_revoke=lambda _, parts: say("revoked", *(part.partition for part in parts)),
        on_lost=lambda _, parts: say("lost", *(part.partition for part in parts)),
    )
    while not STOPPED.is_set():
        found = [message for message in consumer.consume(BATCH, 0.1) if message.error() is None]
        positions = read((message.partition(), message.offset(), message.value()) for message in found)
        if positions:
            wanted = [TopicPartition(topic, index, offset) for index, offset in positions.items()]
            with contextlib.suppress(KafkaException):  # refused or unknown: somebody will read these again
                consumer.commit(offsets=wanted, asynchronous=False)
                say("committed", *(f"{index}:{offset}" for index, offset in positions.items()))
    consumer.close()


def run_kafka_python(servers: str, topic: str, group: str, settings: dict[str, Any]) -> None:
    from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata, TopicPartition
    from kafka.errors import KafkaError

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_assigned(self, parts: Iterable[Any]) -> None:
            say("assigned", *(part.partition for part in parts))

        def on_partitions_revoked(self, parts: Iterable[Any]) -> None:
            say("revoked", *(part.partition for part in parts))

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
        positions = read((part.partition, r.offset, r.value) for part, rs in found.items() for r in rs)
        if positions:
            wanted = {
                TopicPartition(topic, index): OffsetAndMetadata(offset, "", -1)
                for index, offset in positions.items()
            }
            with contextlib.suppress(KafkaError):
                consumer.commit(wanted)
                say("committed", *(f"{index}:{offset}" for index, offset in positions.items()))
    consumer.close()


async def run_aiokafka(servers: str, topic: str, group: str, settings: dict[str, Any]) -> None:
    from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
    from aiokafka.errors import KafkaError

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
            say("assigned", *(part.partition for part in assigned))

        def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
            say("revoked", *(part.partition for part in revoked))

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
        positions = read((part.partition, r.offset, r.value) for part, rs in found.items() for r in rs)
        if positions:
            with contextlib.suppress(KafkaError):
                await consumer.commit({TopicPartition(topic, at): to for at, to in positions.items()})
                say("committed", *(f"{index}:{offset}" for index, offset in positions.items()))
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
