"""Aggregations without windows: of grouped streams, and of grouped tables, where rows are also subtracted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.kernels.context import Context, Emitter, Getter, Process
from penstock.kernels.operation import (
    Function,
    Operation,
    Parents,
    TableOperation,
    ViewOf,
    store_view,
    value_of,
)
from penstock.kernels.record import Change, Record, latest


def zero() -> int:
    """Where a count begins."""
    return 0


def add_one(key: Any, value: Any, count: int) -> int:
    return count + 1


def take_one(key: Any, value: Any, count: int) -> int:
    return count - 1


def nothing() -> None:
    """Where a reduction begins."""
    return


@dataclass(frozen=True)
class InStore(TableOperation):
    """A table whose rows are those of one key-value store."""

    store: str = ""
    caching: bool = True

    def own_stores(self) -> tuple[str, ...]:
        return (self.store,)

    def view(self, stores: Mapping[str, Any], parents: Parents, of: ViewOf) -> Getter:
        return store_view(stores[self.store])


@dataclass(frozen=True)
class StreamAggregate(InStore):
    """Records without key or value are no part of it."""

    initializer: Function = zero  # () → aggregate
    aggregator: Function = add_one  # (key, value, aggregate) → aggregate

    def bind(self, context: Context) -> Process:
        store, initializer, aggregator = context.stores[self.store], self.initializer, self.aggregator
        emitter = Emitter(context, store, send_old=self.send_old, cached=self.caching)
        holding = emitter.cached and store.live is not None
        read, write = (store.held, store.hold) if holding else (store.read, store.write)

        def process(record: Record) -> None:
            key, value, timestamp, headers = record
            if key is None or value is None:
                return
            raw = store.raw_key(key)
            row = read(raw)
            old = None
            if row is not None:
                old, then = row
                if then > timestamp:
                    timestamp = then
            new = aggregator(key, value, initializer() if old is None else old)
            before = None
            if emitter.needs_old_of(raw):  # read again: the function may have changed the aggregate in place
                before = value_of(store.read(raw)) if row is not None or emitter.cached else initializer()
            newest = write(raw, new, timestamp)
            if newest is not None:
                emitter.emit(raw, key, new, before, timestamp, headers, newest)

        return process


@dataclass(frozen=True)
class StreamReduce(InStore):
    """The first value of a key is its aggregate."""

    reducer: Function = add_one  # (aggregate, value) → aggregate

    def bind(self, context: Context) -> Process:
        store, reducer = context.stores[self.store], self.reducer
        emitter = Emitter(context, store, send_old=self.send_old, cached=self.caching)
        holding = emitter.cached and store.live is not None
        read, write = (store.held, store.hold) if holding else (store.read, store.write)

        def process(record: Record) -> None:
            key, value, timestamp, headers = record
            if key is None or value is None:
                return
            raw = store.raw_key(key)
            row = read(raw)
            if row is None:
                new, old = value, None
            else:
                old, then = row
                new = reducer(old, value)
                timestamp = latest(timestamp, then)
            newest = write(raw, new, timestamp)
            if newest is not None:
                emitter.emit(raw, key, new, old, timestamp, headers, newest)

        return process


@dataclass(frozen=True)
class TableAggregate(InStore):
    """What a change took away is subtracted first, then what it brought is added."""

    initializer: Function = zero
    adder: Function = add_one  # (key, value, aggregate) → aggregate
    subtractor: Function = take_one

    def bind(self, context: Context) -> Process:
        store = context.stores[self.store]
        emitter = Emitter(context, store, send_old=self.send_old, cached=self.caching)

        def process(record: Record) -> None:
            key, change, timestamp, headers = record
            raw = store.raw_key(key)
            row = store.read(raw)
            old = between = None if row is None else row.value
            if change.old is not None and old is not None:
                between = self.subtractor(key, change.old, old)
                timestamp = latest(timestamp, row.timestamp)
            new = between
            if change.new is not None:
                new = self.adder(key, change.new, self.initializer() if between is None else between)
                timestamp = timestamp if row is None else latest(timestamp, row.timestamp)
            # Read again: it may have been changed in place.
            before = value_of(store.read(raw)) if emitter.needs_old_of(raw) else None
            newest = store.write(raw, new, timestamp)
            if newest is not None:
                emitter.emit(raw, key, new, before, timestamp, headers, newest)

        return process


@dataclass(frozen=True)
class TableReduce(InStore):
    adder: Function = add_one  # (aggregate, value) → aggregate
    subtractor: Function = take_one

    def bind(self, context: Context) -> Process:
        store = context.stores[self.store]
        emitter = Emitter(context, store, send_old=self.send_old, cached=self.caching)

        def process(record: Record) -> None:
            key, change, timestamp, headers = record
            raw = store.raw_key(key)
            row = store.read(raw)
            old = between = None if row is None else row.value
            if change.old is not None and old is not None:
                between = self.subtractor(old, change.old)
                timestamp = latest(timestamp, row.timestamp)
            new = between
            if change.new is not None:
                new = change.new if between is None else self.adder(between, change.new)
                if between is not None:
                    timestamp = latest(timestamp, row.timestamp)
            # Read again: it may have been changed in place.
            before = value_of(store.read(raw)) if emitter.needs_old_of(raw) else None
            newest = store.write(raw, new, timestamp)
            if newest is not None:
                emitter.emit(raw, key, new, before, timestamp, headers, newest)

        return process


@dataclass(frozen=True)
class TableRepartitionMap(Operation):
    """Groups a table anew: the old row leaves its group, the new one joins its own."""

    function: Function  # (key, value) → (key, value)

    def wants_old(self, parents: Parents) -> tuple[tuple[str, bool], ...]:
        return tuple((parent, True) for parent in parents)

    def bind(self, context: Context) -> Process:
        function, forward = self.function, context.forward

        def process(record: Record) -> None:
            key, change, timestamp, headers = record
            if not change.is_latest:
                return
            old = _pair(function, key, change.old)
            new = _pair(function, key, change.new)
            if old is not None and new is not None and old[0] == new[0]:
                forward(Record(old[0], Change(new[1], old[1]), timestamp, headers))
                return
            if old is not None:
                forward(Record(old[0], Change(None, old[1]), timestamp, headers))
            if new is not None:
                forward(Record(new[0], Change(new[1], None), timestamp, headers))

        return process


def _pair(function: Function, key: Any, value: Any) -> tuple[Any, Any] | None:
    """Key and value under which a row is grouped; none if it belongs to no group."""
    if value is None:
        return None
    pair = function(key, value)
    return None if pair is None or pair[0] is None or pair[1] is None else (pair[0], pair[1])
