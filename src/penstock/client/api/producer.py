"""The producer: Java's `KafkaProducer` over librdkafka.

`send` returns a future at once. A thread of the producer serves the library's reports, so futures are
resolved and callbacks called, in the order of each partition, without the user's help. As in Java, an
error of the broker or of a full buffer is in the future; a serializer that fails and a wrong call raise.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from threading import Event, Lock, Thread, current_thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from penstock.client.api import partitioners, plugins, serializers
from penstock.client.api.arrow_sending import ArrowSender
from penstock.client.api.exceptions import (
    ApiException,
    AuthorizationException,
    BufferExhaustedException,
    CommitFailedException,
    IllegalGenerationException,
    IllegalStateException,
    InvalidProducerEpochException,
    KafkaException,
    ProducerFencedException,
    RecordTooLargeException,
    SerializationException,
    TimeoutException,
    UnknownMemberIdException,
    from_librdkafka,
    translated,
)
from penstock.client.api.futures import RecordFuture, WouldBlock
from penstock.client.api.interceptors import Interceptors
from penstock.client.api.metadata import PartitionInfo, TopicPartitions, partitions_for
from penstock.client.api.metrics import INTERVAL_MS, LibraryStatistics
from penstock.client.api.partitioners import ClusterView
from penstock.client.api.records import Headers, OffsetAndMetadata, ProducerRecord, RecordMetadata
from penstock.client.api.sent import BURST, OVERHEAD_BYTES, Callback, Sends, Wave, waiting
from penstock.client.api.serializers import BytesSerializer
from penstock.client.api.settings import producer_settings, wire_settings
from penstock.client.api.telemetry import WithoutTelemetry
from penstock.client.api.tracing import tracing_interceptors
from penstock.records.codecs import Codec
from penstock.wire.cluster import Cluster

if TYPE_CHECKING:
    import pyarrow as pa
from penstock.protocol.topic_partition import TopicPartition

_log = logging.getLogger(__name__)

_POLL_SECONDS: Final = 0.1
_IDLE_SECONDS: Final = 0.5
_BURST_SECONDS: Final = 0.01
"""A thread that sends `BURST` records within this time serves reports itself."""
_STAND_BACK_SECONDS: Final = 0.02
"""How long the producer's thread leaves reports to such a thread after its last burst."""
_FATAL: Final = (ProducerFencedException, InvalidProducerEpochException, AuthorizationException)
"""Errors of a record that a commit raises itself. After any other, Java's only says to abort."""


