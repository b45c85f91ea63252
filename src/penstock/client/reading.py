"""Reading windows of offsets through an assigned librdkafka consumer, within a deadline and a number of
bytes.

`messages` decides what to read (with `paging`), this module fetches it. No group is joined and nothing is
committed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from penstock.client.librdkafka import Connection
from penstock.client.paging import Found, Message, Window

PAGE_BYTES_MAX = 64 * 1024 * 1024
"""Keys and values kept for one page; beyond it the page is cut short."""

DRAIN = 500
TIMESTAMP_TYPES = {1: "CreateTime", 2: "LogAppendTime"}


@contextmanager
def open_consumer(connection: Connection, **own: Any) -> Iterator[Any]:
    from confluent_kafka import Consumer

    consumer = Consumer(connection.consumer_settings(**own))
    try:
        yield consumer
    finally:
        consumer.close()


def to_message(raw: Any) -> Message:
    kind, timestamp_ms = raw.timestamp()
    known = TIMESTAMP_TYPES.get(kind, "")
    headers = tuple((name, value) for name, value in raw.headers() or ())
    return Message(
        raw.topic(),
        raw.partition(),
        raw.offset(),
        timestamp_ms if known else None,
        known,
        raw.key(),
        raw.value(),
        headers,
    )


def drain(consumer: Any, timeout_s: float, limit: int = DRAIN) -> list[Any]:
    """Wait for one message, then take what else is there already: `consume` alone would wait for all of
    `limit`.
    """
    first = consumer.poll(timeout_s)
    if first is None:
        return []
    return [first, *consumer.consume(num_messages=max(1, limit - 1), timeout=0)]


class WindowReader:
    """Reads one window of each partition, at most `wanted` records of it: its last ones backward, its first
    ones forward.
    """

    def __init__(self, connection: Connection, topic: str, wanted: int, *, backward: bool) -> None:
        self._connection = connection
        self._topic = topic
        self._wanted = wanted
        self._backward = backward
        self._bytes = 0
        self.complete = True

    def read(self, consumer: Any, windows: Mapping[int, Window], deadline: float) -> dict[int, Found]:
        """Returns when every window has been read, or at the deadline with what there is."""
        from confluent_kafka import TopicPartition

        found = {p: Found(window) for p, window in windows.items()}
        pending = {p for p, window in windows.items() if window.start < window.end}
        if not pending:
            return found
        consumer.assign([TopicPartition(self._topic, p, windows[p].start) for p in sorted(pending)])
        while pending:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or self._full():
                self._cut_short(found, pending)
                break
            for raw in drain(consumer, min(remaining, 0.5)):
                self._take(raw, found, pending, consumer)
        consumer.unassign()
        return found

    def _take(self, raw: Any, found: dict[int, Found], pending: set[int], consumer: Any) -> None:
        from confluent_kafka import KafkaError, TopicPartition

        partition = raw.partition()
        if (error := raw.error()) is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                pending.discard(partition)
                return
            raise self._connection.error(error, f"read topic {self._topic!r}", self._topic)
        if partition not in pending:
            return
        into = found[partition]
        if raw.offset() < into.window.end:
            self._keep(into, to_message(raw))
        if raw.offset() >= into.window.end - 1 or self._enough(into):
            pending.discard(partition)
            consumer.pause([TopicPartition(self._topic, partition)])

    def _keep(self, into: Found, message: Message) -> None:
        into.messages.append(message)
        self._bytes += _size(message)
        while (
            self._backward and len(into.messages) > 1 and (len(into.messages) > self._wanted or self._full())
        ):
            self._bytes -= _size(into.messages.pop(0))
            into.trimmed = True

    def _enough(self, into: Found) -> bool:
        """Forward, a partition is done at `wanted` records; backward only at its window's end."""
        if self._backward or len(into.messages) < self._wanted:
            return False
        into.trimmed = into.messages[-1].offset < into.window.end - 1
        return True

    def _full(self) -> bool:
        return self._bytes > PAGE_BYTES_MAX

    def _cut_short(self, found: dict[int, Found], pending: set[int]) -> None:
        self.complete = False
        for partition in pending:
            found[partition].trimmed = True


def _size(message: Message) -> int:
    return len(message.key or b"") + len(message.value or b"")
