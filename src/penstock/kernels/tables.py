"""Tables: read from a topic or made of a stream, filtered and mapped row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.kernels.context import Context, Emitter, Getter, Process
from penstock.kernels.operation import (
    AskOld,
    Function,
    Operation,
    Parents,
    StoresOf,
    TableOperation,
    ViewOf,
    store_view,
    value_of,
)
from penstock.kernels.record import Change, Record, Stamped


@dataclass(frozen=True)
class TableSource(TableOperation):
    """Records become rows: a null value deletes, a null key is skipped. It keeps a store only if one is
    needed.
    """

    store: str = ""
    materialized: bool = False
    caching: bool = True

    def own_stores(self) -> tuple[str, ...]:
        return (self.store,) if self.materialized else ()

    def can_send_old(self, parents: Parents, ask: AskOld, force: bool) -> bool:
        return force or self.materialized

    def sending_old(self) -> dict[str, Any]:
        return {"send_old": True, "materialized": True}

    def being_read(self) -> dict[str, Any]:
        return {"materialized": True}

    def view(self, stores: Mapping[str, Any], parents: Parents, of: ViewOf) -> Getter:
        return store_view(stores[self.store])

    def bind(self, context: Context) -> Process:
        if not self.materialized:
            return self._bind_without_store(context)
        store = context.stores[self.store]
        emitter = Emitter(context, store, send_old=self.send_old, cached=self.caching)

        def process(record: Record) -> None:
            if record.key is None:
                return
            raw = store.raw_key(record.key)
            old = value_of(store.read(raw)) if emitter.needs_old_of(raw) else None
            newest = store.write(raw, record.value, record.timestamp)
            if newest is not None:
                emitter.emit(raw, record.key, record.value, old, record.timestamp, record.headers, newest)

        return process

    def _bind_without_store(self, context: Context) -> Process:
        def process(record: Record) -> None:
            if record.key is not None:
                context.forward(record.with_value(Change(record.value, None)))

        return process


@dataclass(frozen=True)
class _RowByRow(TableOperation):
    """A row's new value depends on that row alone; without a store of its own it is computed when it is
    read.
    """

    store: str | None = None
    caching: bool = True

    def _row(self, key: Any, value: Any) -> Any:
        raise NotImplementedError

    def own_stores(self) -> tuple[str, ...]:
        return () if self.store is None else (self.store,)

    def can_send_old(self, parents: Parents, ask: AskOld, force: bool) -> bool:
        return self.store is not None or ask(parents[0], force) or self.send_old

    def view(self, stores: Mapping[str, Any], parents: Parents, of: ViewOf) -> Getter:
        if self.store is not None:
            return store_view(stores[self.store])
        upstream = of(parents[0])

        def get(key: Any, as_of: int | None = None) -> Stamped | None:
            row = upstream(key, as_of)
            value = None if row is None else self._row(key, row.value)
            return None if value is None or row is None else Stamped(value, row.timestamp)

        return get

    def view_stores(self, parents: Parents, of: StoresOf) -> tuple[str, ...]:
        return self.own_stores() or of(parents[0])

    def _skips(self, new: Any, old: Any) -> bool:
        """Whether a change from nothing to nothing need not go further."""
        return False

    def bind(self, context: Context) -> Process:
        store = None if self.store is None else context.stores[self.store]
        emitter = Emitter(context, store, send_old=self.send_old, cached=self.caching) if store else None

        def old_of(record: Record) -> Any:
            if emitter is not None and store is not None:
                return store.get(record.key) if emitter.needs_old else None
            return self._new(record.key, record.value.old) if self.send_old else None

        def process(record: Record) -> None:
            change: Change = record.value
            new, old = self._new(record.key, change.new), old_of(record)
            if self._skips(new, old):
                return
            if store is None or emitter is None:
                context.forward(record.with_value(Change(new, old, change.is_latest)))
                return
            newest = store.put(record.key, new, record.timestamp)
            if newest is not None:
                raw = store.raw_key(record.key)
                emitter.emit(raw, record.key, new, old, record.timestamp, record.headers, newest)

        return process

    def _new(self, key: Any, value: Any) -> Any:
        return None if value is None else self._row(key, value)


def keep_all(key: Any, value: Any) -> bool:
    return True


def same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class TableFilter(_RowByRow):
    predicate: Function = keep_all  # (key, value) → bool
    negate: bool = False
    versioned: bool = False  # of a versioned table even a change from nothing to nothing goes on

    def wants_old(self, parents: Parents) -> tuple[tuple[str, bool], ...]:
        return ((parents[0], False),)

    def _row(self, key: Any, value: Any) -> Any:
        return value if bool(self.predicate(key, value)) is not self.negate else None

    def _skips(self, new: Any, old: Any) -> bool:
        return self.send_old and new is None and old is None and not self.versioned


@dataclass(frozen=True)
class TableMapValues(_RowByRow):
    function: Function = same  # (value) → value, or (key, value) → value
    with_key: bool = False

    def _row(self, key: Any, value: Any) -> Any:
        return self.function(key, value) if self.with_key else self.function(value)


@dataclass(frozen=True)
class TableMerge(TableOperation):
    """Where the aggregations of a cogroup meet: they share one store."""

    store: str = ""

    def can_send_old(self, parents: Parents, ask: AskOld, force: bool) -> bool:
        for parent in parents:
            ask(parent, force)
        return True

    def view(self, stores: Mapping[str, Any], parents: Parents, of: ViewOf) -> Getter:
        return of(parents[0])

    def view_stores(self, parents: Parents, of: StoresOf) -> tuple[str, ...]:
        return of(parents[0])

    def bind(self, context: Context) -> Process:
        return context.forward


@dataclass(frozen=True)
class GlobalTableUpdate(Operation):
    """Keeps a global table: every instance has all of it, and nothing flows on from it."""

    store: str

    def own_stores(self) -> tuple[str, ...]:
        return (self.store,)

    def bind(self, context: Context) -> Process:
        store = context.stores[self.store]

        def process(record: Record) -> None:
            if record.key is not None:
                store.put(record.key, record.value, record.timestamp)

        return process
