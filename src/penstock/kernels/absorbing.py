"""Aggregations that take many records at once: one look-up and one change for each row, not for each record.

Only where changes are held back until the step ends, so that nothing downstream sees those in between. A
function of the user that fails leaves the store and the held changes as they were, and the records can be
taken one by one instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from penstock.kernels.aggregates import StreamAggregate, StreamReduce, add_one, zero
from penstock.kernels.context import Emitter
from penstock.kernels.operation import Function, Operation, value_of
from penstock.kernels.record import Headers, Metadata
from penstock.kernels.stores import KeyValueStore


class KeyedRows(NamedTuple):
    """Records whose keys are the very bytes that the store has for them."""

    raw_keys: Sequence[bytes]
    values: Sequence[Any]
    """The bytes of the values where the aggregation only counts them."""
    timestamps: Sequence[int]
    headers: Sequence[Headers]
    keys: Mapping[bytes, Any]
    metadata: Callable[[int], Metadata]
    """Where the record at a place came from."""


_Row = tuple[Any, int]
_Rows = dict[bytes, _Row]
_Aggregate = Callable[[KeyedRows, Callable[[bytes], _Row | None]], _Rows]


class TakesRows(Protocol):
    """What takes many records at once."""

    counts_only: bool
    """Whether it does not look at values."""
    takes_nulls: bool
    """Whether records without a value are part of it; those without a key never are."""

    def __call__(self, rows: KeyedRows) -> None: ...


class Absorber:
    """Takes rows into the store of one aggregation."""

    takes_nulls = False

    def __init__(self, operation: Operation, store: KeyValueStore, emitter: Emitter) -> None:
        self._store, self._emitter = store, emitter
        self.counts_only = _counts_only(operation)
        self._aggregate: _Aggregate
        if self.counts_only:
            self._aggregate = _counted
        elif isinstance(operation, StreamReduce):
            self._aggregate = _reduced(operation.reducer)
        else:
            assert isinstance(operation, StreamAggregate)
            self._aggregate = _aggregated(operation.initializer, operation.aggregator)

    def __call__(self, rows: KeyedRows) -> None:
        found = self._aggregate(rows, self._store.read)
        last = dict(zip(rows.raw_keys, range(len(rows.raw_keys)), strict=True))
        store, emitter = self._store, self._emitter
        for raw, at in sorted(last.items(), key=itemgetter(1)):  # in the order of their last change
            new, timestamp = found[raw]
            before = value_of(store.read(raw)) if emitter.needs_old_of(raw) else None
            store.hold(raw, new, timestamp)
            emitter.hold(
                raw, rows.keys[raw], new, before, timestamp, rows.headers[at], True, rows.metadata(at)
            )


def absorber(operation: Operation, store: Any, emitters: Sequence[Emitter]) -> Absorber | None:
    """None where the records of an aggregation must be taken one by one."""
    if type(operation) not in (StreamAggregate, StreamReduce) or type(store) is not KeyValueStore:
        return None
    emitter = emitters[0]
    return Absorber(operation, store, emitter) if emitter.cached and store.live is not None else None


def _counts_only(operation: Operation) -> bool:
    return (
        isinstance(operation, StreamAggregate)
        and operation.initializer is zero
        and operation.aggregator is add_one
    )


def _counted(rows: KeyedRows, read: Callable[[bytes], _Row | None]) -> _Rows:
    newest = _newest(rows)
    found: _Rows = {}
    for raw, count in Counter(rows.raw_keys).items():
        row = read(raw)
        if row is None:
            found[raw] = (count, newest[raw])
        else:
            found[raw] = (row[0] + count, max(row[1], newest[raw]))
    return found


def _newest(rows: KeyedRows) -> dict[bytes, int]:
    """The newest time of each key."""
    if all(one <= other for one, other in pairwise(rows.timestamps)):
        return dict(zip(rows.raw_keys, rows.timestamps, strict=True))
    found: dict[bytes, int] = {}
    for raw, timestamp in zip(rows.raw_keys, rows.timestamps, strict=True):
        known = found.get(raw)
        if known is None or timestamp > known:
            found[raw] = timestamp
    return found


def _aggregated(initializer: Function, aggregator: Function) -> _Aggregate:
    def aggregate(rows: KeyedRows, read: Callable[[bytes], _Row | None]) -> _Rows:
        found: _Rows = {}
        keys = rows.keys
        for raw, value, timestamp in zip(rows.raw_keys, rows.values, rows.timestamps, strict=True):
            row = found[raw] if raw in found else read(raw)
            if row is None or row[0] is None:
                found[raw] = (aggregator(keys[raw], value, initializer()), timestamp)
            else:
                old, then = row
                found[raw] = (aggregator(keys[raw], value, old), timestamp if timestamp > then else then)
        return found

    return aggregate


def _reduced(reducer: Function) -> _Aggregate:
    def reduce(rows: KeyedRows, read: Callable[[bytes], _Row | None]) -> _Rows:
        found: _Rows = {}
        for raw, value, timestamp in zip(rows.raw_keys, rows.values, rows.timestamps, strict=True):
            row = found[raw] if raw in found else read(raw)
            if row is None or row[0] is None:
                found[raw] = (value, timestamp)
            else:
                old, then = row
                found[raw] = (reducer(old, value), timestamp if timestamp > then else then)
        return found

    return reduce
