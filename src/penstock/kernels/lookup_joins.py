"""A stream's records look up a table's row: by their own key, or by any key in a global table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.kernels.context import Context, Process
from penstock.kernels.operation import Function, Operation, store_view, value_of
from penstock.kernels.record import Record


@dataclass(frozen=True)
class _Lookup(Operation):
    joiner: Function  # (stream's value, row) → value, or (key, stream's value, row) → value
    left: bool = False
    with_key: bool = False

    def _join(self, record: Record, row: Any) -> Any:
        if self.with_key:
            return self.joiner(record.key, record.value, row)
        return self.joiner(record.value, row)


@dataclass(frozen=True)
class StreamTableJoin(_Lookup):
    """The row as it is now, or, of a versioned table, as it was at the record's time."""

    table: str = ""

    def tables_read(self) -> tuple[str, ...]:
        return (self.table,)

    def bind(self, context: Context) -> Process:
        lookup = context.views[self.table]

        def process(record: Record) -> None:
            if record.value is None or (record.key is None and not self.left):
                return
            row = None if record.key is None else value_of(lookup(record.key, record.timestamp))
            if self.left or row is not None:
                context.forward(record.with_value(self._join(record, row)))

        return process


def record_key(key: Any, value: Any) -> Any:
    return key


@dataclass(frozen=True)
class GlobalTableJoin(_Lookup):
    store: str = ""
    key_selector: Function = record_key  # (key, value) → key of the global table

    def bind(self, context: Context) -> Process:
        lookup = store_view(context.stores[self.store])

        def process(record: Record) -> None:
            if record.value is None:
                return
            key = self.key_selector(record.key, record.value)
            if key is None and not self.left:
                return
            row = None if key is None else value_of(lookup(key, None))
            if self.left or row is not None:
                context.forward(record.with_value(self._join(record, row)))

        return process
