"""Aggregations in time windows that take many records at once; `absorbing.py` says when and why.

Whether a record is late depends on the newest time before it, and a store forgets windows as time goes on.
Both are followed here record by record, as `windowed.py` and the store do.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from penstock.kernels.absorbing import KeyedRows
from penstock.kernels.context import Context, Emitter
from penstock.kernels.operation import Operation, value_of
from penstock.kernels.record import UNKNOWN_TIME, Windowed
from penstock.kernels.window_store import WindowStore, suffix
from penstock.kernels.windowed import WindowAggregate
from penstock.kernels.windows import FOREVER, TimeWindows

_STREAM_TIME: Final = "stream_time"


class _Row(NamedTuple):
    """A window of a key as the records so far have made it."""

    value: Any
    timestamp: int
    place: int  # of the record that changed it last
    order: int  # among all changes
    start: int


class WindowAbsorber:
    """Takes rows into the windows of one aggregation."""

    counts_only = False
    takes_nulls = True

    def __init__(
        self,
        operation: WindowAggregate,
        windows: TimeWindows,
        store: WindowStore,
        emitter: Emitter,
        context: Context,
    ) -> None:
        self._operation, self._store, self._emitter = operation, store, emitter
        self._windows, self._context = windows, context

    def __call__(self, rows: KeyedRows) -> None:
        before: dict[bytes, Any] = {}
        found, stream_time = self._aggregated(rows, before)
        store, emitter, size_ms = self._store, self._emitter, self._windows.size_ms
        for raw, row in sorted(found.items(), key=lambda item: item[1].order):
            key = rows.keys[raw[: -len(suffix(0, 0))]]
            window = Windowed(key, row.start, min(row.start + size_ms, FOREVER))
            store.hold(raw, row.value, row.start, row.timestamp)
            at = row.place
            emitter.hold(
                raw,
                window,
                row.value,
                before.get(raw),
                row.timestamp,
                rows.headers[at],
                True,
                rows.metadata(at),
            )
        self._context.advance(_STREAM_TIME, stream_time)

    def _aggregated(self, rows: KeyedRows, before: dict[bytes, Any]) -> tuple[dict[bytes, _Row], int]:
        """Every window that changed, and the newest time. `before` gets the values that windows had when the
        step began."""
        windows, store, needs_old_of = self._windows, self._store, self._emitter.needs_old_of
        initializer, aggregator = self._operation.initializer, self._operation.aggregator
        size_ms, grace_ms, advance_ms = windows.size_ms, windows.grace_ms, windows.advance_ms
        # Windows begin at multiples of the advance: where the size is one too, they change only there.
        slot_ms = advance_ms if size_ms % advance_ms == 0 else 1
        keys, make = rows.keys, tuple.__new__
        stream_time = self._context.marks.get(_STREAM_TIME, UNKNOWN_TIME)
        observed, retention_ms = store.observed, store.retention_ms
        starts_of: dict[int, tuple[tuple[int, bytes], ...]] = {}
        found: dict[bytes, _Row] = {}
        order = 0
        columns = zip(rows.raw_keys, rows.values, rows.timestamps, strict=True)
        for at, (raw_key, value, timestamp) in enumerate(columns):
            if timestamp > stream_time:
                stream_time = timestamp
            close_time = stream_time - grace_ms
            slot = timestamp // slot_ms
            starts = starts_of.get(slot)
            if starts is None:
                starts = starts_of[slot] = tuple(
                    (start, suffix(start, 0)) for start in windows.starts(timestamp)
                )
            for start, ending in starts:
                if start + size_ms <= close_time:
                    continue  # late: the window is closed
                raw = raw_key + ending
                known, when = found.get(raw), timestamp
                if known is None:
                    row: Any = store.read(raw, start) if start > observed - retention_ms else None
                    if needs_old_of(raw):  # read again: the function may change it in place
                        before[raw] = None if row is None else value_of(store.read(raw, start))
                else:
                    row = known if known[0] is not None and start > observed - retention_ms else None
                if row is None:
                    old = initializer()
                else:
                    old = row[0]
                    if row[1] > when:
                        when = row[1]
                found[raw] = make(_Row, (aggregator(keys[raw_key], value, old), when, at, order, start))
                order += 1
                if start > observed:
                    observed = start
        return found, stream_time


def window_absorber(operation: Operation, store: Any, context: Context) -> WindowAbsorber | None:
    """None where the records of an aggregation must be taken one by one."""
    if type(operation) is not WindowAggregate or type(store) is not WindowStore:
        return None
    windows, emitter = operation.windows, context.emitters[0]
    if type(windows) is not TimeWindows or operation.on_close:
        return None
    if not emitter.cached or store.live is None:
        return None
    return WindowAbsorber(operation, windows, store, emitter, context)
