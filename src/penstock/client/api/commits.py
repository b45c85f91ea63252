"""Positions of a consumer and their commits: by hand, automatic, and in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from threading import Event
from typing import Any

from penstock.client.api.exceptions import (
    CommitFailedException,
    IllegalGenerationException,
    InvalidGroupIdException,
    KafkaException,
    RebalanceInProgressException,
    RetriableException,
    UnknownMemberIdException,
    from_librdkafka,
    translated,
)
from penstock.client.api.interceptors import Interceptors
from penstock.client.api.offsets import to_library
from penstock.client.api.records import OffsetAndMetadata
from penstock.protocol.topic_partition import TopicPartition

Offsets = dict[TopicPartition, OffsetAndMetadata]
CommitCallback = Callable[[Offsets, KafkaException | None], Any]
_CLOSING_SECONDS = 5.0


class Commits:
    """The offset behind the last record that was returned, for each partition, and which of them are
    committed.

    Only this client commits, never the library by itself: as in Java, automatic commits happen inside `poll`,
    when partitions are revoked, and at the end.
    """

    def __init__(
        self, own: Mapping[str, Any], interceptors: Interceptors, check_woken: Callable[[], None]
    ) -> None:
        self.library: Any = None  # given when it is made: it must know `on_committed` first
        self.positions: Offsets = {}
        self._committed: Offsets = {}
        self._under_way: list[tuple[Offsets, CommitCallback | None]] = []
        self._interceptors = interceptors
        self._check_woken = check_woken
        self._has_group: bool = own["has.group"]
        self._every: float | None = (
            own["auto.commit.interval.ms"] / 1000 if own["enable.auto.commit"] else None
        )
        self._next = time.monotonic() + (self._every or 0)
        self._pause = Event()

    def wanted(self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None) -> Offsets:
        """What a commit is about: the given offsets, or all positions."""
        self.need_group("commit")
        given = self.positions if offsets is None else offsets
        return {
            TopicPartition(*at): each if isinstance(each, OffsetAndMetadata) else OffsetAndMetadata(each)
            for at, each in given.items()
        }

    def sync(self, offsets: Offsets, timeout: float) -> None:
        """Asks again after errors that pass. Behind the asynchronous ones: the library sends commits in
        order."""
        if not offsets:
            return
        deadline = time.monotonic() + timeout
        while True:
            self._check_woken()
            try:
                self._once(offsets)
                break
            except RetriableException:
                if time.monotonic() > deadline:
                    raise
                self._pause.wait(0.1)
        self._done(offsets)

    def send(self, offsets: Offsets, callback: CommitCallback | None = None) -> None:
        """Not waited for, and never asked again: a late commit must not undo a newer one."""
        if offsets:
            self._under_way.append((offsets, callback))
            with translated("commit offsets"):
                self.library.commit(offsets=to_library(offsets), asynchronous=True)
        elif callback is not None:
            callback({}, None)

    def maybe_auto(self, *, now: bool = False, seconds: float | None = None) -> None:
        if self._every is None or not (now or time.monotonic() >= self._next):
            return
        self._next = time.monotonic() + self._every
        changed = {at: each for at, each in self.positions.items() if self._committed.get(at) != each}
        if not now:
            self.send(changed)
            return
        with suppress(KafkaException):  # as in Java, what could not be committed is read again
            self.sync(changed, _CLOSING_SECONDS if seconds is None else seconds)

    def on_committed(self, error: Any, partitions: Iterable[Any]) -> None:
        """The library's word on a commit; those of `sync` come here as well, and are known already."""
        found = {TopicPartition(each.topic, each.partition): each.offset for each in partitions}
        for index, (offsets, callback) in enumerate(self._under_way):
            if {at: each.offset for at, each in offsets.items()} == found:
                del self._under_way[index]
                failure = None if error is None else from_librdkafka(error, "commit offsets")
                if failure is None:
                    self._done(offsets)
                if callback is not None:
                    callback(offsets, failure)
                return

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        for at in partitions:
            self.positions.pop(at, None)
            self._committed.pop(at, None)

    def need_group(self, doing: str) -> None:
        if not self._has_group:
            raise InvalidGroupIdException(f"Cannot {doing}: the consumer has no group.id.")

    def _once(self, offsets: Offsets) -> None:
        try:
            with translated("commit offsets"):
                for each in self.library.commit(offsets=to_library(offsets), asynchronous=False):
                    if each.error is not None:
                        raise from_librdkafka(each.error, f"commit {each.topic}-{each.partition}")
        except (UnknownMemberIdException, IllegalGenerationException) as error:
            raise CommitFailedException(
                "Offset commit cannot be completed since the consumer is not part of an active group: its "
                "partitions went to another member. Poll more often, or process fewer records in a poll "
                "(max.poll.records, max.poll.interval.ms)."
            ) from error
        except RebalanceInProgressException as error:
            raise RebalanceInProgressException(
                "Offset commit cannot be completed since the group is rebalancing. Call poll() and commit "
                "again.",
                error.error_name,
            ) from error

    def _done(self, offsets: Offsets) -> None:
        self._committed.update(offsets)
        self._interceptors.on_commit(offsets)
