"""What of a log may be compacted now, and whether it should be: dirty ratio, lags, what must not be touched.

Pure: it looks, `penstock.storage.cleaner` chooses. The rules are Kafka's (`LogCleanerManager`), with one
more: only what is durable is compacted. A record must not be dropped for a newer one that a power cut can
undo.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.settings.kinds import LONG_MAX
from penstock.storage.log import Log
from penstock.storage.segment import Segment
from penstock.storage.segments import with_ends


class Cleanable(NamedTuple):
    """What one round of compaction would do."""

    first_dirty: int
    """Below this offset the log is compacted already."""
    end: int
    """The base offset of the first segment that must not be touched."""
    clean_bytes: int
    dirty_bytes: int
    overdue: bool
    """Something waits longer than `max.compaction.lag.ms`."""

    @property
    def ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0


def look(log: Log, cleaned_to: int | None, now_ms: int) -> Cleanable:
    """What may be compacted in `log`, whose lock is held."""
    start = log.log_start_offset
    first_dirty = start if cleaned_to is None else max(start, cleaned_to)
    if first_dirty > log.log_end_offset:
        first_dirty = start  # the log was cut behind our back: nothing is known of it
    segments = log.sealed_segments()
    end = _first_untouchable(log, segments, first_dirty, now_ms)
    below = [segment for segment in segments if segment.base_offset < end]
    dirty = [segment for segment, upto in with_ends(below, end) if upto > first_dirty]
    return Cleanable(
        first_dirty,
        end,
        sum(segment.size for segment in below if segment.base_offset < first_dirty),
        sum(segment.size for segment in dirty),
        _overdue(log, dirty, now_ms),
    )


def worth_it(cleanable: Cleanable, log: Log) -> bool:
    """Whether to compact now."""
    if not cleanable.dirty_bytes:
        return False
    return cleanable.overdue or cleanable.ratio > log.settings.min_cleanable_dirty_ratio


def _first_untouchable(log: Log, segments: list[Segment], first_dirty: int, now_ms: int) -> int:
    """The base of the first segment that is active, not durable, too young, or has records that are not
    committed or belong to an open transaction."""
    limit = min(log.last_stable_offset, log.recovery_point)
    lag_ms = log.settings.min_compaction_lag_ms
    for segment, following in with_ends(segments, log.active_base_offset):
        if following > limit:
            return segment.base_offset
        if lag_ms and following > first_dirty and _newest(segment) > now_ms - lag_ms:
            return segment.base_offset
    return log.active_base_offset


def _newest(segment: Segment) -> int:
    latest = segment.latest_timestamp()
    return latest if latest >= 0 else segment.created_ms


def _overdue(log: Log, dirty: list[Segment], now_ms: int) -> bool:
    lag_ms = log.settings.max_compaction_lag_ms
    if lag_ms == LONG_MAX:
        return False
    return any(0 < segment.first_timestamp() < now_ms - lag_ms for segment in dirty)
