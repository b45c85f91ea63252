"""Clients that live through a migration: they stop on one cluster and go on at another."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence

from confluent_kafka import Consumer, Producer

PARTITIONS = 2
PAUSE_SECONDS = 0.02
Place = tuple[str, int]


class Writer:
    """Writes numbers to each partition of its topics, each one higher than the one before."""

    def __init__(self, topics: Sequence[str], first: int) -> None:
        self._topics = topics
        self.next = first
        """The number that comes next, of each partition."""
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, servers: str) -> None:
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, args=(servers,), daemon=True)
        self._thread.start()

    def _run(self, servers: str) -> None:
        producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 5})
        while not self._stopping.wait(PAUSE_SECONDS):
            for topic in self._topics:
                for partition in range(PARTITIONS):
                    producer.produce(topic, b"%d" % self.next, partition=partition)
            producer.poll(0)
            self.next += 1
        assert producer.flush(60) == 0

    def stop(self) -> None:
        assert self._thread is not None
        self._stopping.set()
        self._thread.join(90)


class Reader(threading.Thread):
    """A member of a group: reads a topic slowly and commits what it has read, until it is stopped."""

    def __init__(self, servers: str, group: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._servers = servers
        self._group = group
        self._topic = topic
        self._stopping = threading.Event()
        self.values: dict[Place, list[int]] = defaultdict(list)

    def run(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": self._group,
                "auto.offset.reset": "error",  # a group that moved without an offset would be found out
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        consumer.subscribe([self._topic])
        while not self._stopping.is_set():
            found = consumer.consume(10, 0.1)
            for message in found:
                error = message.error()
                assert error is None or error.retriable(), error
                if error is None and (value := message.value()) is not None:
                    self.values[message.topic(), message.partition()].append(int(value))
            if found:
                consumer.commit(asynchronous=False)
        consumer.close()

    def stop(self) -> dict[Place, list[int]]:
        """What was read and committed."""
        self._stopping.set()
        self.join(60)
        return dict(self.values)
