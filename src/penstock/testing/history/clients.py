"""confluent-kafka's producer and consumer with everything written down, and the full read at the end.

For tests with real processes; the simulator's clients are in `penstock.testing.simulation.clients`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from penstock.testing.history.events import (
    NO_TRANSACTION,
    Abort,
    Acked,
    Assign,
    Begin,
    Commit,
    Done,
    FinalRead,
    Isolation,
    Partition,
    Poll,
    Polled,
    ReadRecord,
    Revoke,
    Send,
    Source,
    Value,
    Watermarks,
)
from penstock.testing.history.recorder import Recorder

CALL_SECONDS: Final = 10.0
LOOK_AGAIN_SECONDS: Final = 0.2
TRANSACTION_SECONDS: Final = 60.0
_NEVER_LEFT: Final = frozenset({KafkaError._PURGE_QUEUE, KafkaError._QUEUE_FULL})
"""Errors of messages that are still in the client's own queue: certainly not sent."""


class RecordedProducer:
    """One life of one producer, idempotent unless `config` says otherwise. Any thread may send.

    With a `transactional.id` it is one life of a transactional one: `begin`, `send`, then `commit` or
    `abort`, by one thread.
    """

    def __init__(self, recorder: Recorder, name: str, config: Mapping[str, Any]) -> None:
        self.acked = 0
        self.errors: list[KafkaError] = []
        self._recorder = recorder
        self._name = name
        self._idempotent = bool(config.get("enable.idempotence", True))
        self._producer = Producer({"enable.idempotence": True, "acks": "all", **config})
        self._next = 0
        self._transaction = NO_TRANSACTION
        if "transactional.id" in config:
            self._producer.init_transactions(TRANSACTION_SECONDS)
        # The order of invocations must be the order in which librdkafka takes the messages.
        self._lock = threading.Lock()

    def send(
        self,
        partition: Partition,
        key: bytes | None = None,
        *,
        amount: int = 0,
        source: Source | None = None,
    ) -> bool:
        """Send the next value; False when the client's queue is full, and nothing was sent."""
        with self._lock:
            value = Value(self._name, self._transaction, self._next)
            self._next += 1
            request = Send(partition, value, key, self._idempotent, source=source, amount=amount)
            operation = self._recorder.invoke(self._name, request)
            try:
                self._producer.produce(
                    partition.topic,
                    value.encode(),
                    key,
                    partition.number,
                    on_delivery=lambda error, message: self._delivered(operation, error, message),
                )
            except BufferError as error:
                self._recorder.fail(operation, str(error))
                return False
        return True

    def begin(self) -> None:
        """Begin the next transaction."""
        self._transaction += 1
        operation = self._recorder.invoke(self._name, Begin(self._transaction))
        self._producer.begin_transaction()
        self._recorder.ok(operation, Done())

    def commit(self) -> bool:
        """Commit it; False when it has to be aborted instead. KafkaException when this life is over, and
        nobody knows what came of the transaction."""
        operation = self._recorder.invoke(self._name, Commit(self._transaction))
        try:
            _retried(lambda: self._producer.commit_transaction(TRANSACTION_SECONDS))
        except KafkaException as error:
            if error.args[0].txn_requires_abort():
                # librdkafka says so before it has asked for the commit, or when that was refused for good.
                self._recorder.fail(operation, str(error))
                return False
            self._recorder.info(operation, str(error))
            raise
        self._recorder.ok(operation, Done())
        return True

    def abort(self) -> None:
        """Abort it. KafkaException when this life is over."""
        operation = self._recorder.invoke(self._name, Abort(self._transaction))
        try:
            _retried(lambda: self._producer.abort_transaction(TRANSACTION_SECONDS))
        except KafkaException as error:
            self._recorder.info(operation, str(error))
            raise
        self._recorder.ok(operation, Done())

    def poll(self, seconds: float) -> None:
        """Let delivery reports come in."""
        self._producer.poll(seconds)

    def flush(self, seconds: float) -> int:
        """Wait for all reports; how many messages are still under way?"""
        return int(self._producer.flush(seconds))

    def _delivered(self, operation: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            offset = message.offset()
            self._recorder.ok(operation, Acked(offset if offset is not None and offset >= 0 else None))
            self.acked += 1
            return
        self.errors.append(error)
        end = self._recorder.fail if error.code() in _NEVER_LEFT else self._recorder.info
        end(operation, str(error))


def _retried(call: Callable[[], object]) -> None:
    """Until it succeeds, or fails for good: a call that ran out of time is to be made again."""
    deadline = time.monotonic() + TRANSACTION_SECONDS
    while True:
        try:
            call()
            return
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > deadline:
                raise


class RecordedConsumer:
    """One life of one consumer; it belongs to one thread."""

    def __init__(self, recorder: Recorder, name: str, config: Mapping[str, Any]) -> None:
        self._recorder = recorder
        self._name = name
        self._group = str(config.get("group.id", name))
        self._isolation = Isolation(config.get("isolation.level", Isolation.READ_COMMITTED))
        settings = {"group.id": name, "enable.auto.commit": False, "isolation.level": str(self._isolation)}
        self._consumer = Consumer({**settings, **config})

    def assign(self, starts: Mapping[Partition, int]) -> None:
        """Read these partitions from these offsets."""
        for partition, start in starts.items():
            self._recorder.fact(self._name, Assign(partition, start))
        self._consumer.assign([_named(partition, start) for partition, start in starts.items()])

    def subscribe(self, topics: list[str]) -> None:
        self._consumer.subscribe(topics, on_assign=self._assigned, on_revoke=self._revoked)

    def poll(self, count: int, seconds: float) -> tuple[ReadRecord, ...]:
        """Up to `count` records; nothing is taken when the client reports an error."""
        operation = self._recorder.invoke(self._name, Poll(self._isolation))
        messages = self._consumer.consume(count, seconds)
        records = tuple(_record(message) for message in messages if message.error() is None)
        self._recorder.ok(operation, Polled(records))
        return records

    def look(self, partition: Partition) -> Watermarks:
        """Ask the broker for the high watermark."""
        operation = self._recorder.invoke(self._name, Poll())
        seen = Watermarks(partition, self._high_watermark(partition))
        self._recorder.ok(operation, Polled((), (seen,)))
        return seen

    def _high_watermark(self, partition: Partition) -> int:
        """librdkafka does not know the partition for a while after it had no leader: it is asked again."""
        end = time.monotonic() + CALL_SECONDS
        while True:
            try:
                _, high = self._consumer.get_watermark_offsets(_named(partition), timeout=CALL_SECONDS)
                return int(high)
            except KafkaException:
                if time.monotonic() >= end:
                    raise
                time.sleep(LOOK_AGAIN_SECONDS)

    def close(self) -> None:
        self._consumer.close()

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        for item in partitions:
            place = Partition(item.topic, item.partition)
            self._recorder.fact(self._name, Assign(place, group=self._group, subscribed=True))

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        for item in partitions:
            self._recorder.fact(self._name, Revoke(Partition(item.topic, item.partition)))


def read_to_the_end(
    servers: str,
    partitions: Iterable[Partition],
    *,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
    seconds: float = 60.0,
    config: Mapping[str, Any] | None = None,
) -> list[FinalRead]:
    """The final read of each partition; TimeoutError when it does not end in time. `config` is added to the
    consumer's settings."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "final-read",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,  # the end of an empty partition is known by an answer without records
            "isolation.level": str(isolation),
            **(config or {}),
        }
    )
    try:
        return _read_all(consumer, list(partitions), isolation, time.monotonic() + seconds)
    finally:
        consumer.close()


def _read_all(
    consumer: Consumer, partitions: list[Partition], isolation: Isolation, deadline: float
) -> list[FinalRead]:
    bounds = {
        place: consumer.get_watermark_offsets(_named(place), timeout=CALL_SECONDS) for place in partitions
    }
    consumer.assign([_named(place, bounds[place][0]) for place in partitions])
    records: dict[Partition, list[ReadRecord]] = {place: [] for place in partitions}
    unread = set(partitions)
    while unread:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the final read did not come to an end of {sorted(unread)}")
        for message in consumer.consume(10_000, 0.05):
            error = message.error()
            place = Partition(message.topic() or "", message.partition() or 0)
            if error is None:
                records[place].append(_record(message))
            elif error.code() == KafkaError._PARTITION_EOF:
                unread.discard(place)
    return [
        FinalRead(place, tuple(records[place]), bounds[place][1], isolation, bounds[place][0])
        for place in partitions
    ]


def _record(message: Message) -> ReadRecord:
    place = Partition(message.topic() or "", message.partition() or 0)
    offset = message.offset()
    assert offset is not None
    value, key = message.value(), message.key()
    return ReadRecord(place, offset, Value.parse(_bytes(value)), _bytes(key))


def _bytes(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data


def _named(partition: Partition, offset: int | None = None) -> TopicPartition:
    if offset is None:
        return TopicPartition(partition.topic, partition.number)
    return TopicPartition(partition.topic, partition.number, offset)
