"""The share consumer: Java's `KafkaShareConsumer` (KIP-932) over librdkafka.

Members of a share group take records of the same partitions, each record one of them, as from a queue. Each
record is acknowledged by itself: accepted, released for another attempt, or rejected. A broker without share
groups is refused at `subscribe`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from threading import Event, Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from penstock.client.api.decoding import Decoder
from penstock.client.api.exceptions import (
    IllegalStateException,
    InvalidGroupIdException,
    KafkaException,
    SerializationException,
    UnsupportedVersionException,
    WakeupException,
    from_librdkafka,
    translated,
)
from penstock.client.api.metrics import INTERVAL_MS, LibraryStatistics
from penstock.client.api.offsets import partitions_of
from penstock.client.api.records import ConsumerRecord, ConsumerRecords
from penstock.client.api.settings import share_settings
from penstock.client.api.telemetry import WithoutTelemetry
from penstock.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from penstock.client.api.admin.client import Admin

FEATURE: Final = "share.version"
LOCK_MS: Final = "share.record.lock.duration.ms"
_WAKEUP_SECONDS: Final = 0.1
"""How long a wait inside the library lasts before this client looks for a `wakeup()`."""
CommitCallback = Callable[[dict[TopicPartition, set[int]], KafkaException | None], None]


class AcknowledgeType(IntEnum):
    ACCEPT = 1
    """It is done."""
    RELEASE = 2
    """Give it to a member once more."""
    REJECT = 3
    """It can never be done: give it to nobody again."""


class ShareConsumer(WithoutTelemetry):
    """`ShareConsumer({"bootstrap.servers": …, "group.id": …})`; a context manager that closes it.

    By default records are accepted by the next `poll` or commit. With share.acknowledgement.mode=explicit
    each record is acknowledged by hand. One thread uses it.
    """

    def __init__(
        self, settings: Mapping[str, Any], key_deserializer: Any = None, value_deserializer: Any = None
    ) -> None:
        import confluent_kafka

        library, own, self._given = share_settings(settings)
        if not library.get("group.id"):
            raise InvalidGroupIdException("A share consumer needs a group.id.")
        self._decoder = Decoder(key_deserializer, value_deserializer, own, self._given)
        self._statistics = LibraryStatistics()
        library.setdefault("statistics.interval.ms", INTERVAL_MS)
        library["stats_cb"] = self._statistics.take
        with translated("make a share consumer"):
            self._library: Any = confluent_kafka.ShareConsumer(library)
        self._library_error: type[Exception] = confluent_kafka.KafkaException
        self._topics: frozenset[str] = frozenset()
        self._entering = Lock()
        self._closed = False
        self._known_to_share = False
        self._woken = Event()
        self._records_total = 0

    def subscribe(self, topics: Collection[str]) -> None:
        """These topics instead of those before. UnsupportedVersionException where the cluster has no share
        groups."""
        self._check_open()
        if not self._known_to_share:
            self._check_broker()
        with self._used("subscribe"):
            self._library.subscribe(list(topics))
            self._topics = frozenset(topics)

    def unsubscribe(self) -> None:
        with self._used("unsubscribe"):
            self._library.unsubscribe()
            self._topics = frozenset()

    def subscription(self) -> frozenset[str]:
        return self._topics

    def poll(self, seconds: float = 0.0) -> ConsumerRecords:
        """Records that this member has for now; none after `seconds`. A record that cannot be read raises
        `SerializationException`, and is rejected where acknowledgements are explicit."""
        with self._used("poll"):
            messages = self._taken(time.monotonic() + seconds)
        self._records_total += len(messages)
        records: list[ConsumerRecord] = []
        for message in messages:
            if (error := message.error()) is not None:
                raise from_librdkafka(self._library_error(error), "read records")
            try:
                records.append(self._decoder.record(message, message.delivery_count()))
            except SerializationException:
                self._reject(message)
                raise
        return ConsumerRecords(records)

    def wakeup(self) -> None:
        """Make the poll that waits now, or the next one, raise `WakeupException`. For any thread."""
        self._woken.set()

    def metrics(self) -> dict[str, float]:
        """Java's names; a snapshot."""
        return {**self._statistics.metrics(), "records-consumed-total": self._records_total}

    def acquisition_lock_timeout_ms(self) -> int:
        """How long a member keeps a record that it has not acknowledged: what the group's settings say."""
        from penstock.client.api.admin.configs import ConfigResource

        owner = ConfigResource("GROUP", self._given["group.id"])
        with self._admin() as admin:
            found = admin.describe_configs([owner]).result(30)[owner][LOCK_MS]
        return int(found.value or 0)

    def acknowledge(
        self, record: ConsumerRecord, acknowledge_type: AcknowledgeType = AcknowledgeType.ACCEPT
    ) -> None:
        """For share.acknowledgement.mode=explicit. The broker learns of it by the next poll or commit."""
        with self._used("acknowledge a record"):
            self._library.acknowledge_offset(
                record.topic, record.partition, record.offset, int(acknowledge_type)
            )

    def commit_sync(self, timeout: float = 60.0) -> dict[TopicPartition, KafkaException | None]:
        """Tell the broker what was acknowledged, and wait. An error is that of one partition."""
        with self._used("commit acknowledgements"):
            found = self._library.commit_sync(timeout)
        return {
            partitions_of([each])[0]: None if error is None else from_librdkafka(error, "commit")
            for each, error in (found or {}).items()
        }

    def commit_async(self) -> None:
        with self._used("commit acknowledgements"):
            self._library.commit_async()

    def set_acknowledgement_commit_callback(self, callback: CommitCallback | None) -> None:
        """Called inside poll, commits and close with the offsets that the broker was told of."""

        def told(offsets: Any, error: Any) -> None:
            assert callback is not None
            shown = {partitions_of([each])[0]: set(found) for each, found in (offsets or {}).items()}
            callback(shown, None if error is None else from_librdkafka(error, "commit acknowledgements"))

        with self._used("set a callback"):
            self._library.set_acknowledgement_commit_callback(None if callback is None else told)

    def close(self) -> None:
        """Acknowledge what was accepted, and leave the group."""
        if not self._closed:
            self._closed = True
            with translated("close"):
                self._library.close()
            self._decoder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _taken(self, deadline: float) -> list[Any]:
        """Waits in short pieces, so that a wakeup is seen."""
        while True:
            if self._woken.is_set():
                self._woken.clear()
                raise WakeupException("wakeup() was called.")
            left = deadline - time.monotonic()
            found = list(self._library.poll(max(min(left, _WAKEUP_SECONDS), 0.0)))
            if found or left <= _WAKEUP_SECONDS:
                return found

    def _reject(self, message: Any) -> None:
        """A record that nobody can read would come back for ever."""
        if self._given.get("share.acknowledgement.mode") == "explicit":
            self._library.acknowledge(message, AcknowledgeType.REJECT)

    def _check_open(self) -> None:
        if self._closed:
            raise IllegalStateException("This share consumer is closed.")

    def _check_broker(self) -> None:
        """librdkafka would wait for ever for a group that a broker without share groups cannot make."""
        with self._admin() as admin:
            features = admin.describe_features().result(30).finalized_features
        if FEATURE not in features:
            raise UnsupportedVersionException(
                "The cluster has no share groups (KIP-932): its brokers are too old, or share.version is 0. "
                "Use a Consumer with a group instead.",
                "UNSUPPORTED_VERSION",
            )
        self._known_to_share = True

    def _admin(self) -> Admin:
        from penstock.client.api.admin.client import Admin

        asked = {name: value for name, value in self._given.items() if name not in _NOT_OF_ADMIN}
        return Admin({name: each for name, each in asked.items() if not name.startswith(_OF_READING)})

    @contextmanager
    def _used(self, doing: str) -> Iterator[None]:
        """One call at a time; what the library raises leaves as Java's exceptions."""
        import confluent_kafka

        self._check_open()
        if not self._entering.acquire(blocking=False):
            raise IllegalStateException("A share consumer is not safe for multi-threaded access.")
        try:
            with translated(doing):
                yield
        except confluent_kafka.IllegalStateException as error:
            raise IllegalStateException(f"Cannot {doing}: {error}") from error
        finally:
            self._entering.release()


_NOT_OF_ADMIN: Final = frozenset({"group.id", "key.deserializer", "value.deserializer", "check.crcs"})
_OF_READING: Final = ("fetch.", "max.", "share.", "librdkafka.", "interceptor", "schema.", "rule.")
