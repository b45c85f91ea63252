"""Joins of two streams in a window. Left and outer joins emit a record without a match when its window has
closed.

A record first joins with what the other side has, and is then kept for the other side (`KeepForJoin`). Kafka
emits unmatched records at most once a second of wall-clock time. Here they are emitted as soon as stream time
closes their window, so that results do not depend on when they were computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from penstock.kernels.context import Context, Process
from penstock.kernels.operation import Function, Operation
from penstock.kernels.outer_buffer import OuterBuffer
from penstock.kernels.record import UNKNOWN_TIME, Record, latest
from penstock.kernels.windows import JoinWindows

_NEVER: Final = 2**63 - 1


@dataclass(frozen=True)
class KeepForJoin(Operation):
    store: str

    def own_stores(self) -> tuple[str, ...]:
        return (self.store,)

    def bind(self, context: Context) -> Process:
        store = context.stores[self.store]

        def process(record: Record) -> None:
            context.forward(record)
            if record.key is not None:
                store.put(record.key, record.value, record.timestamp)

        return process


@dataclass(frozen=True)
class StreamJoinSide(Operation):
    """One side's records meet the other side's store."""

    is_left: bool
    other_store: str
    windows: JoinWindows
    joiner: Function  # (left, right) → value, or (key, left, right) → value
    with_key: bool = False
    outer: bool = False  # this side's records are emitted even without a match
    buffer: str | None = None  # where they wait, in left and outer joins

    def own_stores(self) -> tuple[str, ...]:
        return (self.other_store,) if self.buffer is None else (self.other_store, self.buffer)

    def bind(self, context: Context) -> Process:
        return _Side(self, context).process


class _Side:
    def __init__(self, operation: StreamJoinSide, context: Context) -> None:
        self._operation, self._context = operation, context
        self._other = context.stores[operation.other_store]
        self._buffer: OuterBuffer | None = None
        self._marks = context.marks
        if operation.buffer is not None:
            self._buffer = context.stores[operation.buffer]
            self._marks = self._buffer.marks
        windows = operation.windows
        before, after = windows.before_ms, windows.after_ms
        self._before, self._after = (before, after) if operation.is_left else (after, before)

    def process(self, record: Record) -> None:
        key, value, time, _ = record
        stream_time = self._marks["stream_time"] = latest(time, self._marks.get("stream_time", UNKNOWN_TIME))
        if key is None and value is not None and self._operation.outer:
            self._context.forward(record.with_value(self._joined(None, value, None)))
            return
        if key is None or value is None:
            return
        if self._buffer is not None and time == stream_time:
            self._emit_unmatched(self._buffer, record, stream_time)
        first, last = max(0, time - self._before), max(0, time + self._after)
        met = False
        for other_time, other in list(self._other.fetch_range(key, first, last)):
            met = True
            if self._buffer is not None:
                self._buffer.remove(key, other_time, not self._operation.is_left)
            joined = self._joined(key, value, other.value)
            self._context.forward(Record(key, joined, latest(time, other_time), record.headers))
        if self._operation.outer and not met:
            self._keep_or_emit(record, last, stream_time)

    def _keep_or_emit(self, record: Record, last: int, stream_time: int) -> None:
        """A record without a match waits for its window to close; one that came too late for that is emitted
        now.
        """
        if self._buffer is None or last < stream_time:
            self._context.forward(record.with_value(self._joined(record.key, record.value, None)))
            return
        self._marks["min_time"] = min(record.timestamp, self._marks.get("min_time", _NEVER))
        self._buffer.add(record.key, record.timestamp, self._operation.is_left, record.value)

    def _emit_unmatched(self, buffer: OuterBuffer, record: Record, stream_time: int) -> None:
        grace = self._operation.windows.grace_ms
        if self._marks.get("min_time", _NEVER) + self._after + grace >= stream_time:
            return
        self._marks["min_time"] = _NEVER
        windows = self._operation.windows
        open_sides: set[bool] = set()  # times only grow from here, so an open side has nothing more to emit
        for waiting in buffer.all():
            self._marks["min_time"] = waiting.timestamp
            if len(open_sides) == 2:
                return
            look_back = windows.after_ms if waiting.is_left else windows.before_ms
            if waiting.timestamp + look_back + grace >= stream_time:
                open_sides.add(waiting.is_left)
                continue
            for value in waiting.values:
                joined = self._unmatched(waiting.key, value, waiting.is_left)
                self._context.forward(Record(waiting.key, joined, waiting.timestamp, record.headers))
            buffer.remove_raw(waiting.raw, waiting.timestamp)

    def _joined(self, key: Any, this: Any, other: Any) -> Any:
        left, right = (this, other) if self._operation.is_left else (other, this)
        return self._join(key, left, right)

    def _unmatched(self, key: Any, value: Any, is_left: bool) -> Any:
        return self._join(key, value, None) if is_left else self._join(key, None, value)

    def _join(self, key: Any, left: Any, right: Any) -> Any:
        joiner = self._operation.joiner
        return joiner(key, left, right) if self._operation.with_key else joiner(left, right)
