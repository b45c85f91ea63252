"""The consumer: Java's `KafkaConsumer` over librdkafka.

One thread uses it; `wakeup()` alone may be called by another. Positions are this client's own: the offset
behind the last record that `poll` returned. Commits, by hand and automatic, are of positions. As in Java,
automatic commits happen inside `poll`, when partitions are revoked, and at `close`.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import contextmanager, suppress
from threading import Event, Lock, get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from penstock.client.api import plugins
from penstock.client.api.arrow_reading import ArrowReader
from penstock.client.api.commits import CommitCallback, Commits
from penstock.client.api.decoding import Decoder
from penstock.client.api.exceptions import (
    IllegalStateException,
    InvalidGroupIdException,
    KafkaException,
    RetriableException,
    SerializationException,
    WakeupException,
    from_librdkafka,
    translated,
)
from penstock.client.api.interceptors import Interceptors
from penstock.client.api.metadata import PartitionInfo, partitions_for
from penstock.client.api.metrics import INTERVAL_MS, LibraryStatistics
from penstock.client.api.offsets import (
    behind,
    from_library,
    offsets_by_time,
    partitions_of,
    partitions_to_library,
    rises,
    to_library,
    watermarks,
)
from penstock.client.api.rebalancing import RebalanceListener, Rebalances, WithoutEnforcement
from penstock.client.api.records import ConsumerRecord, ConsumerRecords, OffsetAndMetadata, OffsetAndTimestamp
from penstock.client.api.settings import consumer_settings, wire_settings
from penstock.client.api.subscribing import Subscription
from penstock.client.api.taken import last_messages, plain_records
from penstock.client.api.telemetry import WithoutTelemetry
from penstock.wire.cluster import Cluster

if TYPE_CHECKING:
    import pyarrow as pa
from penstock.protocol.topic_partition import TopicPartition

_log = logging.getLogger(__name__)

_GROUP_SECONDS: Final = 0.2
"""How long `poll_arrow` waits for records before it serves the group again."""
_WAKEUP_SECONDS: Final = 0.05
"""How long a wait inside the library lasts before this client looks for a `wakeup()`."""


class Consumer(WithoutTelemetry, WithoutEnforcement):
    """`Consumer({"bootstrap.servers": …, "group.id": …, "value.deserializer": StringDeserializer, …})`; a
    context manager that closes it."""

    def __init__(
        self, settings: Mapping[str, Any], key_deserializer: Any = None, value_deserializer: Any = None
    ) -> None:
        import confluent_kafka

        library, own, given = consumer_settings(settings)
        self._decoder = Decoder(key_deserializer, value_deserializer, own, given)
        self._interceptors = Interceptors(
            plugins.plugins("interceptor.classes", own.get("interceptor.classes"), {})
        )
        self._has_group: bool = own["has.group"]
        self._max_poll_records: int = own["max.poll.records"]
        self._api_timeout: float = own["default.api.timeout.ms"] / 1000
        self._resets_to: str = library["auto.offset.reset"]
        self._statistics = LibraryStatistics()
        library.setdefault("statistics.interval.ms", INTERVAL_MS)
        self._commits = Commits(own, self._interceptors, self._check_woken)
        library |= {"stats_cb": self._statistics.take, "on_commit": self._commits.on_committed}
        with translated("make a consumer"):
            self._library: Any = confluent_kafka.Consumer(library)
        self._commits.library = self._library
        self._positions = self._commits.positions
        self._rebalances = Rebalances(library, self._commits, self._drop)
        self._paused: set[TopicPartition] = set()
        self._failure: KafkaException | None = None
        self._arrow: ArrowReader | None = None
        self._given = given
        self._read_committed = library["isolation.level"] == "read_committed"
        self._subscription = Subscription(
            self._library,
            self._rebalances.subscribe_with(self._library),
            library["topic.metadata.refresh.interval.ms"],
            with_internal=not own["exclude.internal.topics"],
        )
        self._assigned_by_hand = False
        self._woken = Event()
        self._owner: int | None = None
        self._entering = Lock()
        self._records_total = 0
        self._closed = False

    # What is read

    def subscribe(
        self, topics: Collection[str] | re.Pattern[str], listener: RebalanceListener | None = None
    ) -> None:
        """Topics by name, or by one pattern; the group shares their partitions out."""
        with self._used():
            if not self._has_group:
                raise InvalidGroupIdException(
                    "Cannot subscribe without a group.id. Give one, or use assign()."
                )
            if self._assigned_by_hand:
                raise IllegalStateException(
                    "Cannot subscribe: partitions were assigned. Call unsubscribe() first."
                )
            if not isinstance(topics, (str, re.Pattern)) and not topics:
                self._unsubscribe()
                return
            self._rebalances.listener = listener or RebalanceListener()
            self._subscription.set(topics, self._api_timeout)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these, and no others, without the group's say."""
        with self._used():
            if not self._subscription.is_empty:
                raise IllegalStateException("Cannot assign: topics are subscribed. Call unsubscribe() first.")
            wanted = _all(partitions)
            self._commits.maybe_auto(now=True)
            self._drop(set(self._positions) - set(wanted))
            self._assigned_by_hand = bool(wanted)
            with translated("assign partitions"):
                self._library.assign([self._start(at) for at in wanted])
                if still := self._paused & set(wanted):
                    self._library.pause(partitions_to_library(still))

    def unsubscribe(self) -> None:
        with self._used():
            self._unsubscribe()

    def subscription(self) -> frozenset[str]:
        return self._subscription.names

    def assignment(self) -> frozenset[TopicPartition]:
        with self._used(), translated("read the assignment"):
            return frozenset(partitions_of(self._library.assignment()))

    def poll(self, seconds: float = 0.0) -> ConsumerRecords:
        """Records, as soon as there are some: `max.poll.records` at most, none after `seconds`."""
        return self.poll_until(seconds, None)

    def poll_until(self, seconds: float, ended: Event | None) -> ConsumerRecords:
        """As `poll`, and it returns soon after `ended` is set, with what it has. For `AsyncConsumer`: a
        `wakeup()` that comes when the poll is over would end the next call."""
        with self._used():
            self._check_reading()
            if self._arrow is not None:
                raise IllegalStateException("Cannot poll: this consumer reads with poll_arrow().")
            self._commits.maybe_auto()
            self._raise_failure()
            self._subscription.refresh(self._api_timeout)
            raw, is_plain = self._raw(time.monotonic() + seconds, ended)
            if not raw:
                return ConsumerRecords(raw)
            return self._interceptors.on_consume(
                ConsumerRecords(raw, plain_records) if is_plain else ConsumerRecords(self._decoded(raw))
            )

    def poll_arrow(self, seconds: float = 0.0) -> pa.RecordBatch:
        """Records as an Arrow batch, without rows after `seconds`: key, value, topic, partition, offset,
        timestamp, timestampType and headers. All of one batch are of one partition.

        A consumer reads either this way or with `poll`.
        """
        import pyarrow

        from penstock.client.arrow.columns import SCHEMA

        with self._used():
            self._check_reading()
            self._commits.maybe_auto()
            self._subscription.refresh(self._api_timeout)
            if self._arrow is None:
                self._arrow = self._arrow_reader()
            deadline = time.monotonic() + seconds
            while True:
                self._serve_group()
                left = max(deadline - time.monotonic(), 0.0)
                batch, moved = self._arrow.poll(
                    self._unpaused_positions(), min(left, _GROUP_SECONDS), self._check_woken
                )
                for at, offset in moved.items():
                    self._positions[at] = OffsetAndMetadata(offset)
                if batch is not None:
                    self._records_total += batch.num_rows
                    return batch
                if left <= 0:
                    return pyarrow.RecordBatch.from_pylist([], schema=SCHEMA)

    def wakeup(self) -> None:
        """Make the poll or the call that waits now, or the next one, raise `WakeupException`."""
        self._woken.set()

    # Positions

    def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that `poll` returns."""
        with self._used():
            partition = TopicPartition(*partition)
            self._check_assigned(partition)
            if partition in self._positions:
                return self._positions[partition].offset
            return self._resolved(partition).offset

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        with self._used():
            at = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
            if at.offset < 0:
                raise KafkaException(f"Cannot seek to offset {at.offset}: offsets are never negative.")
            self._seek({TopicPartition(*partition): at})

    def seek_to_beginning(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """All assigned partitions, or these."""
        with self._used():
            self._seek_to(self._wanted(partitions), lambda low, high: low)

    def seek_to_end(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        with self._used():
            self._seek_to(self._wanted(partitions), lambda low, high: high)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Assigned partitions stay assigned; `poll` returns nothing of them."""
        with self._used(), translated("pause partitions"):
            chosen = _all(partitions)
            for each in chosen:
                self._check_assigned(each)
            self._library.pause(partitions_to_library(chosen))
            self._paused.update(chosen)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        with self._used(), translated("resume partitions"):
            chosen = _all(partitions)
            for each in chosen:
                self._check_assigned(each)
            if self._arrow is None:
                self._library.resume(partitions_to_library(chosen))
            self._paused.difference_update(chosen)

    def paused(self) -> frozenset[TopicPartition]:
        return frozenset(self._paused)

    # Commits

    def commit_sync(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        timeout: float | None = None,
    ) -> None:
        """Positions, or the given offsets. Asks again after errors that pass, until the timeout."""
        with self._used():
            self._rebalances.check_settled()
            self._commits.sync(
                self._commits.wanted(offsets), self._api_timeout if timeout is None else timeout
            )

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        callback: CommitCallback | None = None,
    ) -> None:
        """The callback is called inside a later `poll`, `commit_sync` or `close`. Never asked again: a commit
        that is late must not undo a newer one."""
        with self._used():
            self._commits.send(self._commits.wanted(offsets), callback)

    commit = commit_sync

    def committed(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Of this group; a partition without one is left out."""
        with self._used(), translated("read committed offsets"):
            self._commits.need_group("read committed offsets")
            asked = partitions_to_library(_all(partitions))
            return from_library(self._library.committed(asked, timeout=timeout or self._api_timeout))

    def group_metadata(self) -> Any:
        """For `Producer.send_offsets_to_transaction`."""
        self._commits.need_group("name the group's metadata")
        return self._library.consumer_group_metadata()

    # What there is

    def partitions_for(self, topic: str, timeout: float | None = None) -> list[PartitionInfo]:
        with self._used():
            return partitions_for(self._library, topic, timeout or self._api_timeout)

    def list_topics(self, timeout: float | None = None) -> dict[str, int]:
        """Each topic with the number of its partitions."""
        with self._used(), translated("list topics"):
            found = self._library.list_topics(timeout=timeout or self._api_timeout).topics
            return {name: len(topic.partitions) for name, topic in sorted(found.items())}

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        with self._used():
            return {each: self._watermarks(each)[0] for each in _all(partitions)}

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        with self._used():
            return {each: self._watermarks(each)[1] for each in _all(partitions)}

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first offset whose timestamp (ms) is the given one or later; None where there is none."""
        with self._used():
            return offsets_by_time(self._library, timestamps, timeout or self._api_timeout)

    def current_lag(self, partition: TopicPartition) -> int | None:
        """Records between the position and the end, as far as this consumer knows without asking."""
        with self._used():
            at = TopicPartition(*partition)
            if at not in self._positions:
                return None
            _, high = self._library.get_watermark_offsets(*partitions_to_library([at]), cached=True)
            return max(high - self._positions[at].offset, 0) if high >= 0 else None

    def metrics(self) -> dict[str, float]:
        return {**self._statistics.metrics(), "records-consumed-total": self._records_total}

    def close(self, timeout: float | None = None) -> None:
        """Commit where that is automatic, leave the group, and end. The listener hears of the partitions
        that go, and may commit. What it raises is raised when everything is closed."""
        if self._closed:
            return
        self._owner = None
        self._woken.clear()
        with self._used():
            with suppress(KafkaException):
                self._commits.maybe_auto(now=True, seconds=timeout)
            self._library.close()
            self._closed = True
        if self._arrow is not None:
            self._arrow.close()
        self._decoder.close()
        self._interceptors.close()
        self._rebalances.raise_failure()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Inside

    @contextmanager
    def _used(self) -> Any:
        """One thread at a time, as in Java; calls within a listener's methods are the same thread's."""
        if self._closed:
            raise IllegalStateException("This consumer has already been closed.")
        me = get_ident()
        with self._entering:
            if self._owner not in (None, me):
                raise IllegalStateException(
                    "Consumer is not safe for multi-threaded access. Another thread is in a call of it."
                )
            nested, self._owner = self._owner == me, me
        try:
            yield
        finally:
            if not nested:
                self._owner = None

    def _check_reading(self) -> None:
        if self._subscription.is_empty and not self._assigned_by_hand:
            raise IllegalStateException("Cannot poll: call subscribe() or assign() first.")

    def _arrow_reader(self) -> ArrowReader:
        cluster = Cluster.of(wire_settings(self._given))
        return ArrowReader(cluster, read_committed=self._read_committed, api_timeout=self._api_timeout)

    def _serve_group(self) -> None:
        """Rebalances and commits are the library's. Its own fetching is paused, and what it had fetched
        before is passed over: positions are ours."""
        with translated("poll"):
            self._library.poll(0)
            if assigned := self._library.assignment():
                self._library.pause(assigned)
        self._rebalances.raise_failure()

    def _unpaused_positions(self) -> dict[TopicPartition, int]:
        found = {}
        for at in partitions_of(self._library.assignment()):
            if at not in self._paused:
                if at not in self._positions:
                    self._positions[at] = self._resolved(at)
                found[at] = self._positions[at].offset
        return found

    def _raw(self, deadline: float, ended: Event | None) -> tuple[list[Any], bool]:
        """Messages of the library, and whether they need no deserializer: then positions are behind them.
        Waits in short pieces, so that a wakeup is seen."""
        while True:
            self._check_woken()
            left = max(deadline - time.monotonic(), 0.0)
            with translated("poll"):
                first = self._library.poll(min(left, _WAKEUP_SECONDS))
            self._rebalances.raise_failure()
            if first is not None and not self._at_end(first):
                before = self._rebalances.count
                with translated("poll"):
                    raw = [first, *self._library.consume(self._max_poll_records - 1, 0)]
                if self._rebalances.count == before:
                    if self._decoder.is_plain and (last := last_messages(raw)) is not None:
                        self._positions.update(behind(last))
                        self._records_total += len(raw)
                        return raw, True
                    if rises(raw):
                        return raw, False
                self._read_again(raw)
            if first is None and (left <= 0 or (ended is not None and ended.is_set())):
                return [], False

    def _read_again(self, raw: Iterable[Any]) -> None:
        """The library rebalanced or sought while it gathered these: some of them may be from before, and of
        partitions that go on at another offset since. In Java a poll never returns both."""
        found = {TopicPartition(each.topic(), each.partition()) for each in raw if each.topic() is not None}
        still = found & set(partitions_of(self._library.assignment()))
        self._seek({at: self._positions.get(at) or self._resolved(at) for at in still})

    def _decoded(self, raw: list[Any]) -> list[ConsumerRecord]:
        """Positions move with each record, so what follows a broken one is not lost: it is read again."""
        records: list[ConsumerRecord] = []
        for number, message in enumerate(raw):
            if self._at_end(message):
                continue
            if (error := message.error()) is not None:
                failure = from_librdkafka(error, "poll")
                if isinstance(failure, RetriableException):
                    continue  # as in Java, poll goes on: the library asks again by itself
                if records:
                    self._rewind(raw[number:], failure)
                    break
                raise failure
            at = TopicPartition(message.topic(), message.partition())
            offset = message.offset()
            try:
                record = self._decoder.record(message)
            except SerializationException as failure:
                self._rewind(raw[number:], failure if records else None)
                if records:
                    break
                raise
            records.append(record)
            self._positions[at] = OffsetAndMetadata(offset + 1, "", message.leader_epoch())
        self._records_total += len(records)
        return records

    def _at_end(self, message: Any) -> bool:
        """Whether this is no record but the end of a partition. As in Java the position is there then, behind
        the markers of transactions and what was aborted: else a reader would never have no lag.

        Nor is it one that says that polls came too late: as in Java, poll goes on and joins the group again,
        and a commit of what was read before fails."""
        error = message.error()
        if error is not None and error.name() == "_MAX_POLL_EXCEEDED":
            _log.warning("%s; the member joins its group again", error.str())
            return True
        if error is None or error.name() != "_PARTITION_EOF":
            return False
        at = TopicPartition(message.topic(), message.partition())
        before = self._positions.get(at)
        if before is None or before.offset < message.offset():
            epoch = None if before is None else before.leader_epoch
            self._positions[at] = OffsetAndMetadata(message.offset(), "", epoch)
        return True

    def _rewind(self, raw: Iterable[Any], failure: KafkaException | None) -> None:
        """The library has handed out what this poll does not return: the next one reads it again. A
        failure behind good records is raised by the next poll."""
        self._failure = failure
        first: dict[TopicPartition, int] = {}
        for message in raw:
            if message.error() is None:
                first.setdefault(TopicPartition(message.topic(), message.partition()), message.offset())
        self._seek({at: OffsetAndMetadata(offset) for at, offset in first.items()})

    def _seek(self, targets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        import confluent_kafka

        for at in targets:
            self._check_assigned(at)
        deadline = time.monotonic() + self._api_timeout
        if self._arrow is not None:
            self._positions.update(targets)
            return
        for at, target in targets.items():
            while True:
                try:
                    self._library.seek(to_library({at: target})[0])
                    break
                except confluent_kafka.KafkaException as error:
                    # A partition that was assigned a moment ago is not read from yet.
                    if error.args[0].name() != "_STATE" or time.monotonic() > deadline:
                        raise from_librdkafka(error, f"seek in {at.topic}-{at.partition}") from error
                    if self._assigned_by_hand:
                        self._begin_at(at, target)  # without an offset to begin at it never will be
                        break
                    self._woken.wait(0.01)
                    self._check_woken()
            self._positions[at] = target

    def _begin_at(self, at: TopicPartition, target: OffsetAndMetadata) -> None:
        self._positions[at] = target
        assigned = partitions_of(self._library.assignment())
        self._library.assign([self._start(each) for each in assigned])
        if still := self._paused & set(assigned):
            self._library.pause(partitions_to_library(still))

    def _seek_to(self, partitions: Iterable[TopicPartition], choose: Callable[[int, int], int]) -> None:
        self._seek({at: OffsetAndMetadata(choose(*self._watermarks(at))) for at in partitions})

    def _watermarks(self, at: TopicPartition) -> tuple[int, int]:
        return watermarks(self._library, at, self._api_timeout)

    def _start(self, at: TopicPartition) -> Any:
        """Where reading begins: at the position where there is one, else where the library finds it. A
        consumer without a group has no committed offset to look for."""
        import confluent_kafka

        if at in self._positions:
            return to_library({at: self._positions[at]})[0]
        resets = {"earliest": confluent_kafka.OFFSET_BEGINNING, "latest": confluent_kafka.OFFSET_END}
        if self._has_group or self._resets_to not in resets:
            return partitions_to_library([at])[0]
        return confluent_kafka.TopicPartition(*at, resets[self._resets_to])

    def _resolved(self, at: TopicPartition) -> OffsetAndMetadata:
        """A position before anything was read: what is committed, else where a reset leads."""
        if self._has_group:
            with translated("read committed offsets"):
                asked = partitions_to_library([at])
                if found := from_library(self._library.committed(asked, timeout=self._api_timeout)):
                    return found[at]
        low, high = self._watermarks(at)
        return OffsetAndMetadata(low if self._resets_to == "earliest" else high)

    def _unsubscribe(self) -> None:
        self._commits.maybe_auto(now=True)
        with translated("unsubscribe"):
            if self._assigned_by_hand:
                self._library.unassign()
            else:
                self._library.unsubscribe()
                self._rebalances.wait_without(self._library, self._api_timeout)
        self._drop(set(self._positions))
        self._paused.clear()
        self._subscription.clear()
        self._assigned_by_hand = False
        self._rebalances.raise_failure()

    def _drop(self, partitions: Iterable[TopicPartition]) -> None:
        gone = list(partitions)
        self._commits.drop(gone)
        self._paused.difference_update(gone)

    def _wanted(self, partitions: Iterable[TopicPartition] | None) -> list[TopicPartition]:
        return _all(partitions or ()) or partitions_of(self._library.assignment())

    def _check_assigned(self, at: TopicPartition) -> None:
        if at not in partitions_of(self._library.assignment()):
            raise IllegalStateException(f"No current assignment for partition {at.topic}-{at.partition}.")

    def _raise_failure(self) -> None:
        """What stood behind the records that the last poll returned."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _check_woken(self) -> None:
        if self._woken.is_set():
            self._woken.clear()
            raise WakeupException("wakeup() was called.")


def _all(partitions: Iterable[Any]) -> list[TopicPartition]:
    return [TopicPartition(*each) for each in partitions]
