"""Aggregations in sessions: a record and all sessions within the gap around it become one session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.kernels.aggregates import add_one, zero
from penstock.kernels.context import Context, Emitter, Getter, Process
from penstock.kernels.operation import Function, Parents, TableOperation, ViewOf
from penstock.kernels.record import UNKNOWN_TIME, Change, Record, Stamped, Windowed
from penstock.kernels.session_store import SessionStore
from penstock.kernels.windows import SessionWindows


def add_counts(key: Any, one: int, other: int) -> int:
    return one + other


@dataclass(frozen=True)
class SessionAggregate(TableOperation):
    store: str = ""
    caching: bool = True
    on_close: bool = False
    windows: SessionWindows = field(default_factory=lambda: SessionWindows(1))
    initializer: Function = zero
    aggregator: Function = add_one  # (key, value, aggregate) → aggregate
    merger: Function = add_counts  # (key, aggregate, aggregate) → aggregate
    close_first: bool = False
    """As in `WindowAggregate`."""

    def own_stores(self) -> tuple[str, ...]:
        return (self.store,)

    def view(self, stores: Mapping[str, Any], parents: Parents, of: ViewOf) -> Getter:
        store: SessionStore = stores[self.store]

        def get(key: Any, as_of: int | None = None) -> Stamped | None:
            value = store.fetch_session(key.key, key.start, key.end)
            return None if value is None else Stamped(value, key.end)

        return get

    def bind(self, context: Context) -> Process:
        store: SessionStore = context.stores[self.store]
        windows = self.windows
        emitter = Emitter(context, store, send_old=self.send_old, cached=self.caching and not self.on_close)

        def emit(session: Windowed, new: Any, old: Any) -> None:
            if not self.on_close:
                emitter.emit(store.raw_key(session), session, new, old, session.end, ())

        def process(record: Record) -> None:
            key, value, timestamp, _ = record
            if key is None:
                return
            close_time = context.advance("stream_time", timestamp) - windows.grace_ms - windows.gap_ms
            if self.on_close and self.close_first:
                self._tell_closed(context, store, record, close_time)
            near = list(store.find_sessions(key, timestamp - windows.gap_ms, timestamp + windows.gap_ms))
            session = Windowed(
                key,
                min([timestamp, *(known.start for known, _ in near)]),
                max([timestamp, *(known.end for known, _ in near)]),
            )
            if session.end >= close_time:  # else late
                aggregate = self.initializer()
                for _, known_aggregate in near:
                    aggregate = self.merger(key, aggregate, known_aggregate)
                if (session.start, session.end) != (timestamp, timestamp):
                    for known, known_aggregate in near:
                        store.remove(known)
                        emit(known, None, known_aggregate)
                aggregate = self.aggregator(key, value, aggregate)
                store.put(session, aggregate)
                emit(session, aggregate, None)
            if self.on_close and not self.close_first:
                self._tell_closed(context, store, record, close_time)

        return process

    def _tell_closed(self, context: Context, store: SessionStore, record: Record, close_time: int) -> None:
        closed = context.marks.get("closed", UNKNOWN_TIME)
        first, last = max(0, closed), close_time - 1
        if (closed != UNKNOWN_TIME and closed >= close_time) or last < first:
            return
        for session, aggregate in list(store.find_ended(first, last)):
            context.forward(Record(session, Change(aggregate, None), session.end, record.headers))
        context.marks["closed"] = close_time
