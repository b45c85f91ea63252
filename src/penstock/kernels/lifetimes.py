"""Rows that live for a time: a row of a table that nothing has changed for so long is deleted.

Time is the newest time of a record that the task has taken, so a result does not depend on when it is
computed. Not part of Kafka Streams; SQL's `WITH (TTL=…)` uses it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final

from penstock.kernels.aggregates import InStore, add_one, zero
from penstock.kernels.cells import Cells
from penstock.kernels.context import Context, Process, TaskState
from penstock.kernels.operation import Function, value_of
from penstock.kernels.record import Change, Record, Stamped
from penstock.kernels.serdes import Serde, from_bytes
from penstock.kernels.sorted_keys import SortedKeys
from penstock.kernels.store_specs import StoreSpec
from penstock.kernels.stores import KeyValueStore

_TIME: Final = struct.Struct(">Q")
LOOKS: Final = 10
"""How often in a lifetime rows are looked at."""
_LEAST: Final = 1 << 63  # times before 1970 come first, too


class ExpiringStore(KeyValueStore):
    """Rows by key, and in the order of their times. Operators read and write it at once, never `hold`."""

    def __init__(self, cells: Cells, key_serde: Serde[Any], value_serde: Serde[Any], task: TaskState) -> None:
        super().__init__(cells, key_serde, value_serde, task)
        self._by_time = SortedKeys()

    def loaded(self) -> None:
        """Called when the cells were loaded."""
        self._by_time = SortedKeys(_place(cell.timestamp, raw) for raw, cell in self.cells.snapshot() if cell)

    def _write(self, raw: bytes, value: Any, timestamp: int) -> None:
        there = self.cells.get(raw)
        if there is not None:
            self._by_time.remove(_place(there.timestamp, raw))
        if value is not None:
            self._by_time.add(_place(timestamp, raw))
        super()._write(raw, value, timestamp)

    def oldest(self) -> tuple[bytes, int] | None:
        """Key and time of the row that was changed longest ago."""
        place = self._by_time.first()
        return None if place is None else (place[8:], _TIME.unpack(place[:8])[0] - _LEAST)

    def key_of(self, raw: bytes) -> Any:
        return from_bytes(self._key, self.topic, raw)


def _place(timestamp: int, raw: bytes) -> bytes:
    return _TIME.pack(timestamp + _LEAST) + raw


@dataclass(frozen=True)
class ExpiringSpec(StoreSpec):
    """Rows with a lifetime."""

    def make(self, cells: Cells, task: TaskState, marks: dict[str, int]) -> ExpiringStore:
        return ExpiringStore(cells, self.key_serde, self.value_serde, task)


@dataclass(frozen=True)
class _Expiring(InStore):
    lifetime_ms: int = 0

    def _stores(self, context: Context) -> ExpiringStore:
        """The store. Its rows end as well when only records come that are no part of the table."""
        store: ExpiringStore = context.stores[self.store]
        if context.schedule is not None:
            every = max(1, self.lifetime_ms // LOOKS)
            context.schedule(every, "stream_time", lambda time: self._expire(context, store, time))
        return store

    def _expire(self, context: Context, store: ExpiringStore, stream_time: int) -> None:
        """Delete rows whose time is over; each deletion has the time at which it was due."""
        while (oldest := store.oldest()) is not None and oldest[1] + self.lifetime_ms <= stream_time:
            raw, changed = oldest
            old = value_of(store.read(raw))
            due = changed + self.lifetime_ms
            store.write(raw, None, due)
            context.forward(Record(store.key_of(raw), Change(None, old), due))


@dataclass(frozen=True)
class ExpiringAggregate(_Expiring):
    """`StreamAggregate` whose rows end. A key that comes again begins anew."""

    initializer: Function = zero  # () → aggregate
    aggregator: Function = add_one  # (key, value, aggregate) → aggregate

    def bind(self, context: Context) -> Process:
        store = self._stores(context)

        def process(record: Record) -> None:
            key, value, timestamp, headers = record
            stream_time = context.advance("stream_time", timestamp)
            self._expire(context, store, stream_time)
            if key is None or value is None:
                return
            raw = store.raw_key(key)
            row: Stamped | None = store.read(raw)
            old = self.initializer() if row is None else row.value
            latest = timestamp if row is None else max(timestamp, row.timestamp)
            new = self.aggregator(key, value, old)
            before = value_of(store.read(raw))  # read again: the function may have changed the aggregate
            store.write(raw, new, latest)
            context.forward(Record(key, Change(new, before), latest, headers))
            self._expire(context, store, stream_time)

        return process


@dataclass(frozen=True)
class ExpiringTable(_Expiring):
    """A table whose rows end unless they change."""

    def bind(self, context: Context) -> Process:
        store = self._stores(context)

        def process(record: Record) -> None:
            stream_time = context.advance("stream_time", record.timestamp)
            self._expire(context, store, stream_time)
            raw = store.raw_key(record.key)
            old, new = value_of(store.read(raw)), record.value.new
            store.write(raw, new, record.timestamp)
            if new is not None or old is not None:
                context.forward(record.with_value(Change(new, old, record.value.is_latest)))
            self._expire(context, store, stream_time)

        return process
