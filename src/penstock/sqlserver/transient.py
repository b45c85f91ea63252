"""A query whose rows go to a client. The same plan and the same task as a persistent query, in one task for
all partitions; repartition topics are a loop within it. Records in, rows out; functions in Python run in a
child process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, NamedTuple

from penstock.kernels.serdes import Serde
from penstock.plan.handlers import Handlers
from penstock.plan.plan import Plan
from penstock.plan.raw_records import Produced, RawRecord
from penstock.plan.row_schemas import ColumnSchema, Format, RowSchema
from penstock.plan.rules import rewrite
from penstock.plan.task import Task
from penstock.sql.analysis.query import AnalysedQuery
from penstock.sql.lowering.graph import SerdeOf
from penstock.sql.lowering.query import plan_query
from penstock.sql.sources import DataSource
from penstock.sqlserver.function_process import FunctionProcess

SKIPPING: Final = Handlers()
RESULT: Final = "TRANSIENT"
"""Format and topic of the rows, which never become bytes."""


@dataclass(frozen=True)
class AsIs:
    """A serde that leaves rows as they are: they stay in this process."""

    def serialize(self, topic: str, value: Any) -> Any:
        return value

    def deserialize(self, topic: str, data: Any) -> Any:
        return data


class OutputRow(NamedTuple):
    values: list[Any]
    """In the order of the SELECT."""
    is_tombstone: bool = False


class TransientQuery:
    def __init__(
        self,
        query: AnalysedQuery,
        serde_of: SerdeOf,
        *,
        now_ms: int,
        handlers: Handlers = SKIPPING,
        random: Random | None = None,
    ) -> None:
        self.query = query
        self.columns, plan = transient_plan(query, serde_of)
        keys = {key.name for key in query.key}
        self.key_columns = tuple(column for column in self.columns if column.name in keys)
        self.topics = tuple(dict.fromkeys(source.topic for source in query.sources))
        self._functions = FunctionProcess()
        self._task = Task(
            rewrite(plan),
            application_id=RESULT,
            now_ms=now_ms,
            on_bad_record=handlers.on_bad_record,
            on_failure=handlers.on_failure,
            on_expression_failure=handlers.on_expression_failure,
            random=random,
            python=self._functions,
        )
        self._offsets: dict[str, int] = {}

    def feed(self, records: Iterable[RawRecord], now_ms: int | None = None) -> list[OutputRow]:
        """The rows that these records make."""
        if now_ms is not None:
            self._task.state.now_ms = now_ms
        rows: list[OutputRow] = []
        produced = self._task.step(records)
        while produced:
            again: list[RawRecord] = []
            for result in produced:
                if result.topic == RESULT:
                    rows.append(self._row(result))
                elif self._task.reads(result.topic):
                    again.append(self._looped(result))
            produced = self._task.step(again) if again else []
        return rows

    def close(self) -> None:
        self._task.close()
        self._functions.close()

    def _row(self, result: Produced) -> OutputRow:
        values: Any = result.value
        key: Any = getattr(result.key, "key", result.key)  # of a key with a window
        row = dict(values or {})
        if len(self.key_columns) == 1:
            row[self.key_columns[0].name] = key
        elif isinstance(key, dict):
            row.update({column.name: key.get(column.name) for column in self.key_columns})
        return OutputRow([row.get(column.name) for column in self.columns], values is None)

    def _looped(self, result: Produced) -> RawRecord:
        offset = self._offsets.get(result.topic, 0)
        self._offsets[result.topic] = offset + 1
        return RawRecord(result.topic, 0, offset, result.timestamp, result.key, result.value, result.headers)


def _with_result(serde_of: SerdeOf) -> SerdeOf:
    def found(form: Format, columns: Sequence[ColumnSchema], is_key: bool) -> Serde[Any]:
        return AsIs() if form.name == RESULT else serde_of(form, columns, is_key)

    return found


def _sink(columns: tuple[ColumnSchema, ...], key: tuple[ColumnSchema, ...]) -> DataSource:
    value = tuple(column for column in columns if column not in key)
    return DataSource("STREAM", RESULT, RESULT, RowSchema(key, value, Format(RESULT), Format(RESULT)))


def transient_plan(query: AnalysedQuery, serde_of: SerdeOf) -> tuple[tuple[ColumnSchema, ...], Plan]:
    """The columns and the plan, for EXPLAIN."""
    columns = tuple(ColumnSchema(each.name, each.expression.type) for each in query.columns)
    keys = {key.name for key in query.key}
    key = tuple(column for column in columns if column.name in keys)
    return columns, plan_query(query, _sink(columns, key), _with_result(serde_of))
