"""Clients for Python beside each other, and Kafka's own for Java: records of 100 B, one process, one topic.

Everything is read and written in one run, in turns. `penstock send` gives a future for each record. Of
confluent-kafka there are rows with a delivery report for each record, which is what a future needs, and
without any, so that no failure is noticed. What batches a producer makes costs more than the wrapper does:
each row names its settings, Java's defaults (batches of 16 KB, idempotence) or librdkafka's (1 MB).

A first round of a tenth of the records is not counted: libraries are imported, and code is warm, as the JVM
of Kafka's own tools is.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from benchmarks.bench import Bench
from benchmarks.results import Metric, Row, Sample, Table
from penstock.client.admin import Admin
from penstock.testing import Broker
from tests.peers.apache_kafka import Unavailable, tool_jars

RECORDS: Final = 1_000_000
QUICK: Final = 50_000
ARROW_TIMES: Final = 10
"""So many times the records for the rows of Arrow, which are over too soon else to be measured."""
VALUE: Final = bytes(100)
RATE: Final = "k records/s"
METRICS: Final = (Metric(RATE, 0),)
JAVA: Final[dict[str, Any]] = {"linger.ms": 5, "batch.size": 16_384, "enable.idempotence": True}
LIBRARY: Final[dict[str, Any]] = {"linger.ms": 5, "batch.size": 1_000_000, "enable.idempotence": False}
Client = Callable[[str, str, int], None]
"""Sends so many records to a topic, or reads them; returns when all are acknowledged, or read."""


def run(bench: Bench) -> Iterator[Table]:
    count = QUICK if bench.effort.quick else RECORDS
    sending, reading = Table("Clients: sending", METRICS), Table("Clients: reading", METRICS)
    taken: dict[str, list[Sample]] = {}
    with Broker() as broker:
        for topic in ("read", "java"):
            Admin(broker.bootstrap_servers).create_topic(topic, 1, 1)
        _confluent(LIBRARY, broker.bootstrap_servers, "read", ARROW_TIMES * count)
        for turn in range(bench.effort.rounds + 1):
            for number, (name, client) in enumerate({**SENDING, **READING}.items()):
                topic = "read" if name in READING else f"sent-{turn}-{number}"
                if name in SENDING:
                    Admin(broker.bootstrap_servers).create_topic(topic, 1, 1)
                wanted = (count if turn else count // 10) * (ARROW_TIMES if "arrow" in name else 1)
                began = time.monotonic()
                client(broker.bootstrap_servers, topic, wanted)
                rate = wanted / (time.monotonic() - began) / 1000
                if turn:
                    taken.setdefault(name, []).append({RATE: rate})
        _java(broker.bootstrap_servers, count, taken)
    for name, samples in taken.items():
        (reading if name in READING or name.endswith("reading") else sending).rows.append(
            Row(name, {"Penstock": samples})
        )
    yield sending
    yield reading


def _penstock(settings: dict[str, Any], servers: str, topic: str, count: int) -> None:
    from penstock.client import Producer

    with Producer({"bootstrap.servers": servers, **settings}) as producer:
        send = producer.send
        for _ in range(count):
            send(topic, VALUE)


def _penstock_arrow(servers: str, topic: str, count: int) -> None:
    import pyarrow as pa

    from penstock.client import Producer

    batch = pa.record_batch({"value": pa.array([VALUE] * 5_000, pa.binary())})
    with Producer({"bootstrap.servers": servers}) as producer:
        for _ in range(count // batch.num_rows):
            producer.send_arrow(topic, batch)


def _confluent(
    settings: dict[str, Any],
    servers: str,
    topic: str,
    count: int,
    told: Callable[[Any, Any], None] | None = None,
) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers, "queue.buffering.max.messages": 0, **settings})
    for number in range(count):
        producer.produce(topic, VALUE, on_delivery=told)
        if told is not None and number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0


def _confluent_told(settings: dict[str, Any], servers: str, topic: str, count: int) -> None:
    found: list[Any] = []
    _confluent(settings, servers, topic, count, lambda error, message: found.append(error))
    assert found.count(None) == count


def _kafka_python(servers: str, topic: str, count: int) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=servers, linger_ms=5, acks="all")
    for _ in range(count):
        producer.send(topic, VALUE)
    producer.flush()
    producer.close()


def _aiokafka(servers: str, topic: str, count: int) -> None:
    from aiokafka import AIOKafkaProducer

    async def work() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=servers, linger_ms=5, acks="all")
        await producer.start()
        futures = [await producer.send(topic, VALUE) for _ in range(count)]
        await asyncio.gather(*futures)
        await producer.stop()

    asyncio.run(work())


def _penstock_poll(servers: str, topic: str, count: int, *, looks: bool = False) -> None:
    from penstock.client import Consumer, TopicPartition

    with Consumer({"bootstrap.servers": servers, "auto.offset.reset": "earliest"}) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        read = 0
        while read < count:
            found = consumer.poll(1)
            read += len(found)
            if looks:
                for each in found:
                    _ = each.offset, each.key, each.value


def _penstock_poll_arrow(servers: str, topic: str, count: int) -> None:
    from penstock.client import Consumer, TopicPartition

    with Consumer({"bootstrap.servers": servers, "auto.offset.reset": "earliest"}) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        read = 0
        while read < count:
            read += consumer.poll_arrow(1).num_rows


def _confluent_consume(servers: str, topic: str, count: int, *, looks: bool = False) -> None:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    read = 0
    while read < count:
        found = consumer.consume(500, 0.1)
        read += len(found)
        if looks:
            for each in found:
                assert each.error() is None
                _ = each.offset(), each.key(), each.value()
    consumer.close()


def _kafka_python_read(servers: str, topic: str, count: int) -> None:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest", group_id=None)
    consumer.assign([TopicPartition(topic, 0)])
    read = 0
    while read < count:
        read += sum(map(len, consumer.poll(1000).values()))
    consumer.close()


def _aiokafka_read(servers: str, topic: str, count: int) -> None:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    async def work() -> None:
        consumer = AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest")
        await consumer.start()
        consumer.assign([TopicPartition(topic, 0)])
        read = 0
        while read < count:
            read += sum(map(len, (await consumer.getmany(timeout_ms=1000)).values()))
        await consumer.stop()

    asyncio.run(work())


def _java(servers: str, count: int, taken: dict[str, list[Sample]]) -> None:
    """Kafka's own perf tools; half of the records warm the JVM up."""
    try:
        jars = tool_jars()
    except Unavailable:
        return
    tools = {
        "Java, sending": ("ProducerPerformance", "--topic", "java", "--throughput", "-1",
                          "--record-size", "100", "--num-records", str(2 * count),
                          "--warmup-records", str(count)),
        "Java, reading": ("ConsumerPerformance", "--topic", "read", "--hide-header",
                          "--num-records", str(count)),
    }  # fmt: skip
    for name, (tool, *arguments) in tools.items():
        command = ["java", "-Dlog4j2.level=OFF", "-cp", f"{jars}/*", f"org.apache.kafka.tools.{tool}"]
        done = subprocess.run(
            [*command, "--bootstrap-server", servers, *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        last = done.stdout.strip().splitlines()[-1]
        rate = last.split(" records/sec")[0].split()[-1] if "records/sec" in last else last.split(",")[5]
        taken.setdefault(name, []).append({RATE: float(rate) / 1000})


SENDING: Final[dict[str, Client]] = {
    "penstock send, a future each, Java's batches": partial(_penstock, JAVA),
    "penstock send, a future each, librdkafka's": partial(_penstock, LIBRARY),
    "penstock send_arrow": _penstock_arrow,
    "confluent-kafka produce, a report each, Java's batches": partial(_confluent_told, JAVA),
    "confluent-kafka produce, a report each, librdkafka's": partial(_confluent_told, LIBRARY),
    "confluent-kafka produce, no reports, librdkafka's": partial(_confluent, LIBRARY),
    "kafka-python send": _kafka_python,
    "aiokafka send": _aiokafka,
}
READING: Final[dict[str, Client]] = {
    "penstock poll": _penstock_poll,
    "penstock poll, offset, key and value of each": partial(_penstock_poll, looks=True),
    "penstock poll_arrow": _penstock_poll_arrow,
    "confluent-kafka consume": _confluent_consume,
    "confluent-kafka consume, offset, key and value of each": partial(_confluent_consume, looks=True),
    "kafka-python poll": _kafka_python_read,
    "aiokafka getmany": _aiokafka_read,
}
