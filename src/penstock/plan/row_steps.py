"""Steps between records and rows. A row is a mapping from all columns to values, those of the key and of the
system among them: the form that `RowExpression` computes over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.expressions.environment import NOWHERE, Environment, ExpressionFailure
from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.evaluating import evaluator
from penstock.expressions.functions.table_functions import table_function
from penstock.expressions.python_functions import PythonFunction
from penstock.expressions.tree import Expression
from penstock.kernels.context import Context, Process
from penstock.kernels.operation import Operation
from penstock.kernels.record import Headers, Record, Windowed
from penstock.kernels.serdes import Serde, from_bytes
from penstock.plan.row_aggregates import key_columns

HeaderColumns = tuple[tuple[str, str | None], ...]
"""Columns that hold all headers (None) or the last one of a name."""


@dataclass(frozen=True)
class MakeRow(Operation):
    """A record's key and value become a row with ROWTIME, ROWPARTITION and ROWOFFSET.

    A single key column is the key itself; several are a mapping. A key with a window also gives WINDOWSTART
    and WINDOWEND. A record without a value has no row: it deletes in a table, and in a stream it goes through
    projections as it is.
    """

    key: tuple[str, ...]
    value: tuple[str, ...]
    headers: HeaderColumns = ()

    def bind(self, context: Context) -> Process:
        key, value, task, forward = self.key, self.value, context.task, context.forward
        headers, count, only = self.headers, len(value), key[0] if len(key) == 1 else None

        def process(record: Record) -> None:
            given = record.value
            if given is None:
                forward(record)
                return
            row: dict[str, Any]
            row = dict(given) if len(given) == count else {name: given.get(name) for name in value}
            if only is not None and not isinstance(record.key, Windowed):
                row[only] = record.key
            else:
                row.update(key_columns(key, record.key))
            if headers:
                row.update(_header_columns(headers, record.headers))
            row["ROWTIME"] = record.timestamp
            if task.metadata is not None:
                row["ROWPARTITION"], row["ROWOFFSET"] = task.metadata.partition, task.metadata.offset
            if isinstance(record.key, Windowed):
                row["WINDOWSTART"], row["WINDOWEND"] = record.key.start, record.key.end
            forward(record.with_value(row))

        return process


def _header_columns(columns: HeaderColumns, headers: Headers) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, header in columns:
        if header is None:
            found[name] = [{"KEY": key, "VALUE": value} for key, value in headers]
        else:
            found[name] = next((value for key, value in reversed(headers) if key == header), None)
    return found


@dataclass(frozen=True)
class SplitRow(Operation):
    """A row becomes a record again: its key stays, its value has the given columns.

    `key` are the new names of the key's columns, which matter where there are several. `given` are the row's
    columns where they have other names than the value's.
    """

    value: tuple[str, ...]
    key: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    def bind(self, context: Context) -> Process:
        forward, names = context.forward, self.key
        pairs = tuple(zip(self.value, self.given or self.value, strict=True))

        def process(record: Record) -> None:
            row, key = record.value, _renamed(record.key, names)
            value_row = None if row is None else {name: row.get(old) for name, old in pairs}
            forward(Record(key, value_row, record.timestamp, record.headers))

        return process


def _renamed(key: Any, names: tuple[str, ...]) -> Any:
    if len(names) < 2 or key is None:
        return key
    if isinstance(key, Windowed):
        return key._replace(key=_renamed(key.key, names))
    return dict(zip(names, key.values(), strict=True))


@dataclass(frozen=True)
class DecodeRecord(Operation):
    """Bytes become a key and a value, where several sources read one topic. What cannot be read is a failure
    of this step, which the host's handler skips."""

    key_serde: Serde[Any]
    value_serde: Serde[Any]
    topic: str

    def bind(self, context: Context) -> Process:
        forward, topic = context.forward, self.topic

        def process(record: Record) -> None:
            key = from_bytes(self.key_serde, topic, record.key)
            value = from_bytes(self.value_serde, topic, record.value)
            forward(Record(key, value, record.timestamp, record.headers))

        return process


@dataclass(frozen=True)
class TableCall:
    """A table function over a row; its results stand in the column `name`."""

    name: str
    function: str
    argument: Expression
    python: PythonFunction | None = None
    """A function of a user, with all its arguments."""
    arguments: tuple[Expression, ...] = ()

    def rows(self, environment: Environment) -> Callable[[Any], list[Any]]:
        """From a row to the results of the call."""
        if self.python is not None:
            return self._python_rows(self.python, environment)
        _, rows = table_function(self.function, [self.argument.type])
        argument = evaluator(self.argument, environment)
        return lambda row: rows(argument(row))

    def _python_rows(self, function: PythonFunction, environment: Environment) -> Callable[[Any], list[Any]]:
        if environment.python is None:
            raise EvaluationFailed(f"{function.name} is a function in Python, and none are executed here")
        call = environment.python.table(function)
        arguments = [evaluator(each, environment) for each in self.arguments]

        def rows(row: Any) -> list[Any]:
            try:
                return call(*[each(row) for each in arguments])
            except Exception as error:
                message = f"Failed to invoke function {function.name}: {error}"
                environment.report(ExpressionFailure(function.name, message, row))
                return []

        return rows


@dataclass(frozen=True)
class ExplodeRow:
    """(row) → rows: those of the longest result; columns of shorter ones are null behind their end."""

    calls: tuple[TableCall, ...]

    def __call__(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.bound(NOWHERE)(row)
        return rows

    def bound(self, environment: Environment) -> Callable[..., Any]:
        calls = [(call.name, call.rows(environment)) for call in self.calls]

        def explode(row: dict[str, Any] | None) -> list[dict[str, Any]]:
            if row is None:
                return []
            results = [(name, rows(row)) for name, rows in calls]
            length = max(len(items) for _, items in results)
            return [
                {**row, **{name: items[at] if at < len(items) else None for name, items in results}}
                for at in range(length)
            ]

        return explode
