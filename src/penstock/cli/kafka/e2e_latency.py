"""`kafka-e2e-latency`: how long a record takes from a producer to a consumer, one record at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, Final

from penstock.cli.kafka.options import CommandFailed, Given, Parser
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.starting import script

POLL_SECONDS: Final = 60.0
_OLD_FORM: Final = (
    "bootstrap-server",
    "topic",
    "num-records",
    "producer-acks",
    "record-size",
    "command-config",
)


def e2e_latency(words: Sequence[str]) -> int:
    given = _parser().parse_or_help(_with_names(words))
    given.require("bootstrap-server", "topic", "num-records", "producer-acks", "record-size")
    if given.value("producer-acks") not in ("1", "all"):
        raise CommandFailed(
            "Latency testing requires synchronous acknowledgement. Please use 1 or all for --producer-acks."
        )
    settings: dict[str, Any] = dict(load_properties(given.value("command-config")))
    settings["bootstrap.servers"] = given.value("bootstrap-server")
    _measure(given, settings)
    return 0


def _with_names(words: Sequence[str]) -> list[str]:
    """The old form, values without names, as options."""
    if any(word.startswith("--") for word in words) or len(words) not in (5, 6):
        return list(words)
    return [each for name, word in zip(_OLD_FORM, words, strict=False) for each in (f"--{name}", word)]


def _measure(given: Given, settings: dict[str, Any]) -> None:
    from penstock.client import Consumer, Producer, TopicPartition
    from penstock.client.api.exceptions import KafkaException
    from penstock.client.api.serializers import BytesSerializer

    topic, count, size = (given.value(name) for name in ("topic", "num-records", "record-size"))
    _create(topic, settings)
    reading = {**settings, "group.id": f"test-group-{int(time.time() * 1000)}", "enable.auto.commit": "false"}
    reading |= {"auto.offset.reset": "latest", "fetch.max.wait.ms": "0"}
    sending = {**settings, "linger.ms": "0", "acks": given.value("producer-acks")}
    took: list[float] = []
    try:
        with (
            Consumer(reading) as consumer,
            Producer(sending, BytesSerializer(), BytesSerializer()) as producer,
        ):
            places = [TopicPartition(at.topic, at.partition) for at in consumer.partitions_for(topic)]
            consumer.assign(places)
            consumer.seek_to_end(places)
            for at in places:
                consumer.position(at)
            for number in range(count):
                took.append(_once(consumer, producer, topic, os.urandom(size)))
                if number % 1000 == 0:
                    print(f"{number}\t{took[-1]}", flush=True)
    except KafkaException as error:
        raise CommandFailed(str(error)) from error
    _report(took)


def _once(consumer: Any, producer: Any, topic: str, value: bytes) -> float:
    """Milliseconds of one record."""
    begin = time.perf_counter()
    producer.send(topic, value).result()
    found = list(consumer.poll(POLL_SECONDS))
    elapsed = (time.perf_counter() - begin) * 1000
    if not found:
        raise CommandFailed(
            f"poll() timed out before finding a result (timeout:[{POLL_SECONDS * 1000:.0f}ms])"
        )
    if len(found) != 1 or found[0].value != value:
        raise CommandFailed("The record read did not match the record sent: does another producer write?")
    return elapsed


def _create(topic: str, settings: dict[str, Any]) -> None:
    from penstock.client.admin import Admin

    security = {
        name: text for name, text in settings.items() if name.startswith(("security.", "ssl.", "sasl."))
    }
    admin = Admin(settings["bootstrap.servers"], settings=security)
    if topic not in {info.name for info in admin.topics(with_offsets=False)}:
        print(
            f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and replication factor '
            "= 1"
        )
        admin.create_topic(topic, 1, 1, {})


def _report(took: list[float]) -> None:
    if not took:
        return
    print(f"Avg latency: {sum(took) / len(took):.4f} ms")
    ordered = sorted(int(each) for each in took)
    p50, p99, p999 = (ordered[int(len(ordered) * part)] for part in (0.5, 0.99, 0.999))
    print(f"Percentiles: 50th = {p50}, 99th = {p99}, 99.9th = {p999}")


def _parser() -> Parser:
    options = Parser("This tool is used to verify end to end latency.")
    options.takes("bootstrap-server", what="bootstrap-server", text="REQUIRED: The Kafka broker list string.")
    options.takes("topic", what="topic-name", text="REQUIRED: The topic to use for the test.")
    options.takes(
        "num-records", what="count", kind="Integer", text="REQUIRED: The number of messages to send."
    )
    options.takes(
        "producer-acks", what="producer-acks", text="REQUIRED: Producer acknowledgements, 1 or all."
    )
    options.takes(
        "record-size", what="bytes", kind="Integer", text="REQUIRED: The size of each message payload."
    )
    options.takes("command-config", what="config-file", text="Settings of the clients, as a properties file.")
    return options


main = script(e2e_latency)
