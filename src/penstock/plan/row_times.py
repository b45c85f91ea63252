"""Times that rows carry in a column: of records that are read, and of records that are written."""

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
from penstock.plan.row_aggregates import key_columns


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
            value = key_columns(self.key, record.key)[self.column]
        elif record.value is None:
            return record.timestamp
        else:
            value = record.value.get(self.column)
        return _time_of(value, self.pattern)


@dataclass(frozen=True)
class WrittenTime(Operation):
    """Records get the time that a column holds. One whose column has no time goes no further."""

    column: str
    key: tuple[str, ...] = ()
    pattern: str | None = None

    def bind(self, context: Context) -> Process:
        forward = context.forward

        def process(record: Record) -> None:
            if record.value is None:
                forward(record)
                return
            row = {**key_columns(self.key, record.key), **record.value}
            time = _time_of(row.get(self.column), self.pattern)
            if time >= 0:
                forward(record.with_timestamp(time))

        return process


def _time_of(value: Any, pattern: str | None) -> int:
    if value is None:
        return UNKNOWN_TIME
    if pattern is None:
        return int(value)
    time: int = UNKNOWN_TIME
    with suppress(EvaluationFailed):
        time = parse_timestamp(value, pattern)
    return time
