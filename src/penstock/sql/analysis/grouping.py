"""GROUP BY and HAVING: what rows are gathered by, what is computed of them, and what may be selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.rewriting import columns_of, rewritten
from penstock.plan.row_aggregates import AggregateCall
from penstock.sql import statements as s
from penstock.sql import syntax as x
from penstock.sql.analysis.calls import SpecialCalls, boolean, nested_call, refuse_calls
from penstock.sql.analysis.projection import OutputColumn
from penstock.sql.analysis.relations import From
from penstock.sql.analysis.windows import WindowMs, analyse_window
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import Scope, typed
from penstock.sql.message_text import shown
from penstock.sql.sources import WINDOW_BOUNDS


@dataclass(frozen=True)
class Grouping:
    """Rows with equal keys become one row."""

    keys: tuple[tuple[str, e.Expression], ...]
    """Columns of the new row, and what they are computed from."""
    shown: tuple[str, ...]
    """The keys as they were written."""
    calls: tuple[AggregateCall, ...]
    results: tuple[str, ...]
    window: WindowMs | None
    having: e.Expression | None


def check_grouping(node: s.Query, calls: SpecialCalls) -> None:
    """Refuse what needs a GROUP BY and has none, and the other way round."""
    if not node.group_by:
        if calls.first_aggregate is not None:
            name = calls.first_aggregate.name
            raise SqlError(
                f"Use of aggregate function {name} requires a GROUP BY clause. Aggregate function(s): {name}",
                *calls.first_aggregate.at,
            )
        if node.window is not None:
            raise SqlError("WINDOW clause requires a GROUP BY clause.", *node.window.at)
        if node.having is not None:
            raise SqlError("HAVING clause requires a GROUP BY clause: use WHERE", *node.having.at)
    elif not calls.aggregates:
        raise SqlError(
            "GROUP BY requires aggregate functions in either the SELECT or HAVING clause.",
            *node.group_by[0].at,
        )


def group_keys(node: s.Query, known: Scope) -> list[e.Expression]:
    plain = replace(known, clause="GROUP BY", calls=None)
    found = []
    for part in node.group_by:
        refuse_in_groups(part)
        found.append(typed(part, plain))
    for at, key in enumerate(found):
        if key in found[:at]:
            raise SqlError(
                f"Duplicate expression in GROUP BY: {shown(node.group_by[at])}", *node.group_by[at].at
            )
    return found


def refuse_in_groups(node: x.Expression) -> None:
    from penstock.expressions.functions.aggregates import AGGREGATES

    if nested_call(node, AGGREGATES) is not None:
        raise SqlError(f"GROUP BY does not support aggregate functions: {shown(node)}", *node.at)
    refuse_calls(node, "GROUP BY")


def analyse_grouping(
    node: s.Query, tree: From, known: Scope, columns: Sequence[OutputColumn], calls: SpecialCalls
) -> tuple[Grouping, tuple[OutputColumn, ...]]:
    """The groups, and the columns as they are computed from a group's row."""
    expressions = group_keys(node, known)
    _check_source(node, tree, calls)
    keys = tuple((f"KSQL_GROUP_{at}", each) for at, each in enumerate(expressions))
    having = None
    if node.having is not None:
        having = boolean(typed(node.having, replace(known, clause="HAVING")), "HAVING", node.having)
    results = dict(calls.aggregates)
    rewrite = _Rewrite(keys, set(results.values()))
    new_columns = tuple(replace(column, expression=rewrite(column.expression)) for column in columns)
    _check_columns(new_columns, rewrite)
    new_having = None
    if having is not None and node.having is not None:
        new_having = rewrite(having)
        if rewrite.strays(new_having):
            raise SqlError(
                f"Non-aggregate HAVING expression not part of GROUP BY: {shown(node.having)}. "
                "Put it into WHERE, or group by it",
                *node.having.at,
            )
    window = None if node.window is None else analyse_window(node.window)
    grouping = Grouping(
        keys,
        tuple(shown(part) for part in node.group_by),
        tuple(results),
        tuple(results.values()),
        window,
        new_having,
    )
    return grouping, new_columns


class _Rewrite:
    """Puts a group's columns in the place of the expressions that rows were grouped by."""

    def __init__(self, keys: tuple[tuple[str, e.Expression], ...], results: set[str]) -> None:
        self._keys = {expression: e.Column(name, expression.type) for name, expression in keys}
        self._own = {*(name for name, _ in keys), *results, *WINDOW_BOUNDS}

    def __call__(self, expression: e.Expression) -> e.Expression:
        return rewritten(expression, self._keys.get)

    def strays(self, expression: e.Expression) -> bool:
        return any(column.name not in self._own for column in columns_of(expression))


def _check_columns(columns: tuple[OutputColumn, ...], rewrite: _Rewrite) -> None:
    bad = [column for column in columns if rewrite.strays(column.expression)]
    if bad:
        names = ", ".join(shown(column.node) if column.node is not None else column.name for column in bad)
        raise SqlError(
            f"Non-aggregate SELECT expression(s) not part of GROUP BY: {names}\n"
            "Either add the column(s) to the GROUP BY or remove them from the SELECT.",
            *bad[0].at,
        )


def _check_source(node: s.Query, tree: From, calls: SpecialCalls) -> None:
    if not tree.is_table:
        return
    if node.window is not None:
        raise SqlError(
            "WINDOW clause is only supported for STREAMs: Windowing not supported for table aggregations.",
            *node.window.at,
        )
    if tree.window is not None:
        raise SqlError("Table grouping is not supported for windowed tables.", *node.group_by[0].at)
    fixed = [call.name for call in calls.aggregates if not call.can_undo]
    if fixed:
        names = ", ".join(dict.fromkeys(fixed))
        raise SqlError(
            f"The aggregation function(s) ({names}) cannot be applied to a table source, only to a stream "
            "source.",
            *(calls.first_aggregate.at if calls.first_aggregate else node.at),
        )


def window_columns(window: s.Window | None) -> dict[str, t.SqlType]:
    """Columns that a windowed aggregation adds."""
    return {} if window is None else dict(WINDOW_BOUNDS)
