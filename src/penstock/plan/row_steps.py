"""Steps between records and rows. A row is a mapping from all columns to values, those of the key and of the
system among them: the form that `RowExpression` computes over.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.functions.dates import parse_timestamp
from penstock.kernels.context import Context, Process
from penstock.kernels.operation import Operation
from penstock.kernels.record import UNKNOWN_TIME, Record
from penstock.kernels.timestamps import Incoming


@dataclass(frozen=True)
class MakeRow(Operation):
    """A record's key and value become a row with ROWTIME, ROWPARTITION and ROWOFFSET.

    A single key column is the key itself; several are a mapping. A record without a value goes no further.
    """

    key: tuple[str, ...]
    value: tuple[str, ...]

    def bind(self, context: Context) -> Process:
        key, value, task, forward = self.key, self.value, context.task, context.forward

        def process(record: Record) -> None:
            if record.value is None:
                return
            row: dict[str, Any] = {name: record.value.get(name) for name in value}
            row.update(_key_columns(key, record.key))
            row["ROWTIME"] = record.timestamp
            if task.metadata is not None:
                row["ROWPARTITION"], row["ROWOFFSET"] = task.metadata.partition, task.metadata.offset
            forward(record.with_value(row))

        return process


@dataclass(frozen=True)
class SplitRow(Operation):
    """A row becomes a record: the columns of the key, and those of the value. Without key columns, no key."""

    key: tuple[str, ...]
    value: tuple[str, ...]

    def bind(self, context: Context) -> Process:
        key, value, forward = self.key, self.value, context.forward

        def process(record: Record) -> None:
            row = record.value
            made = {name: row.get(name) for name in key}
            new_key = made if len(key) > 1 else made[key[0]] if key else None
            new_value = {name: row.get(name) for name in value}
            forward(Record(new_key, new_value, record.timestamp, record.headers))

        return process


@dataclass(frozen=True)
class ColumnTime:
    """A timestamp extractor: the time is in a column, as milliseconds or as text of a pattern in UTC.

    A record whose column has no time is skipped, as ksqlDB does.
    """

    column: str
    key: tuple[str, ...] = ()
    """The key's columns, among which it may be."""
    pattern: str | None = None

    def __call__(self, record: Incoming, partition_time: int, /) -> int:
        if self.column in self.key:
            value = _key_columns(self.key, record.key)[self.column]
        else:
            value = None if record.value is None else record.value.get(self.column)
        if value is None:
            return UNKNOWN_TIME
        return int(value) if self.pattern is None else _time_of(value, self.pattern)


def _time_of(text: str, pattern: str) -> int:
    time: int = UNKNOWN_TIME
    with suppress(EvaluationFailed):
        time = parse_timestamp(text, pattern)
    return time


def _key_columns(names: tuple[str, ...], key: Any) -> dict[str, Any]:
    if len(names) == 1:
        return {names[0]: key}
    return {name: None if key is None else key.get(name) for name in names}
