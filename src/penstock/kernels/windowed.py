"""Aggregations in time windows, tumbling or hopping, and what is told when windows close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.kernels.aggregates import add_one, zero
from penstock.kernels.context import Context, Emitter, Getter, Process
from penstock.kernels.operation import Function, Parents, TableOperation, ViewOf
from penstock.kernels.record import UNKNOWN_TIME, Change, Record, Stamped, Windowed, latest
from penstock.kernels.window_store import WindowStore
from penstock.kernels.windows import FOREVER, AnyTimeWindows, TimeWindows


@dataclass(frozen=True)
class WindowedAggregation(TableOperation):
    """What time and sliding windows share."""

    store: str = ""
    caching: bool = True
    on_close: bool = False  # tell a window once, when it is closed, instead of at each update

    def own_stores(self) -> tuple[str, ...]:
        return (self.store,)

    def view(self, stores: Mapping[str, Any], parents: Parents, of: ViewOf) -> Getter:
        store: WindowStore = stores[self.store]

        def get(key: Any, as_of: int | None = None) -> Stamped | None:
            return store.fetch_stamped(key.key, key.start)

        return get


class WindowTeller:
    """Tells updates of windows downstream, or final results when stream time has passed their end and
    grace.
    """

    def __init__(self, context: Context, operation: WindowedAggregation) -> None:
        self._context, self._store = context, context.stores[operation.store]
        self._on_close = operation.on_close
        cached = operation.caching and not operation.on_close
        self._emitter = Emitter(context, self._store, send_old=operation.send_old, cached=cached)
        self.cached, self.needs_old = self._emitter.cached, self._emitter.needs_old

    def update(self, record: Record, window: Windowed, change: Change, timestamp: int) -> None:
        if not self._on_close:
            raw = self._store.raw_key(window.key, window.start)
            self._emitter.emit(raw, Record(window, change, timestamp, record.headers))

    def close(self, record: Record, close_time: int, first: int, last: int) -> None:
        """Tell the windows that begin from `first` to `last`: those that closed since the last time."""
        if last < 0:
            return
        for window, row in self._store.fetch_closed(first, last):
            self._context.forward(Record(window, Change(row.value, None), row.timestamp, record.headers))
        self._context.marks["closed"] = close_time

    @property
    def closed(self) -> int:
        return self._context.marks.get("closed", UNKNOWN_TIME)

    def is_due(self, close_time: int) -> bool:
        return self._on_close and (self.closed == UNKNOWN_TIME or self.closed < close_time)


@dataclass(frozen=True)
class WindowAggregate(WindowedAggregation):
    windows: AnyTimeWindows = field(default_factory=lambda: TimeWindows(1))
    initializer: Function = zero
    aggregator: Function = add_one  # (key, value, aggregate) → aggregate

    def bind(self, context: Context) -> Process:
        store, windows = context.stores[self.store], self.windows
        initializer, aggregator = self.initializer, self.aggregator
        teller = WindowTeller(context, self)
        grace_ms, size_ms = windows.grace_ms, windows.size_ms

        def process(record: Record) -> None:
            key, value, timestamp, _ = record
            if key is None:
                return
            close_time = context.advance("stream_time", timestamp) - grace_ms
            for start in windows.starts(timestamp):
                if start + size_ms <= close_time:
                    continue  # late: the window is closed
                row = store.fetch_stamped(key, start)
                when = timestamp if row is None else latest(timestamp, row.timestamp)
                old = initializer() if row is None else row.value
                new = aggregator(key, value, old)
                before = None
                if teller.needs_old:  # read again: the function may have changed the aggregate in place
                    there = row is not None or teller.cached
                    before = store.fetch(key, start) if there else initializer()
                store.put(key, new, start, when)
                window = Windowed(key, start, min(start + size_ms, FOREVER))
                teller.update(record, window, Change(new, before), when)
            if teller.is_due(close_time):
                self._tell_closed(teller, record, close_time)

        return process

    def _tell_closed(self, teller: WindowTeller, record: Record, close_time: int) -> None:
        windows, closed = self.windows, teller.closed
        last = close_time - windows.size_ms
        if last < 0:
            return
        first = 0
        if closed != UNKNOWN_TIME:
            first = max(0, closed - windows.size_ms) + 1
            if list(windows.starts(last)) == list(windows.starts(first - 1)):
                return  # no window has closed since
        teller.close(record, close_time, first, last)
