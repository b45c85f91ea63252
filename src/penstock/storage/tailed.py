"""The part of a log that hands plain batches to its tail (`penstock.storage.tail`), and takes over what the
tail has written. `penstock.storage.log.Log` adds everything else that writes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Final

from penstock.clock import Clock, SystemClock
from penstock.settings.topic import TopicSettings
from penstock.storage.contents import LOG_APPEND_TIME
from penstock.storage.disk import Disk
from penstock.storage.producers import NO_EXPECTATION, Producers
from penstock.storage.readable import ReadableLog
from penstock.storage.recoding import AS_PRODUCED
from penstock.storage.segment import RollLimits
from penstock.storage.tail import Tail, headers_of, kind_on

_LAST_OFFSET: Final = 2**63 - 1


class TailedLog(ReadableLog):
    """Invariant: while the tail has written what the log has not been told of, there is one replica."""

    settings: TopicSettings
    producers: Producers
    recovery_point: int
    gone: bool
    _log_end_offset: int
    _high_watermark: int | None
    _clock: Clock
    _limits: RollLimits
    _touched: bool
    _closed: bool

    def _make_tail(self, disk: Disk) -> None:
        itself = weakref.ref(self)
        self._tail_kind = kind = kind_on(disk)
        self.lock: Tail = kind.tail(lambda appended: _settle(itself, appended), lambda: _wake(itself))
        self.to_read = kind.entry(self.lock, appends=False)
        """The lock, for callers that change nothing that the tail knows (`penstock.storage.tail`)."""
        self.to_append = kind.entry(self.lock, appends=True)
        self.on_settled: Callable[[int, int, int], None] = lambda batches, size_bytes, records: None
        """Called with the lock held when the log has been told of batches that its tail took."""
        self.on_waited: Callable[[], None] = lambda: None
        """Called without a lock when the tail took a batch, and requests wait for one."""

    @property
    def log_end_offset(self) -> int:  # type: ignore[override]
        """Where the next batch goes."""
        ahead = self.lock.ahead
        return self._log_end_offset if ahead < 0 else ahead

    @property
    def high_watermark(self) -> int:
        """Records below are committed; retention deletes no others. With one replica that is all of them."""
        ahead = self.lock.ahead  # only where there is one replica
        if ahead >= 0:
            return ahead
        return self._log_end_offset if self._high_watermark is None else self._high_watermark

    @high_watermark.setter
    def high_watermark(self, offset: int) -> None:
        self._high_watermark = offset
        self.producers.commit(offset)

    def open_tail(self, leader_epoch: int, producer_id: int) -> None:
        """Behind an append, with the lock held by `to_append`: let the tail take what comes next, if it is
        plain. The caller knows that this replica is alone and refuses nobody."""
        segment = self._segments.active
        file = segment.active_file
        if file is None or not self.lock.resume(file, self._log_end_offset, segment.size):
            if not self._may_open_tail(leader_epoch) or file is None:
                return
            settings, limits = self.settings, self._limits
            self.lock.open(
                file,
                self.directory.failed,
                position=segment.size,
                end_offset=self._log_end_offset,
                base_offset=segment.base_offset,
                log_start_offset=self.log_start_offset,
                leader_epoch=leader_epoch,
                segment_bytes=limits.segment_bytes,
                first_timestamp=segment.rolling_timestamp,
                segment_ms=limits.segment_ms,
                last_end_offset=min(self.recovery_point + settings.flush_messages, _LAST_OFFSET),
                batches_left=segment.entries_left(limits),
                max_bytes=settings.max_message_bytes,
                before_ms=settings.message_timestamp_before_max_ms,
                after_ms=settings.message_timestamp_after_max_ms,
                require_keys="compact" in settings.cleanup_policy,
            )
        if producer_id >= 0:
            epoch, sequence = self.producers.expectation(producer_id)
            if epoch == NO_EXPECTATION:
                self.lock.unexpect(producer_id)
            else:
                self.lock.expect(producer_id, epoch, sequence)

    def _may_open_tail(self, leader_epoch: int) -> bool:
        settings, segment = self.settings, self._segments.active
        return (
            # Natively the system's clock says which timestamps are too old.
            (isinstance(self._clock, SystemClock) or not self._tail_kind.is_native)
            and not (self._closed or self.gone)
            and self.directory.failure is None
            and leader_epoch == self.epochs.latest
            and settings.compression_type == AS_PRODUCED
            and settings.message_timestamp_type != LOG_APPEND_TIME
            and segment.size > 0
            and segment.rolling_timestamp >= 0
        )

    def settle(self, appended: bytes) -> None:
        """Account for batches that the tail has written, as if they had been appended here. The lock is
        held."""
        headers, size_before = headers_of(appended), self._segments.active.size
        self._touched = True
        self._segments.active.extended(headers)
        for header in headers:
            if header.producer_id >= 0:
                self.producers.replay(header, header.base_offset, header.max_timestamp)
        first_offset, next_offset = headers[0].base_offset, headers[-1].next_offset
        self._log_end_offset = next_offset
        if self._high_watermark is None:
            self.producers.commit(next_offset)
        else:
            self.high_watermark = next_offset
        size_bytes = self._segments.active.size - size_before
        self.on_settled(len(headers), size_bytes, next_offset - first_offset)

    def _close_tail(self) -> None:
        """The caller holds the lock, except in tests."""
        with self.lock:
            self.lock.close()


def _settle(log: weakref.ref[TailedLog], appended: bytes) -> None:
    """A log that nobody has any more need not be told."""
    found = log()
    if found is not None:
        found.settle(appended)


def _wake(log: weakref.ref[TailedLog]) -> None:
    found = log()
    if found is not None:
        found.on_waited()
