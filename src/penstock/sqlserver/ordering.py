"""ORDER BY of a pull query: rows sorted by expressions over the columns of the result. Null comes last."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from functools import cmp_to_key
from typing import Any, Final

from penstock.expressions.comparing import comparison
from penstock.expressions.evaluating import evaluator
from penstock.expressions.tree import comparable
from penstock.plan.row_schemas import ColumnSchema
from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import scope, typed
from penstock.sqlserver.errors import KsqlError
from penstock.sqlserver.transient import OutputRow

MOST_ROWS: Final = 1_000_000
"""That are held to be sorted; with LIMIT only so many are."""


class Ordering:
    def __init__(self, parts: tuple[s.Ordered, ...], columns: tuple[ColumnSchema, ...]) -> None:
        known = scope({column.name: column.type for column in columns})
        self._names = [column.name for column in columns]
        self._keys = [_key(part, typed(part.expression, known)) for part in parts]

    def sorted(self, rows: Iterable[OutputRow], limit: int | None) -> list[OutputRow]:
        key = cmp_to_key(self._compared)
        if limit is not None and limit <= MOST_ROWS:
            return heapq.nsmallest(limit, rows, key)
        held = []
        for row in rows:
            held.append(row)
            if len(held) > MOST_ROWS:
                raise KsqlError(f"ORDER BY sorts at most {MOST_ROWS} rows: add LIMIT or a condition")
        return sorted(held, key=key)

    def _compared(self, one: OutputRow, other: OutputRow) -> int:
        left = dict(zip(self._names, one.values, strict=True))
        right = dict(zip(self._names, other.values, strict=True))
        return next((found for each in self._keys if (found := each(left, right))), 0)


def _key(part: s.Ordered, expression: Any) -> Callable[[Any, Any], int]:
    kind = expression.type
    if not comparable(kind, kind, ordered=True):
        raise SqlError(f"ORDER BY cannot sort by {kind}", *part.at)
    less = comparison("<", kind, kind)
    value, sign = evaluator(expression), -1 if part.descending else 1

    def compare(left: Any, right: Any) -> int:
        one, other = value(left), value(right)
        if one is None or other is None:
            return (one is None) - (other is None)
        return -sign if less(one, other) else sign if less(other, one) else 0

    return compare
