"""Joins of two tables on one key: a change on either side looks up the other side's row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.kernels.context import Context, Emitter, Getter, Process
from penstock.kernels.operation import (
    AskOld,
    Function,
    Parents,
    StoresOf,
    TableOperation,
    ViewOf,
    store_view,
    value_of,
)
from penstock.kernels.record import Change, Record, Stamped, latest


def _first(left: Any, right: Any) -> Any:
    return left


@dataclass(frozen=True)
class TableJoinSide(TableOperation):
    """`this_needed` and `other_needed` say which rows a result needs."""

    this: str = ""  # the nodes of the two tables
    other: str = ""
    is_left: bool = True
    this_needed: bool = True
    other_needed: bool = True
    joiner: Function = _first  # (left, right) → value

    def tables_read(self) -> tuple[str, ...]:
        return (self.other,)

    def reads_emitted_rows(self) -> bool:
        return True

    def wants_old(self, parents: Parents) -> tuple[tuple[str, bool], ...]:
        return (
            () if self.other_needed else ((self.this, True),)
        )  # to distinguish a deleted row from one that never was

    def can_send_old(self, parents: Parents, ask: AskOld, force: bool) -> bool:
        ask(self.this, True)
        ask(self.other, True)
        return True

    def _join(self, this: Any, other: Any) -> Any:
        """The joined row, or none if a side is missing that is needed."""
        if (this is None and (self.this_needed or other is None)) or (other is None and self.other_needed):
            return None
        return self.joiner(this, other) if self.is_left else self.joiner(other, this)

    def bind(self, context: Context) -> Process:
        lookup = context.views[self.other]

        def process(record: Record) -> None:
            change: Change = record.value
            if record.key is None or not change.is_latest:
                return
            row = lookup(record.key, None)
            if row is None and (self.other_needed or (change.new is None and change.old is None)):
                return
            other = value_of(row)
            old = self._join(change.old, other) if self.send_old else None
            timestamp = record.timestamp if row is None else latest(record.timestamp, row.timestamp)
            joined = Change(self._join(change.new, other), old, change.is_latest)
            context.forward(Record(record.key, joined, timestamp, record.headers))

        return process

    def view(self, stores: Mapping[str, Any], parents: Parents, of: ViewOf) -> Getter:
        this, other = of(self.this), of(self.other)

        def get(key: Any, as_of: int | None = None) -> Stamped | None:
            one, two = this(key, None), other(key, None)
            value = self._join(value_of(one), value_of(two))
            if value is None:
                return None
            return Stamped(value, max(row.timestamp for row in (one, two) if row is not None))

        return get

    def view_stores(self, parents: Parents, of: StoresOf) -> tuple[str, ...]:
        return (*of(self.this), *of(self.other))


@dataclass(frozen=True)
class TableJoinMerge(TableOperation):
    """Where both sides' results become one table."""

    store: str | None = None
    caching: bool = True

    def own_stores(self) -> tuple[str, ...]:
        return () if self.store is None else (self.store,)

    def can_send_old(self, parents: Parents, ask: AskOld, force: bool) -> bool:
        for parent in parents:
            ask(parent, True)
        return True

    def view(self, stores: Mapping[str, Any], parents: Parents, of: ViewOf) -> Getter:
        return of(parents[0]) if self.store is None else store_view(stores[self.store])

    def view_stores(self, parents: Parents, of: StoresOf) -> tuple[str, ...]:
        return self.own_stores() or of(parents[0])

    def bind(self, context: Context) -> Process:
        if self.store is None:
            return context.forward
        store = context.stores[self.store]
        emitter = Emitter(context, store, send_old=self.send_old, cached=self.caching)

        def process(record: Record) -> None:
            key, change, timestamp, headers = record
            raw = store.raw_key(key)
            old = value_of(store.read(raw)) if emitter.cached else change.old
            newest = store.write(raw, change.new, timestamp)
            if newest is not None:
                emitter.emit(raw, key, change.new, old, timestamp, headers, newest)

        return process
