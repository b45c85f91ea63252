"""`Messages`: a page of a topic, a live tail, a stream from anywhere, and writing records.

It joins no consumer group and commits nothing. Where to read is decided in `paging`, fetched in `reading` and
`stream`, written in `sending`. Called by the command line and by the console's backend. Each call opens its
own librdkafka client, so calls from several threads do not meet.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.client.admin import DEFAULT_TIMEOUT_S, Admin, Partition
from penstock.client.errors import BrokerUnreachable, InvalidValue, PartitionNotFound
from penstock.client.librdkafka import Connection
from penstock.client.paging import (
    After,
    Found,
    FromTimestamp,
    Newest,
    Page,
    Span,
    Start,
    earlier_window,
    first_windows,
    is_backward,
    merge,
    next_start,
    share_of,
)
from penstock.client.reading import WindowReader, open_consumer
from penstock.client.sending import NewRecord, Produced, Sender
from penstock.client.stream import Stream

LIMIT_MAX = 1_000
WIDENINGS = 6


class Messages:
    """Reads and writes records of one cluster.

    `isolation_level` as Kafka's: `read_committed` hides open and aborted transactions.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        isolation_level: str = "read_uncommitted",
        settings: Mapping[str, Any] | None = None,
        admin: Admin | None = None,
    ) -> None:
        extra = {"isolation.level": isolation_level} | dict(settings or {})
        self._admin = admin or Admin(bootstrap_servers, timeout_s=timeout_s, settings=settings)
        self._consumers = Connection(bootstrap_servers, timeout_s, extra)
        self._producers = Connection(bootstrap_servers, timeout_s, settings)
        self._timeout_s = timeout_s

    def page(
        self, topic: str, start: Start | None = None, *, partition: int | None = None, limit: int = 100
    ) -> Page:
        """Up to `limit` messages of a topic or of one partition, from `start` (the newest when None)."""
        if not 1 <= limit <= LIMIT_MAX:
            raise InvalidValue(f"A page of {limit} messages cannot be read. Ask for 1 to {LIMIT_MAX}.")
        deadline = time.monotonic() + self._timeout_s
        start = start or Newest()
        spans = self._spans(topic, partition)
        start = self._resolved(topic, start, spans)
        backward = is_backward(start)
        wanted = share_of(limit, len(spans))
        reader = WindowReader(self._consumers, topic, wanted, backward=backward)
        with open_consumer(self._consumers, **_page_settings(wanted)) as consumer:
            found = reader.read(consumer, first_windows(start, spans, wanted), deadline)
            if backward:
                _look_further_back(reader, consumer, found, spans, limit, deadline)
            consumer.poll(0)
        if not reader.complete and not any(f.messages for f in found.values()):
            address, reason = self._consumers.bootstrap_servers, self._consumers.reason
            raise BrokerUnreachable(address, self._timeout_s, reason)
        shown = merge(found, limit, backward=backward)
        following = next_start(found, shown, spans, backward=backward)
        return Page(tuple(shown), backward, following, reader.complete)

    def tail(
        self,
        topic: str,
        *,
        partition: int | None = None,
        queued_messages: int = 5_000,
        skip_when_behind: int | None = None,
    ) -> Stream:
        """What is appended from now on.

        The end is fixed before this returns, so nothing produced after it is missed.
        """
        return self.stream(
            topic,
            None,
            partition=partition,
            queued_messages=queued_messages,
            skip_when_behind=skip_when_behind,
        )

    def stream(
        self,
        topic: str,
        start: Start | None,
        *,
        partition: int | None = None,
        queued_messages: int = 5_000,
        skip_when_behind: int | None = None,
        complete: bool = False,
    ) -> Stream:
        """Records from `start` on without an end; None starts at the end. With `complete` the stream learns
        where the log ends (`Stream.ends`), and a gap is an error."""
        spans = self._spans(topic, partition)
        if start is None:
            starts = {p: span.high for p, span in spans.items()}
        elif is_backward(start):
            raise InvalidValue(
                "A stream goes forward. Start it at an offset, a time, the oldest record or the end."
            )
        else:
            windows = first_windows(self._resolved(topic, start, spans), spans, 1)
            starts = {p: window.start for p, window in windows.items()}
        return Stream(
            self._consumers,
            topic,
            starts,
            queued_messages=queued_messages,
            skip_when_behind=skip_when_behind,
            complete=complete,
        )

    def produce(self, topic: str, record: NewRecord) -> Produced:
        """Write one record to an existing topic and wait until the broker has it.

        It is sent once and never again, so it cannot be doubled; an idempotent producer would promise the
        same half a second later, which is how long librdkafka takes to get a producer id.
        """
        partitions = len(self._admin.topic(topic).partitions)
        if record.partition is not None and not 0 <= record.partition < partitions:
            raise PartitionNotFound(topic, record.partition, partitions)
        produced: list[Produced] = []
        with self.sender(enable_idempotence=False, retries=0, linger_ms=0) as sender:
            sender.send(topic, record, produced.append)
        return produced[0]

    def sender(self, **own: Any) -> Sender:
        """For many records.

        `own` are librdkafka producer settings with underscores for dots. The broker may create topics.
        """
        return Sender(self._producers, **own)

    def _spans(self, topic: str, partition: int | None) -> dict[int, Span]:
        info = self._admin.topic(topic)
        if partition is not None and not 0 <= partition < len(info.partitions):
            raise PartitionNotFound(topic, partition, len(info.partitions))
        return {
            p.index: Span(p.log_start_offset, p.high_watermark)
            for p in info.partitions
            if partition in (None, p.index)
            and p.log_start_offset is not None
            and p.high_watermark is not None
        }

    def _resolved(self, topic: str, start: Start, spans: Mapping[int, Span]) -> Start:
        """A timestamp becomes offsets; a partition without a record that late starts at its end."""
        if not isinstance(start, FromTimestamp):
            return start
        partitions: Sequence[Partition] = [(topic, p) for p in spans]
        offsets = self._admin.offsets_at(partitions, start.timestamp_ms)
        return After({p: offsets.get((topic, p), span.high) for p, span in spans.items()})


def _page_settings(wanted: int) -> dict[str, Any]:
    return {
        "enable_partition_eof": True,
        "queued_min_messages": max(1, wanted),
        "queued_max_messages_kbytes": 16_384,
        "fetch_wait_max_ms": 100,
        "fetch_queue_backoff_ms": 10,
    }


def _look_further_back(
    reader: WindowReader,
    consumer: Any,
    found: dict[int, Found],
    spans: Mapping[int, Span],
    limit: int,
    deadline: float,
) -> None:
    """Where gaps left the page short, read older windows, each eight times as wide as the last."""
    for _ in range(WIDENINGS):
        short = reader.complete and sum(len(f.messages) for f in found.values()) < limit
        earlier = {p: earlier_window(f.window, spans[p]) for p, f in found.items() if not f.trimmed}
        windows = {p: window for p, window in earlier.items() if window is not None}
        if not short or not windows:
            return
        for partition, older in reader.read(consumer, windows, deadline).items():
            newer = found[partition]
            merged = older.messages + newer.messages
            window = older.window._replace(end=newer.window.end)
            found[partition] = Found(window, merged, older.trimmed)
