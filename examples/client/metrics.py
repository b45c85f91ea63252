"""Metrics through a topic: programs send measurements, and a reader keeps the last minute of each.

    python examples/client/metrics.py [SERVERS]

The measurements here are those that a producer keeps of itself (`Producer.metrics()`), so there is always
something to see.
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from collections.abc import Callable
from statistics import fmean
from typing import NamedTuple

from penstock.client import Consumer, Producer, StringDeserializer, StringSerializer, TopicPartition

TOPIC = "metrics"
WINDOW_MS = 60_000


class Summary(NamedTuple):
    measured: int
    least: float
    mean: float
    most: float


class LastMinute:
    """Measurements of the last minute, by the time at which they were made and not the time of arrival."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[tuple[int, float]]] = {}

    def add(self, name: str, at_ms: int, value: float) -> None:
        self._kept.setdefault(name, deque()).append((at_ms, value))

    def summaries(self, now_ms: int) -> dict[str, Summary]:
        found = {}
        for name, kept in self._kept.items():
            values = [value for at_ms, value in kept if now_ms - WINDOW_MS < at_ms <= now_ms]
            while kept and kept[0][0] <= now_ms - WINDOW_MS:
                kept.popleft()
            if values:
                found[name] = Summary(len(values), min(values), fmean(values), max(values))
        return found


def report(servers: str, program: str, rounds: int, pause_s: float = 1.0) -> None:
    settings = {
        "bootstrap.servers": servers,
        "key.serializer": StringSerializer,
        "value.serializer": StringSerializer,
    }
    with Producer(settings) as producer:
        for _ in range(rounds):
            for name, value in producer.metrics().items():
                measured = json.dumps({"name": f"{program}.{name}", "value": value})
                producer.send(TOPIC, measured, key=program)
            producer.flush()
            time.sleep(pause_s)


def watch(servers: str, goes_on: Callable[[], bool]) -> LastMinute:
    settings = {
        "bootstrap.servers": servers,  # without a group: every watcher sees everything
        "auto.offset.reset": "earliest",
        "value.deserializer": StringDeserializer,
    }
    minute = LastMinute()
    with Consumer(settings) as consumer:
        consumer.assign([TopicPartition(TOPIC, each.partition) for each in consumer.partitions_for(TOPIC)])
        while goes_on():
            for record in consumer.poll(0.5):
                measured = json.loads(record.value)
                minute.add(measured["name"], record.timestamp, measured["value"])
    return minute


if __name__ == "__main__":
    servers = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092"
    report(servers, "example", 5)
    deadline = time.monotonic() + 5
    for name, summary in (
        watch(servers, lambda: time.monotonic() < deadline).summaries(int(time.time() * 1000)).items()
    ):
        print(name, summary)
