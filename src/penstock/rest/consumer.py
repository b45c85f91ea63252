"""`Consumer`: one consumer instance, which reads on behalf of a client that comes and goes by HTTP.

Every call blocks within a deadline and is made by one thread at a time (`instances` sees to it). It is a
member of its group while it lives: heartbeats and rebalances are librdkafka's, also between two requests.
Records are not kept here: what was polled is answered, so nothing is left over when a partition moves to
another member.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import re2  # type: ignore[import-untyped]

from penstock.client.errors import ClientError
from penstock.client.librdkafka import Connection
from penstock.client.paging import Message
from penstock.client.reading import to_message
from penstock.rest.config import CONSUMER_QUEUE_KBYTES, RECORDS_MAX, RestSettings
from penstock.rest.errors import ILLEGAL_STATE, INVALID_PAYLOAD, RestError
from penstock.rest.formats import Format

SLICE_S: Final = 0.1
"""A reader looks this often whether its instance is being deleted."""
DRAIN_MAX: Final = 500
PATTERN_AGE_S: Final = 10.0
"""A subscription by pattern looks for new topics this often, while it is read."""
LASTING: Final = {
    "_AUTHENTICATION",
    "_AUTO_OFFSET_RESET",
    "_BAD_MSG",
    "_FATAL",
    "FENCED_INSTANCE_ID",
    "GROUP_MAX_SIZE_REACHED",
    "INCONSISTENT_GROUP_PROTOCOL",
    "INVALID_GROUP_ID",
    "OFFSET_OUT_OF_RANGE",
    "SASL_AUTHENTICATION_FAILED",
}
"""Errors that are reported to the client. librdkafka handles all others itself: a coordinator that moves, a
topic that is not there yet."""

Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class InstanceSettings:
    """What a client said when it made the instance."""

    group: str
    name: str
    format: Format
    auto_offset_reset: str
    auto_commit: bool
    fetch_min_bytes: int
    request_timeout_ms: int


class Consumer:
    """Open on return from the constructor; `close` leaves the group."""

    def __init__(self, bootstrap_servers: str, own: InstanceSettings, settings: RestSettings) -> None:
        self.own = own
        self.stopping = False
        """Set by another thread: a read that is waiting returns at once."""
        self._connection = Connection(
            bootstrap_servers, settings.request_timeout_s, {**settings.client, **settings.consumer}
        )
        self._topics: list[str] = []
        self._pattern: Any = None
        self._pattern_due = 0.0
        self._assigned = False
        self._positions: dict[Partition, int] = {}
        """Behind the last record that was answered, or where a client has sought to."""
        self._settings = settings
        self._consumer: Any = self._open()

    # -- which partitions

    def subscribe(self, topics: Sequence[str]) -> None:
        if self._pattern is not None or self._assigned:
            raise _exclusive()
        self._topics = list(dict.fromkeys(topics))
        self._consumer.subscribe(self._topics)

    def subscribe_pattern(self, pattern: str) -> None:
        if (self._topics and self._pattern is None) or self._assigned:
            raise _exclusive()
        try:
            self._pattern = re2.compile(pattern)
        except re2.error as error:
            raise RestError(INVALID_PAYLOAD, f"{pattern!r:.80} is not a pattern: {error}.") from error
        self._look_for_topics()

    def unsubscribe(self) -> None:
        """Leaves the group.

        librdkafka would leave later by itself, and then take away an assignment that was made meanwhile. So a
        new client takes the place of the old one.
        """
        self._store_positions()
        if self._topics or self._pattern is not None:
            self._consumer.close()
            self._consumer = self._open()
        else:
            self._consumer.unassign()
        self._topics, self._pattern, self._assigned = [], None, False
        self._positions.clear()

    def subscription(self) -> list[str]:
        return list(self._topics)

    def assign(self, partitions: Iterable[Partition]) -> None:
        from confluent_kafka import TopicPartition

        if self._topics or self._pattern is not None:
            raise _exclusive()
        self._store_positions()
        wanted = list(dict.fromkeys(partitions))
        self._consumer.assign([TopicPartition(*partition) for partition in wanted])
        self._assigned = bool(wanted)
        self._positions = {at: offset for at, offset in self._positions.items() if at in wanted}

    def assignment(self) -> list[Partition]:
        return sorted((at.topic, at.partition) for at in self._consumer.assignment())

    # -- records

    def read(self, timeout_s: float, max_bytes: int) -> list[Message]:
        """Records until time is up or there are `max_bytes`, which the last ones may exceed a little.

        With more than `fetch.min.bytes` it only takes what has been fetched already.
        """
        if not self._topics and self._pattern is None and not self._assigned:
            raise RestError(
                ILLEGAL_STATE,
                "Illegal state: the consumer is not subscribed to any topics or assigned any partitions.",
            )
        self._store_positions()
        deadline = time.monotonic() + timeout_s
        messages: list[Message] = []
        try:
            self._gather(messages, deadline, max_bytes)
        except ClientError:
            self.step_back(messages)
            raise
        return messages

    def answered(self, messages: Sequence[Message]) -> None:
        """These go to the client: they are what a commit without offsets is about."""
        for message in messages:
            self._positions[message.topic, message.partition] = message.offset + 1

    def step_back(self, messages: Sequence[Message]) -> None:
        """These were read and could not be answered: the next read begins with them again."""
        first: dict[Partition, int] = {}
        for message in messages:
            first.setdefault((message.topic, message.partition), message.offset)
        assigned = set(self.assignment())
        self.seek({at: offset for at, offset in first.items() if at in assigned})

    # -- offsets

    def commit(self, offsets: Mapping[Partition, tuple[int, str]] | None, *, wait: bool) -> None:
        """Commits offsets with their metadata, or without any what was answered so far."""
        from confluent_kafka import KafkaException, TopicPartition

        if offsets is None:
            offsets = {at: (offset, "") for at, offset in self._positions.items()}
        if not offsets:
            return
        wanted = [TopicPartition(*at, offset, metadata) for at, (offset, metadata) in offsets.items()]
        try:
            committed = self._consumer.commit(offsets=wanted, asynchronous=not wait)
        except KafkaException as error:
            raise self._error(error, "commit offsets") from error
        for at in committed or ():
            if at.error is not None:
                raise self._error(at.error, "commit offsets", at.topic)

    def committed(self, partitions: Iterable[Partition]) -> list[tuple[Partition, int, str]]:
        """What the group has committed; a partition without a commit is left out."""
        from confluent_kafka import KafkaException, TopicPartition

        wanted = [TopicPartition(*partition) for partition in dict.fromkeys(partitions)]
        if not wanted:
            return []
        try:
            found = self._consumer.committed(wanted, timeout=self._connection.timeout_s)
        except KafkaException as error:
            raise self._error(error, "read committed offsets") from error
        return [((at.topic, at.partition), at.offset, at.metadata or "") for at in found if at.offset >= 0]

    def seek(self, offsets: Mapping[Partition, int]) -> None:
        """The next read goes on here; a partition that is not assigned is refused."""
        self._check_assigned(offsets)
        for partition, offset in offsets.items():
            self._seek(partition, offset)
            self._positions[partition] = offset

    def seek_to_beginning(self, partitions: Iterable[Partition]) -> None:
        self._seek_to_edge(partitions, 0)

    def seek_to_end(self, partitions: Iterable[Partition]) -> None:
        self._seek_to_edge(partitions, 1)

    def seek_to_times(self, times_ms: Mapping[Partition, int]) -> None:
        """To the first record at or after a time, or to the end when there is none."""
        from confluent_kafka import KafkaException, TopicPartition

        self._check_assigned(times_ms)
        wanted = [TopicPartition(*partition, at) for partition, at in times_ms.items()]
        if not wanted:
            return
        try:
            found = self._consumer.offsets_for_times(wanted, timeout=self._connection.timeout_s)
        except KafkaException as error:
            raise self._error(error, "look for offsets by time") from error
        self.seek({(at.topic, at.partition): at.offset for at in found if at.offset >= 0})
        self.seek_to_end((at.topic, at.partition) for at in found if at.offset < 0)

    def close(self) -> None:
        """Leaves the group; with auto-commit what was answered is committed first."""
        self._store_positions()
        self._consumer.close()

    # -- how

    def _open(self) -> Any:
        from confluent_kafka import Consumer as Binding

        return Binding(self._binding_settings(self._settings))

    def _binding_settings(self, settings: RestSettings) -> dict[str, Any]:
        patience_ms = max(300_000, settings.consumer_instance_timeout_ms + self.own.request_timeout_ms)
        return self._connection.settings(
            group_id=self.own.group,
            client_id=self.own.name,
            auto_offset_reset=self.own.auto_offset_reset,
            enable_auto_commit=self.own.auto_commit,
            enable_auto_offset_store=False,
            allow_auto_create_topics=False,
            max_poll_interval_ms=min(86_400_000, patience_ms),
            queued_min_messages=10_000,
            queued_max_messages_kbytes=CONSUMER_QUEUE_KBYTES,
            fetch_message_max_bytes=1_048_576,
            fetch_wait_max_ms=250,
            fetch_queue_backoff_ms=5,
            topic_metadata_refresh_interval_ms=10_000,
        )

    def _enough(self, size: int) -> bool:
        return 0 <= self.own.fetch_min_bytes < size

    def _gather(self, messages: list[Message], deadline: float, max_bytes: int) -> None:
        size = 0
        while size < max_bytes and len(messages) < RECORDS_MAX and not self.stopping:
            self._look_for_topics()
            wait_s = 0.0 if self._enough(size) else deadline - time.monotonic()
            before = len(messages)
            self._poll(messages, max(0.0, min(wait_s, SLICE_S)), _room(size, before, max_bytes))
            found = messages[before:]
            size += sum(len(message.key or b"") + len(message.value or b"") for message in found)
            if time.monotonic() >= deadline or (wait_s <= 0 and not found):
                return

    def _poll(self, messages: list[Message], timeout_s: float, room: int) -> None:
        """Adds what comes; an error that lasts is raised behind what came before it."""
        first = self._consumer.poll(timeout_s)
        if first is None:
            return
        polled = [first]
        if room > 1:
            polled += self._consumer.consume(num_messages=room - 1, timeout=0)
        for raw in polled:
            if (error := raw.error()) is None:
                messages.append(to_message(raw))
            elif error.name() in LASTING or error.name().endswith("_AUTHORIZATION_FAILED"):
                raise self._error(error, "read records", raw.topic())

    def _look_for_topics(self) -> None:
        """Subscribes to what the pattern matches now; Kafka's Java client matches whole names, too."""
        from confluent_kafka import KafkaException

        if self._pattern is None or time.monotonic() < self._pattern_due:
            return
        try:
            found = self._consumer.list_topics(timeout=self._connection.timeout_s).topics
        except KafkaException as error:
            raise self._error(error, "read the cluster's metadata") from error
        self._pattern_due = time.monotonic() + PATTERN_AGE_S
        topics = sorted(name for name in found if self._pattern.fullmatch(name))
        if topics != self._topics:
            self._topics = topics
            self._consumer.subscribe(topics)

    def _store_positions(self) -> None:
        """What was answered before is now known to have arrived: auto-commit may commit it."""
        from confluent_kafka import KafkaException, TopicPartition

        if not self.own.auto_commit:
            return
        for partition in self.assignment():
            if partition in self._positions:
                try:
                    self._consumer.store_offsets(
                        offsets=[TopicPartition(*partition, self._positions[partition])]
                    )
                except KafkaException:  # it has gone to another member this moment
                    self._positions.pop(partition)

    def _check_assigned(self, partitions: Iterable[Partition]) -> None:
        assigned = set(self.assignment())
        for topic, partition in partitions:
            if (topic, partition) not in assigned:
                raise RestError(
                    ILLEGAL_STATE, f"Illegal state: No current assignment for partition {topic}-{partition}"
                )

    def _seek_to_edge(self, partitions: Iterable[Partition], which: int) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        wanted = list(dict.fromkeys(partitions))
        self._check_assigned(wanted)
        for partition in wanted:
            try:
                edges = self._consumer.get_watermark_offsets(
                    TopicPartition(*partition), timeout=self._connection.timeout_s
                )
            except KafkaException as error:
                raise self._error(error, "read offsets", partition[0]) from error
            self.seek({partition: edges[which]})

    def _seek(self, partition: Partition, offset: int) -> None:
        """A partition that was assigned this moment is not ready to be moved: it is tried again."""
        from confluent_kafka import KafkaException, TopicPartition

        deadline = time.monotonic() + self._connection.timeout_s
        while True:
            try:
                self._consumer.seek(TopicPartition(*partition, offset))
                return
            except KafkaException as error:
                if error.args[0].name() != "_STATE" or time.monotonic() > deadline:
                    raise self._error(error, "seek", partition[0]) from error
            time.sleep(0.01)

    def _error(self, error: Any, doing: str, topic: str | None = None) -> ClientError:
        return self._connection.error(error, doing, topic)


def _room(size: int, count: int, max_bytes: int) -> int:
    """How many more records to take at once, judged by the ones so far."""
    if count == 0:
        return 1
    return max(1, min(DRAIN_MAX, (max_bytes - size) // max(1, size // count) + 1))


def _exclusive() -> RestError:
    return RestError(
        ILLEGAL_STATE, "Illegal state: Subscription to topics, partitions and pattern are mutually exclusive"
    )
