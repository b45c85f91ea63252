"""`Stream`: records of a topic as they come, from the end (a live tail) or from anywhere, until closed.

Memory is bounded by librdkafka's fetch queue. A reader that must stay live rather than complete sets
`skip_when_behind`: it then jumps over records instead of falling further behind, and counts them in
`skipped`. A reader that must not miss a record sets `complete`: it then learns where the log ends, and a gap
is an error.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

from penstock.client.errors import ClientError
from penstock.client.librdkafka import Connection
from penstock.client.paging import Message
from penstock.client.reading import DRAIN, drain, to_message

QUEUE_KBYTES = 16_384
SKIP_CHECK_S = 0.5
_COMPLETE = {"enable_partition_eof": True, "auto_offset_reset": "error"}


class Stream:
    """An assigned consumer over some partitions.

    One thread uses it; `close` may be called from that thread only.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        starts: Mapping[int, int],
        *,
        queued_messages: int = 5_000,
        skip_when_behind: int | None = None,
        complete: bool = False,
    ) -> None:
        from confluent_kafka import Consumer, TopicPartition

        self.topic = topic
        self.skipped = 0
        self.ends: dict[int, int] = {}
        """With `complete`: by partition, where the log ended when it was last read to its end."""
        self.has_gap = False
        """With `complete`: records were gone before they were read; `poll` has raised."""
        self._failures: list[ClientError] = []
        """Raised by later calls of `poll`: records that came together with an error are not dropped."""
        self._connection = connection
        self._positions = dict(starts)
        self._skip_when_behind = skip_when_behind
        self._next_skip_check = 0.0
        self._consumer: Any = Consumer(
            connection.consumer_settings(
                queued_min_messages=queued_messages,
                queued_max_messages_kbytes=QUEUE_KBYTES,
                fetch_wait_max_ms=250,
                fetch_queue_backoff_ms=20,
                fetch_message_max_bytes=1_048_576,
                **(_COMPLETE if complete else {}),
            )
        )
        self._consumer.assign([TopicPartition(topic, p, offset) for p, offset in sorted(starts.items())])

    @property
    def partitions(self) -> frozenset[int]:
        """What is read."""
        return frozenset(self._positions)

    def poll(self, timeout_s: float, limit: int = DRAIN) -> list[Message]:
        """Up to `limit` records, waiting at most `timeout_s` for the first one.

        An empty list means none came.
        """
        if self._skip_when_behind is not None:
            self._skip_ahead(self._skip_when_behind)
        if self._failures:
            raise self._failures.pop(0)
        messages = []
        for raw in drain(self._consumer, timeout_s, limit):
            if (error := raw.error()) is None:
                messages.append(to_message(raw))
                self._positions[raw.partition()] = raw.offset() + 1
            elif error.name() == "_PARTITION_EOF":
                self.ends[raw.partition()] = raw.offset()
            else:
                self.has_gap = self.has_gap or error.name() == "_AUTO_OFFSET_RESET"
                self._failures.append(self._connection.error(error, f"read topic {self.topic!r}", self.topic))
        if self._failures and not messages:
            raise self._failures.pop(0)
        return messages

    def position(self, partition: int) -> int:
        """The next offset to be read."""
        return self._positions[partition]

    def __iter__(self) -> Iterator[Message]:
        """Every record, for ever; it waits where there is none, and for a broker that went away."""
        while True:
            yield from self.poll(1.0)

    def _skip_ahead(self, allowed: int) -> None:
        from confluent_kafka import TopicPartition

        now = time.monotonic()
        if now < self._next_skip_check:
            return
        self._next_skip_check = now + SKIP_CHECK_S
        for partition, position in self._positions.items():
            at = TopicPartition(self.topic, partition)
            _, high = self._consumer.get_watermark_offsets(at, cached=True)
            if high - position > allowed:
                target = high - allowed
                self._consumer.seek(TopicPartition(self.topic, partition, target))
                self.skipped += target - position
                self._positions[partition] = target

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
