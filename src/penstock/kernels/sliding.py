"""Aggregations in sliding windows: for each record the window that ends with it, and the one that begins
after it.

Windows exist only where records make them differ. A record at `t` belongs to every window `[s, s +
difference]` with `s ≤ t ≤ s + difference`; it makes the window that ends at `t`, and splits the ones around
it.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from penstock.kernels.aggregates import add_one, zero
from penstock.kernels.context import Context, Process
from penstock.kernels.operation import Function
from penstock.kernels.record import UNKNOWN_TIME, Record, Stamped, Windowed, latest
from penstock.kernels.windowed import WindowedAggregation, WindowEmitter
from penstock.kernels.windows import SlidingWindows


@dataclass(frozen=True)
class SlidingAggregate(WindowedAggregation):
    windows: SlidingWindows = field(default_factory=lambda: SlidingWindows(0))
    initializer: Function = zero
    aggregator: Function = add_one  # (key, value, aggregate) → aggregate

    def bind(self, context: Context) -> Process:
        return _Sliding(self, context).process


@dataclass
class _Around:
    """What is known of the windows around a record."""

    starts: set[int] = field(default_factory=set)
    left: Stamped | None = None  # the newest window that ends before the record
    right: Stamped | None = None  # one that holds the record and begins before or with it
    left_made: bool = False  # the window that ends with the record is there
    right_made: bool = False  # the window that begins after the record is there
    previous: int | None = None  # the newest record before this one


class _Sliding:
    def __init__(self, operation: SlidingAggregate, context: Context) -> None:
        self._context, self._store = context, context.stores[operation.store]
        self._initializer, self._aggregator = operation.initializer, operation.aggregator
        self._difference, self._grace = operation.windows.difference_ms, operation.windows.grace_ms
        self._emitter = WindowEmitter(context, operation)
        self._close_time = UNKNOWN_TIME

    def process(self, record: Record) -> None:
        if record.key is None or record.value is None:
            return
        self._close_time = self._context.advance("stream_time", record.timestamp) - self._grace
        if record.timestamp + self._difference < self._close_time:
            return  # late: no window that could hold it is open
        if record.timestamp < self._difference:
            self._process_early(record)  # windows do not begin before the epoch
            return
        self._process_usual(record)
        if self._emitter.is_due(self._close_time):
            closed = self._emitter.closed
            first = 0 if closed == UNKNOWN_TIME else max(0, closed - self._difference)
            self._emitter.close(record, self._close_time, first, self._close_time - self._difference - 1)

    def _process_usual(self, record: Record) -> None:
        around = self._look_around(record)
        if around is None:
            return
        time = record.timestamp
        if around.previous is not None:
            after = around.previous + 1
            if after not in around.starts and after + self._difference >= time:
                self._update(record, after, Stamped(self._initializer(), time))
        if not around.left_made:
            previous_inside = around.previous is not None and time - self._difference <= around.previous
            assert not previous_inside or around.left is not None
            seed = around.left.value if previous_inside and around.left else self._initializer()
            self._update(record, time - self._difference, Stamped(seed, time))
        self._make_right(record, around)

    def _look_around(self, record: Record) -> _Around | None:
        """Update the windows that hold the record, newest first; none if nothing is left to be made."""
        around, time = _Around(), record.timestamp
        first = max(0, time - 2 * self._difference)
        for start, row in list(self._store.fetch_range(record.key, first, time + 1, reverse=True)):
            around.starts.add(start)
            end = start + self._difference
            if start == time + 1:
                around.right_made = True
            elif end > time:
                around.right = around.right or row
                self._update(record, start, row)
            elif end == time:
                around.left_made = True
                self._update(record, start, row)
                if row.timestamp >= time:
                    return None
                around.previous = row.timestamp
            else:
                around.left, around.previous = row, row.timestamp
                break
        return around

    def _process_early(self, record: Record) -> None:
        around, time = _Around(), record.timestamp
        combined: Stamped | None = None  # the window at the epoch stands for all that would begin before it
        for start, row in list(self._store.fetch_range(record.key, 0, time + 1)):
            around.starts.add(start)
            if start == 0:
                combined = row
                if row.timestamp < time:
                    around.previous = row.timestamp
            elif start <= time:
                around.right = row
                self._update(record, start, row)
            else:
                around.right_made = True
        if around.right is None and combined is not None and combined.timestamp > time:
            around.right = combined
        self._make_right(record, around)
        if around.previous is not None and around.previous + 1 not in around.starts:
            self._update(record, around.previous + 1, Stamped(self._initializer(), time))
        self._update(record, 0, combined or Stamped(self._initializer(), time))

    def _make_right(self, record: Record, around: _Around) -> None:
        """The window after the record, if it holds any; it has what the record's own window had before."""
        if around.right_made or around.right is None or around.right.timestamp <= record.timestamp:
            return
        start = record.timestamp + 1
        self._store.put(record.key, around.right.value, start, around.right.timestamp)
        self._emit(record, start, around.right.value, None, around.right.timestamp)

    def _update(self, record: Record, start: int, row: Stamped) -> None:
        if start + self._difference < self._close_time:
            return  # late for this window
        before: Any = row.value
        when = record.timestamp if before is None else latest(record.timestamp, row.timestamp)
        new = self._aggregator(record.key, record.value, deepcopy(before))  # it may change it in place
        self._store.put(record.key, new, start, when)
        self._emit(record, start, new, before, when)

    def _emit(self, record: Record, start: int, new: Any, old: Any, when: int) -> None:
        window = Windowed(record.key, start, start + self._difference)
        raw = self._store.raw_key(record.key, start)
        self._emitter.update(raw, window, new, old, when, record.headers)
