"""Arrow batches to topics, packed and sent by our own connection (`penstock.wire`): idempotent, acks=all.

The caller's thread packs rows. A thread of the sender sends what is packed, so the broker writes while the
next rows are packed.
"""

from __future__ import annotations

import time
from collections import deque
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING, Final

from penstock.client.api.exceptions import (
    ApiException,
    KafkaException,
    SerializationException,
    TimeoutException,
    UnknownTopicOrPartitionException,
)
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.codecs import Codec
from penstock.wire.cluster import Cluster
from penstock.wire.errors import DeliveryFailed, UnknownTopic, WireError
from penstock.wire.pack import Packed
from penstock.wire.produce import BUFFER_BYTES, Producer, ProducerOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.client.arrow.routing import Router

COLUMNS: Final = frozenset({"key", "value", "partition", "timestamp", "headers"})


_IN_FLIGHT: Final = 5
"""Batches of a partition under way: as many as brokers remember of a producer."""


class Pipe:
    """Takes packed batches and sends them by a thread of its own, in order. Holds `limit_bytes` at most: a
    caller that is faster waits."""

    def __init__(self, producer: Producer, limit_bytes: int) -> None:
        self._producer = producer
        self._limit_bytes = limit_bytes
        self._waiting: deque[tuple[TopicPartition, Packed]] = deque()
        self._waiting_bytes = 0
        self._sending = self._closed = False
        self._failure: BaseException | None = None
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="penstock-arrow-sender", daemon=True)
        self._thread.start()

    def send(self, partition: TopicPartition, packed: Packed) -> None:
        with self._changed:
            while self._waiting and self._waiting_bytes + len(packed.payload) > self._limit_bytes:
                self._check()
                self._changed.wait()
            self._check()
            self._waiting.append((partition, packed))
            self._waiting_bytes += len(packed.payload)
            self._changed.notify_all()

    def flush(self, timeout: float | None = None) -> None:
        """On return everything is acknowledged. The failure of a batch is raised, by every later call too."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while self._failure is None and (self._waiting or self._sending):
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutException(f"Rows are without an answer after {timeout:g} s.", "_TIMED_OUT")
                self._changed.wait(left)
            self._check()

    def close(self) -> None:
        """What was not flushed is lost."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        while (taken := self._take()) is not None:
            failure: BaseException | None = None
            try:
                for partition, packed in taken:
                    self._producer.send(partition, packed)
                self._producer.flush()
            except Exception as error:
                failure = error
            with self._changed:
                self._sending, self._failure = False, failure
                if failure is not None:
                    self._waiting.clear()
                self._changed.notify_all()
            if failure is not None:
                return

    def _take(self) -> list[tuple[TopicPartition, Packed]] | None:
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            if self._closed:
                return None
            taken = list(self._waiting)
            self._waiting.clear()
            self._waiting_bytes = 0
            self._sending = True
            self._changed.notify_all()
            return taken


class ArrowSender:
    """One idempotent producer for all batches. After a failure it is done: what it wrote is unknown."""

    def __init__(self, cluster: Cluster, codec: Codec, delivery_seconds: float, buffer_bytes: int) -> None:
        self._cluster = cluster
        limit_bytes = min(BUFFER_BYTES, buffer_bytes // 2)  # half is packed while the other half is sent
        self._producer = Producer(
            cluster,
            ProducerOptions(
                codec=codec,
                delivery_seconds=delivery_seconds,
                in_flight=_IN_FLIGHT,
                buffer_bytes=2 * limit_bytes,
            ),
        )
        self._pipe = Pipe(self._producer, limit_bytes)
        self._delivery_seconds = delivery_seconds
        self._routers: dict[str, Router] = {}
        self._lock = Lock()

    @property
    def acknowledged(self) -> int:
        return self._producer.acknowledged

    def send(self, topic: str, batch: pa.RecordBatch) -> None:
        """Pack the rows; batches that are full are sent. Rows of one partition keep their order."""
        from penstock.client.arrow.routing import Router, UnusableRow

        columns = _checked(batch)
        with self._lock:
            router = self._routers.get(topic)
            if router is None:
                router = Router(self._cluster, self._pipe, topic, self._delivery_seconds)
                self._routers[topic] = router
            try:
                router.send(batch, columns)
            except UnusableRow as error:
                raise SerializationException(f"Cannot send to {topic!r}: {error}.") from error
            except WireError as error:
                raise _translated(error, topic) from error

    def flush(self, timeout: float | None = None) -> None:
        """On return everything is acknowledged."""
        with self._lock:
            topics = ", ".join(self._routers)
            try:
                for router in self._routers.values():
                    router.hand_over()
                self._pipe.flush(timeout)
            except WireError as error:
                raise _translated(error, topics) from error

    def close(self) -> None:
        self._pipe.close()
        self._cluster.close()


def _checked(batch: pa.RecordBatch) -> frozenset[str]:
    names = set(batch.schema.names)
    if unknown := sorted(names - COLUMNS):
        raise SerializationException(
            f"A batch to send has no column {unknown[0]!r}; its columns are {', '.join(sorted(COLUMNS))}."
        )
    if "value" not in names:
        raise SerializationException("A batch to send has a column 'value'; null values are tombstones.")
    return frozenset(names)


def _translated(error: WireError, topic: str) -> KafkaException:
    if isinstance(error, UnknownTopic):
        return UnknownTopicOrPartitionException(
            f"Cannot send to {topic!r}: {error}.", "UNKNOWN_TOPIC_OR_PART"
        )
    if isinstance(error, DeliveryFailed):
        return TimeoutException(f"Cannot send to {topic!r}: {error}.", "_MSG_TIMED_OUT")
    return ApiException(f"Cannot send to {topic!r}: {error}.")