class Producer(Sends, WithoutTelemetry):
    """`Producer({"bootstrap.servers": …, "key.serializer": StringSerializer, …})`; a context manager that
    closes it. Safe for many threads."""

    def __init__(
        self, settings: Mapping[str, Any], key_serializer: Any = None, value_serializer: Any = None
    ) -> None:
        import confluent_kafka

        super().__init__()
        library, own, given = producer_settings(settings)
        self._key_serializer = _serializer("key", key_serializer or own.get("key.serializer"), given)
        self._value_serializer = _serializer("value", value_serializer or own.get("value.serializer"), given)
        self._interceptors = Interceptors(
            [
                *plugins.plugins("interceptor.classes", own.get("interceptor.classes"), {}),
                *tracing_interceptors(os.environ, str(given.get("client.id") or "")),
            ]
        )
        self._partitioner = _partitioner(own, given)
        self._max_block_ms: int = own["max.block.ms"]
        self._buffer_memory: int = own["buffer.memory"]
        self._max_request_size: int = library["message.max.bytes"]
        self._largest = min(self._max_request_size, self._buffer_memory)
        library["message.max.bytes"] = max(self._max_request_size, 1000)  # the least that librdkafka takes
        self._statistics = LibraryStatistics()
        library.setdefault("statistics.interval.ms", INTERVAL_MS)
        library |= {"partitioner": partitioners.DEFAULT, "stats_cb": self._statistics.take}
        if own["partitioner.ignore.keys"]:
            library["partitioner"] = "random"
        with translated("make a producer"):
            self._library: Any = confluent_kafka.Producer(library)
        self._topics = TopicPartitions(self._library, library["topic.metadata.refresh.interval.ms"])
        self._cluster = ClusterView(lambda topic: self._topics.count(topic, self._max_block_ms))
        self._transactional = "transactional.id" in library
        self._lock = Lock()
        self._make, self._produce = RecordFuture, self._library.produce
        self._topics.known_until = self.known_until
        self._waves = [self.wave]
        self._sent_before = 0  # of waves that are over
        self._given = given
        self._codec = Codec[str(library["compression.type"]).upper()]
        self._delivery_seconds = library["delivery.timeout.ms"] / 1000
        self._arrow: ArrowSender | None = None
        self._errors = 0
        self._send_failure: KafkaException | None = None
        self._closed = False
        self.hears_all = self._interceptors.sees_acknowledgements
        self._library_error: type[Exception] = confluent_kafka.KafkaException
        self._work = Event()
        self._progress = Event()
        self._waiting_for_room = False  # a hint: a waiting thread looks again soon without being told
        self._polling = Lock()  # one thread serves reports at a time: that keeps their order
        self._burst_began = self._burst_ended = 0.0
        self._server = Thread(target=self._serve, name="penstock-producer", daemon=True)
        self._server.start()
        self._plain = (
            self._partitioner is None
            and not self._interceptors.sees_sends
            and type(self._key_serializer) is BytesSerializer
            and type(self._value_serializer) is BytesSerializer
        )

    def _send_long(
        self,
        topic: str | ProducerRecord,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        headers: Headers | Mapping[str, bytes | None] | None = None,
        timestamp: int | None = None,
        callback: Callback | None = None,
        *,
        blocking: bool = True,
    ) -> RecordFuture:
        """With serializers, interceptors and a partitioner, and where something must be waited for."""
        if self._closed:
            raise IllegalStateException("Cannot send: the producer is closed.")
        named = list(headers.items() if isinstance(headers, Mapping) else headers) if headers else []
        if isinstance(topic, ProducerRecord) or self._interceptors.sees_sends:
            record = self._interceptors.on_send(
                topic
                if isinstance(topic, ProducerRecord)
                else ProducerRecord(topic, value, key, partition, named, timestamp)
            )
            topic, value, key = record.topic, record.value, record.key
            partition, named, timestamp = record.partition, list(record.headers), record.timestamp
        key_bytes = _serialized(self._key_serializer, topic, key, "key")
        value_bytes = _serialized(self._value_serializer, topic, value, "value")
        future = RecordFuture(self, callback, self.wave)
        arguments: dict[str, Any] = {"topic": topic, "value": value_bytes, "key": key_bytes}
        if timestamp is not None:
            arguments["timestamp"] = timestamp
        if named:
            arguments["headers"] = named
        try:
            self._check_size(key_bytes, value_bytes, named)
            chosen = self._partition(topic, partition, key, key_bytes, value, value_bytes)
        except ApiException as error:
            return self._refuse(future, error)
        if chosen is not None:
            arguments["partition"] = chosen
        return self._queue(arguments, future, blocking)

    def send_nowait(
        self, topic: str, value: Any = None, key: Any = None, partition: int | None = None, **more: Any
    ) -> RecordFuture:
        """As `send`, but raises `WouldBlock` where that would wait."""
        if not self._topics.knows(topic, (partition or 0) + 1):
            raise WouldBlock(partial(self.send, topic, value, key, partition, **more))
        return self._send_long(topic, value, key, partition, **more, blocking=False)

    def send_arrow(self, topic: str, batch: pa.RecordBatch) -> None:
        """Send the rows of an Arrow batch: value, and key, headers, timestamp and partition where it has
        them.

        Rows go where Java sends their keys. They are acknowledged when `flush` returns, and what went
        wrong is raised by one of both. Order is kept among batches, not between them and records of `send`.
        """
        if self._closed:
            raise IllegalStateException("Cannot send: the producer is closed.")
        if self._transactional:
            raise IllegalStateException("Cannot send Arrow batches in a transaction. Use send().")
        with self._lock:
            if self._arrow is None:
                self._arrow = self._arrow_sender()
        self._arrow.send(topic, batch)

    def flush(self, timeout: float | None = None) -> None:
        """Wait until every record sent before has its answer; `linger.ms` is not waited for."""
        if self._arrow is not None:
            self._arrow.flush(timeout)
        with self._lock:
            before = [wave for wave in self._waves if wave.resolved < wave.sent]
            self._sent_before += sum(wave.sent for wave in self._waves if wave not in before)
            self.wave = Wave()
            self._waves = [*before, self.wave]
        deadline = None if timeout is None else time.monotonic() + timeout
        while any(wave.resolved < wave.sent for wave in before):
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutException(f"Records are without an answer after {timeout:g} s.", "_TIMED_OUT")
            if current_thread() is self._server:
                raise IllegalStateException("Cannot flush from a callback of the producer.")
            with self._polling:
                self._call_deferred()
                self._serve_reports(self._library.flush, _POLL_SECONDS)

    def partitions_for(self, topic: str) -> list[PartitionInfo]:
        self._topics.count(topic, self._max_block_ms)
        return partitions_for(self._library, topic, self._max_block_ms / 1000)

    def metrics(self) -> dict[str, float]:
        """Java's names; a snapshot. What librdkafka reports itself is up to five seconds old."""
        with self._lock:
            sent = self._sent_before + sum(wave.sent for wave in self._waves)
        return {
            **self._statistics.metrics(),
            "record-send-total": sent + (self._arrow.acknowledged if self._arrow is not None else 0),
            "record-error-total": self._errors,
            "records-in-flight": len(self._library),
        }

    # Transactions

    def init_transactions(self, timeout: float | None = None) -> None:
        self._transact("begin as this transactional.id", "init_transactions", _seconds(timeout))

    def begin_transaction(self) -> None:
        self._transact("begin a transaction", "begin_transaction")
        self._send_failure = None

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group_metadata: Any
    ) -> None:
        """`group_metadata` is what `Consumer.group_metadata()` gives."""
        from penstock.client.api.offsets import to_library

        try:
            self._transact(
                "add offsets to the transaction",
                "send_offsets_to_transaction",
                to_library(offsets),
                group_metadata,
            )
        except (UnknownMemberIdException, IllegalGenerationException) as error:
            raise CommitFailedException(
                f"Transaction offset Commit failed due to consumer group metadata mismatch: {error}",
                error.error_name,
            ) from error

    def commit_transaction(self, timeout: float | None = None) -> None:
        if (failure := self._send_failure) is not None:
            raise KafkaException(
                f"Cannot commit: a record of the transaction failed. Abort it. {failure}"
            ) from failure
        self._transact("commit the transaction", "commit_transaction", _seconds(timeout))

    def abort_transaction(self, timeout: float | None = None) -> None:
        self._transact("abort the transaction", "abort_transaction", _seconds(timeout))

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """`with producer.transaction(): …` commits at the end, and aborts if something was raised."""
        self.begin_transaction()
        try:
            yield self
            self.commit_transaction()
        except ProducerFencedException:
            raise  # another producer has this id: there is nothing left to abort
        except BaseException:
            with suppress(KafkaException):
                self.abort_transaction()
            raise

    def close(self, timeout: float | None = None) -> None:
        """Wait for what was sent, then end. Records without an answer at the timeout fail."""
        if self._closed:
            return
        self._closed = True
        self._plain = False
        with suppress(KafkaException):
            self.flush(timeout)
        with self._polling:
            self._serve_reports(self._library.purge)
            self._serve_reports(self._library.flush, 1)
            self._call_deferred()
        self._work.set()
        self._server.join(5)
        if self._arrow is not None:
            self._arrow.close()
        for each in (self._key_serializer, self._value_serializer, self._partitioner):
            plugins.close(each)
        self._interceptors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def on_report(self, metadata: RecordMetadata | None, error: KafkaException | None) -> None:
        """A record has its answer. Called by its future, before that is resolved."""
        if error is not None:
            self._errors += 1
            if self._transactional and not isinstance(error, _FATAL):
                self._send_failure = error
        if self._interceptors.sees_acknowledgements:
            self._interceptors.on_acknowledgement(metadata, error)

    def _arrow_sender(self) -> ArrowSender:
        return ArrowSender(
            Cluster.of(wire_settings(self._given)), self._codec, self._delivery_seconds, self._buffer_memory
        )

    def _queue(self, arguments: dict[str, Any], future: RecordFuture, blocking: bool) -> RecordFuture:
        """Hand a record to the library; wait for room while its buffer is full."""
        deadline: float | None = None
        try:
            while not self._offered(arguments, future):
                if not blocking:
                    raise WouldBlock(partial(self._queue, arguments, future, True))
                deadline = self._wait_for_room(deadline)
        except ApiException as error:
            return self._refuse(future, error)
        if self._idle:
            self._work.set()
        self._burst += 1
        if blocking and self._burst >= BURST:
            self._serve_burst(time.monotonic())
        return future

    def _offered(self, arguments: dict[str, Any], future: RecordFuture) -> bool:
        """False where the buffer has no room."""
        wave = future.begin(self)
        try:
            self._library.produce(on_delivery=future, **arguments)
            return True
        except BaseException as error:
            wave.take_back()
            if isinstance(error, BufferError):
                return False
            if isinstance(error, self._library_error):
                raise from_librdkafka(error, f"write to topic {arguments['topic']!r}") from error
            raise

    def _refuse(self, future: RecordFuture, error: KafkaException) -> RecordFuture:
        """As in Java, the future has the error, and a transaction can only be aborted."""
        self._send_failure = error
        future.end(None, error)
        return future

    def _partition(
        self,
        topic: str,
        wanted: int | None,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
    ) -> int | None:
        """None leaves the choice to librdkafka."""
        if wanted is not None and wanted < 0:
            raise KafkaException(f"Invalid partition: {wanted}. Partition numbers are never negative.")
        count = self._topics.count(topic, self._max_block_ms, (wanted or 0) + 1)
        if wanted is not None or self._partitioner is None:
            return wanted
        chosen = self._partitioner.partition(topic, key, key_bytes, value, value_bytes, self._cluster)
        if not isinstance(chosen, int) or not 0 <= chosen < count:
            raise KafkaException(
                f"{type(self._partitioner).__name__} chose partition {chosen!r} of topic {topic!r}, "
                f"which has 0 to {count - 1}."
            )
        return chosen

    def _check_size(self, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        size = OVERHEAD_BYTES + (len(key) if key else 0) + (len(value) if value else 0)
        if headers:
            size += sum(len(name.encode()) + len(data or b"") + 10 for name, data in headers)
        if size <= self._largest:
            return
        by_request = self._largest == self._max_request_size
        raise RecordTooLargeException(
            f"The message is {size} bytes when serialized which is larger than {self._largest}, which is the "
            f"value of the {'max.request.size' if by_request else 'buffer.memory'} configuration.",
            "MSG_SIZE_TOO_LARGE",
        )

    def _wait_for_room(self, deadline: float | None) -> float:
        now = time.monotonic()
        deadline = now + self._max_block_ms / 1000 if deadline is None else deadline
        if now >= deadline or self._closed:
            raise BufferExhaustedException(
                f"Failed to allocate memory within the configured max blocking time {self._max_block_ms} ms. "
                f"Total memory: {self._buffer_memory} bytes (buffer.memory).",
                "_QUEUE_FULL",
            )
        self._progress.clear()
        self._waiting_for_room = True
        self._work.set()
        self._progress.wait(min(deadline - now, _POLL_SECONDS))
        self._waiting_for_room = False
        return deadline

    def _transact(self, doing: str, method: str, *arguments: Any) -> None:
        if not self._transactional:
            raise IllegalStateException(f"Cannot {doing}: the producer has no transactional.id.")
        with translated(doing), self._polling:  # commit and abort serve reports themselves
            self._call_deferred()
            getattr(self._library, method)(*arguments)

    def wake(self) -> None:
        """A thread waits for a future: reports are served at once."""
        if time.monotonic() - self._burst_ended < _STAND_BACK_SECONDS:
            self._work.set()

    def _serve_burst(self, now: float) -> None:
        """Called by a thread that sends. Where it sends without a pause, it serves reports itself: two
        threads that pass the interpreter's lock to and fro for every report take twice the time."""
        self._burst = 0
        quick = now - self._burst_began < _BURST_SECONDS
        self._burst_began = now
        if not quick or not self._polling.acquire(blocking=False):
            return
        try:
            self._serves_inline = True
            self._serve_reports(self._library.poll, 0)
        finally:
            self._serves_inline = False
            self._burst_ended = now
            self._polling.release()
        if self.deferred:
            self._work.set()

    def _serve_reports(self, method: Callable[..., Any], *arguments: Any) -> None:
        """The library raises an error that is fatal to it, such as fencing, out of any call that serves
        reports. Each record has it in its future, and each call of a transaction raises it again: a thread
        that serves reports must go on until all have theirs."""
        try:
            method(*arguments)
        except self._library_error as error:
            _log.error("the producer cannot go on: %s", error)

    def _call_deferred(self) -> None:
        """Reports that a sender's thread has left to another one. `_polling` is held."""
        while self.deferred:
            report, error, message = self.deferred.popleft()
            report(error, message)

    def _stands_back(self) -> bool:
        if waiting or self._waiting_for_room or self._closed:
            return False
        return time.monotonic() - self._burst_ended < _STAND_BACK_SECONDS

    def _serve(self) -> None:
        """Reports become resolved futures. With nothing under way the thread sleeps."""
        while not self._closed or len(self._library) or self.deferred:
            stands_back = self._stands_back()
            if stands_back:
                self._work.clear()
                if not (waiting or self.deferred):  # one that comes later wakes us
                    self._work.wait(_STAND_BACK_SECONDS)
            with self._polling:
                self._call_deferred()
                if not stands_back:
                    self._serve_reports(self._library.poll, _POLL_SECONDS if len(self._library) else 0)
            if self._waiting_for_room:
                self._progress.set()
            if len(self._library) or self._closed or self.deferred:
                continue
            self._work.clear()
            self._idle = True  # a record that was queued before is seen below; one that comes later wakes us
            if not len(self._library):
                self._work.wait(_IDLE_SECONDS)
            self._idle = False


def _serializer(side: str, given: Any, settings: dict[str, Any]) -> Any:
    made = plugins.plugin(f"{side}.serializer", given or BytesSerializer, serializers.BY_JAVA_NAME)
    if not hasattr(made, "serialize"):
        made = serializers.of_function(made)
    plugins.configure(made, settings, side == "key")
    return made


def _partitioner(own: Mapping[str, Any], settings: dict[str, Any]) -> Any:
    given = own.get("partitioner.class")
    if given is None:
        return None
    made = plugins.plugin("partitioner.class", given, partitioners.BY_JAVA_NAME)
    if made is not None:
        plugins.configure(made, settings)
    return made


def _serialized(serializer: Any, topic: str, data: Any, side: str) -> bytes | None:
    if data is None or (type(data) is bytes and type(serializer) is BytesSerializer):
        return data
    try:
        made: bytes | None = serializer.serialize(topic, data)
    except KafkaException:
        raise
    except Exception as error:
        raise SerializationException(
            f"{type(serializer).__name__} could not serialize the {side} of a record for topic {topic!r}: "
            f"{error}"
        ) from error
    if made is not None and not isinstance(made, bytes):
        raise SerializationException(
            f"{type(serializer).__name__} gave {type(made).__name__} for the {side}; a serializer gives "
            "bytes."
        )
    return made


def _seconds(timeout: float | None) -> float:
    return -1 if timeout is None else timeout
