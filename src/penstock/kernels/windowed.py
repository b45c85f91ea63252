"""Aggregations in time windows, tumbling or hopping, and final results when windows close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.kernels.aggregates import add_one, zero
from penstock.kernels.context import Context, Emitter, Getter, Process
from penstock.kernels.operation import Function, Parents, TableOperation, ViewOf, value_of
from penstock.kernels.record import UNKNOWN_TIME, Change, Headers, Record, Stamped, Windowed
from penstock.kernels.window_store import WindowStore, suffix
from penstock.kernels.windows import FOREVER, AnyTimeWindows, TimeWindows


@dataclass(frozen=True)
class WindowedAggregation(TableOperation):
    """What time and sliding windows share."""

    store: str = ""
    caching: bool = True
    on_close: bool = False  # emit a window once, when it is closed, instead of at each update

    def own_stores(self) -> tuple[str, ...]:
        return (self.store,)

    def view(self, stores: Mapping[str, Any], parents: Parents, of: ViewOf) -> Getter:
        store: WindowStore = stores[self.store]

        def get(key: Any, as_of: int | None = None) -> Stamped | None:
            return store.fetch_stamped(key.key, key.start)

        return get


class WindowEmitter:
    """Emits updates of windows, or final results when stream time has passed their end and grace."""

    def __init__(self, context: Context, operation: WindowedAggregation) -> None:
        self._context, self._store = context, context.stores[operation.store]
        self._on_close = operation.on_close
        cached = operation.caching and not operation.on_close
        self._emitter = Emitter(context, self._store, send_old=operation.send_old, cached=cached)
        self.cached, self.needs_old_of = self._emitter.cached, self._emitter.needs_old_of

    def update(
        self, raw: bytes, window: Windowed, new: Any, old: Any, timestamp: int, headers: Headers
    ) -> None:
        """`raw` is the key of the window's cell."""
        if not self._on_close:
            self._emitter.emit(raw, window, new, old, timestamp, headers)

    def close(self, record: Record, close_time: int, first: int, last: int) -> None:
        """Emit the windows that begin from `first` to `last`: those that closed since the last time."""
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
    close_first: bool = False
    """Closed windows are emitted before the record that closed them is stored, and none expires unseen. Kafka
    Streams stores first, and loses windows when time leaps."""

    def bind(self, context: Context) -> Process:
        store, windows = context.stores[self.store], self.windows
        initializer, aggregator = self.initializer, self.aggregator
        emitter = WindowEmitter(context, self)
        close_first = self.close_first
        grace_ms, size_ms, starts = windows.grace_ms, windows.size_ms, windows.starts
        holding = emitter.cached and store.live is not None
        read, write = (store.held, store.hold) if holding else (store.read, store.write)

        def process(record: Record) -> None:
            key, value, timestamp, headers = record
            if key is None:
                return
            close_time = context.advance("stream_time", timestamp) - grace_ms
            if close_first and emitter.is_due(close_time):
                self._emit_closed(emitter, record, close_time)
            prefix = store.prefix(key)
            for start in starts(timestamp):
                end = start + size_ms
                if end <= close_time:
                    continue  # late: the window is closed
                raw = prefix + suffix(start, 0)
                row, when = read(raw, start), timestamp
                if row is None:
                    old = initializer()
                else:
                    old, then = row
                    if then > when:
                        when = then
                new = aggregator(key, value, old)
                before = None
                if emitter.needs_old_of(raw):  # read again: the function may have changed it in place
                    there = row is not None or emitter.cached
                    before = value_of(store.read(raw, start)) if there else initializer()
                write(raw, new, start, when)
                window = Windowed(key, start, end if end < FOREVER else FOREVER)
                emitter.update(raw, window, new, before, when, headers)
            if not close_first and emitter.is_due(close_time):
                self._emit_closed(emitter, record, close_time)

        return process

    def _emit_closed(self, emitter: WindowEmitter, record: Record, close_time: int) -> None:
        windows, closed = self.windows, emitter.closed
        last = close_time - windows.size_ms
        if last < 0:
            return
        first = 0
        if closed != UNKNOWN_TIME:
            first = max(0, closed - windows.size_ms) + 1
            if list(windows.starts(last)) == list(windows.starts(first - 1)):
                return  # no window has closed since
        emitter.close(record, close_time, first, last)
