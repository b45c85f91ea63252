"""Where a batch of an application ends: oldest records first, across all its topics. Decisions, no I/O.

Kafka Streams always takes the record whose partition has the smallest timestamp at its head. Tasks do the
same within a batch (`rows.merge_order`). `TimeOrder` cuts batches in that order too, so that a backlog
gives the same results as records that arrive one by one: no stream record overtakes an older row of a table.

A record counts with the latest timestamp between the start of the batch and itself, in its own partition.
This time never decreases within a partition. A cut at time T therefore ends each partition before its first
record later than T, and brokers find that record by themselves (`record_times.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from penstock.clock import Clock, SystemClock
from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.limits import Offsets, limited

BEFORE_ALL: Final = -2
"""Earlier than every record: one without a timestamp has -1."""
AFTER_ALL: Final = (1 << 63) - 1
FUTURE_SECONDS: Final = 60.0
"""How long a partition waits for the others when its next record is stamped later than the clock."""
FUTURE_SHARE: Final = 4
"""After that wait such partitions get one part in so many of each batch."""


class RecordTimes(Protocol):
    """The timestamps of one batch's candidates."""

    def ends_at(self, time_ms: int) -> Offsets:
        """For each partition the first offset in the batch's range later than `time_ms`, or its end."""
        ...


class TimeOrder:
    """Cuts one batch after another; remembers where the last cut was, which shortens the next search."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._last_ms: int | None = None
        self._width_ms = 1
        self._future_since: dict[TopicPartition, float] = {}

    def cut(
        self, start: Mapping[TopicPartition, int], end: Offsets, limit: int, times: RecordTimes
    ) -> Offsets:
        """The end of a batch of about `limit` offsets, at least one. Requires that there are more."""
        now_ms = self._clock.now_ms()
        by_now = times.ends_at(now_ms)
        overdue = self._overdue(start, end, by_now)
        if overdue:
            extra = limited(start, {place: end[place] for place in overdue}, max(1, limit // FUTURE_SHARE))
            limit -= _total(start, extra)
            return {**self._search(start, end, max(1, limit), times, now_ms, by_now), **extra}
        return self._search(start, end, limit, times, now_ms, by_now)

    def _search(
        self,
        start: Mapping[TopicPartition, int],
        end: Offsets,
        limit: int,
        times: RecordTimes,
        now_ms: int,
        by_now: Offsets,
    ) -> Offsets:
        """Narrow the time of the cut down until the batch is at least half full, or only one time is left."""
        low_ms, high_ms = BEFORE_ALL, AFTER_ALL
        low = {place: min(start.get(place, offset), offset) for place, offset in end.items()}
        high = end
        guesses = self._guesses(now_ms)
        while high_ms - low_ms > 1 and 2 * _total(start, low) < limit:
            guess = next((one for one in guesses if low_ms < one < high_ms), (low_ms + high_ms) // 2)
            found = by_now if guess == now_ms else times.ends_at(guess)
            if _total(start, found) <= limit:
                low_ms, low = guess, found
            else:
                high_ms, high = guess, found
        if low_ms > BEFORE_ALL:
            if self._last_ms is not None:
                self._width_ms = max(1, low_ms - self._last_ms)
            self._last_ms = low_ms
        if 2 * _total(start, low) >= limit:
            return low
        return _tied(low, high, limit - _total(start, low))

    def _guesses(self, now_ms: int) -> list[int]:
        """A little after the last cut first; the search halves what lies between the guesses."""
        if self._last_ms is None:
            return [now_ms]
        return [self._last_ms + self._width_ms * step for step in (1, 4, 16, 256)] + [now_ms]

    def _overdue(
        self, start: Mapping[TopicPartition, int], end: Offsets, by_now: Offsets
    ) -> list[TopicPartition]:
        """Partitions whose next record comes from the future and has waited long enough. Without them a wrong
        clock of one producer would stop a partition for as long as there is a backlog elsewhere."""
        now = self._clock.monotonic()
        future = [p for p, at in end.items() if at > start.get(p, at) and by_now[p] <= start[p]]
        self._future_since = {place: self._future_since.get(place, now) for place in future}
        return [place for place, since in self._future_since.items() if now - since >= FUTURE_SECONDS]


def _total(start: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> int:
    return sum(max(0, offset - start.get(place, offset)) for place, offset in ends.items())


def _tied(low: Offsets, high: Offsets, limit: int) -> Offsets:
    """Between two cuts lie records of one time: topics by name, as `merge_order` has them, and partitions
    of a topic side by side."""
    found = dict(low)
    for topic in sorted({place.topic for place in _grown(low, high)}):
        mine = {place: high[place] for place in _grown(low, high) if place.topic == topic}
        shared = limited(low, mine, limit)
        found |= shared
        limit -= _total(low, shared)
        if limit <= 0:
            break
    return found


def _grown(low: Offsets, high: Offsets) -> Iterable[TopicPartition]:
    return (place for place, offset in high.items() if offset > low[place])
