"""Reading topics for a query of this process: assigned partitions, committed records, no group."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final

from penstock.client.admin import Admin, Partition
from penstock.client.errors import ClientError, TopicNotFound
from penstock.client.librdkafka import Connection
from penstock.client.reading import drain
from penstock.plan.raw_records import RawRecord

AT_ONCE: Final = 1000
QUEUED_KB: Final = 4096
"""What is fetched ahead of a query: a hundred of them wait for slow clients, each with so much."""


class TopicReader:
    """One thread uses it. `at_end` holds when every partition was read to its end at least once."""

    def __init__(self, connection: Connection, starts: Mapping[Partition, int]) -> None:
        from confluent_kafka import Consumer, TopicPartition

        self._connection = connection
        self._left = set(starts)
        self._consumer: Any = Consumer(
            connection.consumer_settings(
                isolation_level="read_committed",
                enable_partition_eof=True,
                fetch_wait_max_ms=100,
                queued_max_messages_kbytes=QUEUED_KB,
                fetch_queue_backoff_ms=20,
            )
        )
        self._consumer.assign([TopicPartition(*place, at) for place, at in sorted(starts.items())])

    @property
    def at_end(self) -> bool:
        return not self._left

    def poll(self, timeout_s: float) -> list[RawRecord]:
        found: list[RawRecord] = []
        for message in drain(self._consumer, timeout_s, AT_ONCE):
            error = message.error()
            if error is None:
                found.append(_raw(message))
            elif error.name() == "_PARTITION_EOF":
                self._left.discard((message.topic(), message.partition()))
            else:
                topic = message.topic()
                raise self._connection.error(error, f"read topic {topic!r}", topic)
        return found

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> TopicReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _raw(message: Any) -> RawRecord:
    headers = tuple((name, value) for name, value in message.headers() or ())
    return RawRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        headers,
    )


def starting_offsets(admin: Admin, topics: tuple[str, ...], reset: str) -> dict[Partition, int]:
    """Where reading begins: at the start or at the end of every partition."""
    known = {topic.name: topic for topic in admin.describe()[1]}
    for name in topics:
        if name not in known:
            raise TopicNotFound(name)
    places = [(name, part.index) for name in topics for part in known[name].partitions]
    found = admin.start_offsets(places) if reset == "earliest" else admin.end_offsets(places)
    missing = [place for place in places if place not in found]
    if missing:
        raise ClientError(f"Partition {missing[0][1]} of topic {missing[0][0]!r} has no leader.")
    return found
