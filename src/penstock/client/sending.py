"""`Sender`: writes records and waits for the broker's word on each. Bounded by librdkafka's queue: `send`
waits when it is full.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple

from penstock.client.errors import BrokerUnreachable, ClientError
from penstock.client.librdkafka import Connection

QUEUE_MESSAGES = 100_000
QUEUE_KBYTES = 65_536


class NewRecord(NamedTuple):
    """A record to write. Without a partition its key's hash decides, as in Kafka's Java client."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class Produced(NamedTuple):
    """Where an acknowledged record is."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None


class Sender:
    """One idempotent producer with acks=all.

    The first failure is raised by the next `send`, or by `flush`.
    """

    def __init__(self, connection: Connection, **own: Any) -> None:
        from confluent_kafka import Producer

        self._connection = connection
        settings = {
            "acks": "all",
            "enable_idempotence": True,
            "partitioner": "murmur2_random",
            "message_timeout_ms": int(connection.timeout_s * 1000),
            "queue_buffering_max_messages": QUEUE_MESSAGES,
            "queue_buffering_max_kbytes": QUEUE_KBYTES,
        }
        self._producer: Any = Producer(connection.settings(**(settings | own)))
        self._failure: ClientError | None = None
        self.delivered = 0

    def send(
        self, topic: str, record: NewRecord, on_delivered: Callable[[Produced], None] | None = None
    ) -> None:
        """Queue a record; `on_delivered` is called from a later `send` or `flush` once it is acknowledged."""
        self._raise_failure()
        deadline = time.monotonic() + self._connection.timeout_s
        while not self._offer(topic, record, on_delivered):
            if time.monotonic() > deadline:
                raise self._unreachable()
            self._producer.poll(0.1)
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until everything sent is acknowledged; raises the first failure."""
        left = self._producer.flush(self._connection.timeout_s + 1)
        self._raise_failure()
        if left:
            raise self._unreachable()

    def _offer(self, topic: str, record: NewRecord, on_delivered: Callable[[Produced], None] | None) -> bool:
        """False when the queue is full."""
        from confluent_kafka import KafkaException

        def report(error: Any, raw: Any) -> None:
            if error is not None:
                doing = f"write to topic {topic!r}"
                self._failure = self._failure or self._connection.error(error, doing, topic)
                return
            self.delivered += 1
            if on_delivered is not None:
                kind, timestamp_ms = raw.timestamp()
                on_delivered(Produced(topic, raw.partition(), raw.offset(), timestamp_ms if kind else None))

        optional: dict[str, Any] = {}
        if record.partition is not None:
            optional["partition"] = record.partition
        if record.timestamp_ms is not None:
            optional["timestamp"] = record.timestamp_ms
        try:
            self._producer.produce(
                topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                on_delivery=report,
                **optional,
            )
        except BufferError:
            return False
        except KafkaException as error:
            raise self._connection.error(error, f"write to topic {topic!r}", topic) from error
        return True

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _unreachable(self) -> BrokerUnreachable:
        connection = self._connection
        return BrokerUnreachable(connection.bootstrap_servers, connection.timeout_s, connection.reason)

    def __enter__(self) -> Sender:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.flush()
        else:
            self._producer.purge()
