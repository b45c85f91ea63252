"""Follows the changelog topic of a store, committed records only, in a thread of its own.

What it learns it hands on record by record (`queries.py` keeps it). It joins no group and commits nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock.client.direct import cluster_of
from penstock.client.errors import ClientError, TopicNotFound
from penstock.client.librdkafka import Connection
from penstock.client.reading import drain, open_consumer
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire import offsets
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError

POLL_S: Final = 0.2
AT_ONCE: Final = 2000

Apply = Callable[[int, bytes, bytes | None, int], None]
"""Partition, key, value or tombstone, and time of a record."""


class ChangelogFollower:
    def __init__(
        self,
        bootstrap_servers: str,
        topic: str,
        apply: Apply,
        timeout_s: float,
        security: Mapping[str, str] | None = None,
    ) -> None:
        """`security` are Kafka's settings of how the brokers are reached."""
        self.topic, self._apply, self._timeout_s = topic, apply, timeout_s
        self._connection = Connection(bootstrap_servers, timeout_s, security)
        self._cluster = cluster_of(self._connection, client_id="penstock-streams-queries")
        self.partitions = self._count()
        self._reached = dict.fromkeys(range(self.partitions), 0)
        self._progress = threading.Condition()
        self._closed = threading.Event()
        self._failure: ClientError | None = None
        self._thread = threading.Thread(target=self._run, name=f"follow-{topic}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._thread.ident is not None:
            self._thread.join(self._timeout_s)

    def wait_until_current(self) -> None:
        """Return when everything has been applied that is committed now."""
        places = [TopicPartition(self.topic, number) for number in range(self.partitions)]
        try:
            ends = offsets.latest(self._cluster, places, Deadline(self._timeout_s), read_committed=True)
            starts = offsets.earliest(self._cluster, places, Deadline(self._timeout_s))
        except WireError as error:
            raise ClientError(f"Could not read how far {self.topic!r} is: {error}") from error
        wanted = {place.partition: end for place, end in ends.items() if end > starts[place]}
        deadline = time.monotonic() + self._timeout_s
        with self._progress:
            while any(self._reached[number] < end for number, end in wanted.items()):
                self.check()
                if not self._progress.wait(max(0.0, min(POLL_S, deadline - time.monotonic()))) and (
                    time.monotonic() > deadline
                ):
                    raise ClientError(f"{self.topic!r} was not read to its end in {self._timeout_s:g} s.")

    def check(self) -> None:
        """Raise what ended the follower."""
        if self._failure is not None:
            raise self._failure

    def _count(self) -> int:
        try:
            found = self._cluster.topics([self.topic], Deadline(self._timeout_s))
        except WireError as error:
            raise ClientError(f"Could not find the changelog {self.topic!r}: {error}") from error
        if self.topic not in found:
            raise TopicNotFound(self.topic)
        return len(found[self.topic].partitions)

    def _run(self) -> None:
        from confluent_kafka import OFFSET_BEGINNING
        from confluent_kafka import TopicPartition as Place

        own = {"isolation_level": "read_committed", "enable_partition_eof": True}
        with open_consumer(self._connection, **own) as consumer:
            consumer.assign([Place(self.topic, number, OFFSET_BEGINNING) for number in self._reached])
            while not self._closed.is_set() and self._failure is None:
                found = drain(consumer, POLL_S, AT_ONCE)
                if found:
                    self._take(found)

    def _take(self, found: list[Any]) -> None:
        reached: dict[int, int] = {}
        for message in found:
            error, partition = message.error(), message.partition()
            if error is None:
                key = message.key()
                if key is not None:
                    self._apply(partition, key, message.value(), message.timestamp()[1])
                reached[partition] = message.offset() + 1
            elif error.name() == "_PARTITION_EOF":
                reached[partition] = message.offset()
            elif not error.retriable() and error.name() not in ("_TRANSPORT", "_ALL_BROKERS_DOWN"):
                self._failure = self._connection.error(error, f"follow {self.topic!r}", self.topic)
        with self._progress:
            self._reached.update(reached)
            self._progress.notify_all()
