"""SELECT DISTINCT, LAG and LEAD: groups are kept beside a stream, and what comes out is a stream again.

These are no part of ksqlDB. DISTINCT is a count by all columns within a window, of which the first row is a
result. LAG and LEAD keep the last rows of each key in an array, and compute from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.rewriting import columns_of, rewritten
from penstock.plan.row_aggregates import AggregateCall
from penstock.sql import statements as s
from penstock.sql import syntax as x
from penstock.sql.analysis.grouping import Grouping
from penstock.sql.analysis.keys import OutputKey
from penstock.sql.analysis.projection import OutputColumn
from penstock.sql.analysis.relations import From, Joined
from penstock.sql.analysis.windows import analyse_window
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import Scope, typed

MOST_ROWS: Final = 1_000
"""How far LAG and LEAD can look."""
NEIGHBOURS: Final = ("LAG", "LEAD")
_HISTORY: Final = "KSQL_HISTORY"
_COUNT: Final = "KSQL_COUNT"


@dataclass(frozen=True)
class Flattened:
    """How groups become the rows of a stream."""

    condition: e.Expression
    """Over a group's row: others are no results."""
    row: tuple[tuple[str, e.Expression], ...]
    """The columns of the stream's row, from a group's row."""
    key: tuple[tuple[str, e.Expression], ...]
    """The key of the stream, over its row."""
    timed: bool
    """Whether the row holds its own time, in ROWTIME."""


@dataclass
class Neighbours:
    """The calls of LAG and LEAD that a SELECT has."""

    calls: dict[str, tuple[e.Expression, int, e.Expression]] = field(default_factory=dict)
    """By the column that stands for a call: what is computed, of which row (−1: the one before), and what
    stands for a row that is missing."""
    first: x.FunctionCall | None = None

    def call(self, node: x.FunctionCall, known: Scope) -> e.Expression:
        if not 1 <= len(node.arguments) <= 3 or node.star:
            raise SqlError(f"{node.name} takes a value, how many rows (1) and a default (null)", *node.at)
        self.first = self.first or node
        plain = replace(known, calls=None)
        value = typed(node.arguments[0], plain)
        distance = 1
        if len(node.arguments) > 1:
            distance = _distance(node)
        default: e.Expression = e.NULL if len(node.arguments) < 3 else typed(node.arguments[2], plain)
        if default.type not in (value.type, t.NULL):
            raise SqlError(
                f"The default of {node.name} is {default.type}, and its value is {value.type}: cast one",
                *node.at,
            )
        name = f"KSQL_NEIGHBOUR_{len(self.calls)}"
        self.calls[name] = value, -distance if node.name == "LAG" else distance, default
        return e.Column(name, value.type)


def _distance(node: x.FunctionCall) -> int:
    given = node.arguments[1]
    if not isinstance(given, x.IntegerLiteral) or not 1 <= given.value <= MOST_ROWS:
        raise SqlError(
            f"How many rows {node.name} looks away is a whole number from 1 to {MOST_ROWS}", *given.at
        )
    return given.value


def check_flattened(node: s.Query, tree: From, neighbours: Neighbours) -> None:
    what = "SELECT DISTINCT" if node.distinct else neighbours.first.name if neighbours.first else ""
    at = node.at if node.distinct or neighbours.first is None else neighbours.first.at
    if node.distinct and neighbours.calls:
        raise SqlError("SELECT DISTINCT cannot stand beside LAG and LEAD: use two queries", *at)
    if tree.is_table:
        raise SqlError(f"{what} is for streams: the rows of a table have no order and no copies", *at)
    if tree.window is not None:
        raise SqlError(f"{what} is not for streams whose keys have windows", *at)
    if node.group_by or node.partition_by or node.having is not None:
        raise SqlError(f"{what} cannot stand beside GROUP BY, PARTITION BY and HAVING: use two queries", *at)
    if node.distinct and node.window is None:
        raise SqlError(
            "SELECT DISTINCT needs a WINDOW, within which a row is given once: without one it would have to "
            "remember all rows. For example: FROM s WINDOW TUMBLING (SIZE 1 DAY)",
            *at,
        )
    if node.distinct and node.window is not None and node.window.kind != "TUMBLING":
        raise SqlError("The window of SELECT DISTINCT is TUMBLING", *node.window.at)
    if not node.distinct and not tree.key:
        raise SqlError(f"{what} looks at rows of one key, and this stream has none: PARTITION BY first", *at)


def distinct_rows(
    node: s.Query, columns: tuple[OutputColumn, ...], key: tuple[OutputKey, ...]
) -> tuple[Grouping, tuple[OutputColumn, ...], Flattened]:
    """One group for each combination of the columns; the first row of a group is a result."""
    assert node.window is not None
    # One struct, which is never null: rows that hold nulls are groups as well.
    whole = e.StructOf(tuple((column.name, column.expression) for column in columns))
    group = e.Column("KSQL_GROUP_0", whole.type)
    grouping = Grouping(
        ((group.name, whole),),
        ("DISTINCT",),
        (AggregateCall("COUNT"),),
        (_COUNT,),
        analyse_window(node.window),
        None,
    )
    row = tuple((column.name, e.Field(group, column.name)) for column in columns)
    first = e.Comparison("=", e.Column(_COUNT, t.BIGINT), e.Literal(1, t.INTEGER))
    own = tuple((each.name, e.Column(each.name, each.column.type)) for each in key)
    made = tuple(
        replace(column, expression=e.Column(column.name, column.expression.type)) for column in columns
    )
    return grouping, made, Flattened(first, row, own, False)


def neighbour_rows(
    neighbours: Neighbours, tree: From, columns: Sequence[OutputColumn]
) -> tuple[Grouping, Flattened]:
    """The last rows of each key, and the row among them that is the result now."""
    steps = [step for _, step, _ in neighbours.calls.values()]
    ahead, behind = max(0, *steps), max(0, *(-step for step in steps))
    timed = not isinstance(tree, Joined)
    needed = {"ROWTIME": e.Column("ROWTIME", t.BIGINT)} if timed else {}
    expressions = [column.expression for column in columns]
    expressions += [value for value, _, _ in neighbours.calls.values()]
    expressions += [default for _, _, default in neighbours.calls.values()]
    for expression in expressions:
        needed |= {each.name: each for each in columns_of(expression) if each.name not in neighbours.calls}
    keys = [e.Column(column.names[0], column.type) for column in tree.key]
    needed |= {column.name: column for column in keys}
    whole = e.StructOf(tuple(needed.items()))
    call = AggregateCall("LATEST_BY_OFFSET", (whole,), (ahead + behind + 1, False))
    history = e.Column(_HISTORY, call.type)
    grouping = Grouping(
        tuple((f"KSQL_GROUP_{at}", column) for at, column in enumerate(keys)),
        tuple(column.name for column in keys),
        (call,),
        (_HISTORY,),
        None,
        None,
    )
    here = _row_at(history, -1 - ahead)
    row: list[tuple[str, e.Expression]] = [(name, e.Field(here, name)) for name in needed]
    for name, (value, step, default) in neighbours.calls.items():
        there = _row_at(history, -1 - ahead + step)
        missing = e.When(e.IsNull(there), _of(default, here))
        row.append((name, e.Case((missing,), _of(value, there))))
    own = tuple((f"KSQL_KEY_{at}", column) for at, column in enumerate(keys))
    return grouping, Flattened(e.Not(e.IsNull(here)), tuple(row), own, timed)


def _row_at(history: e.Expression, index: int) -> e.Expression:
    return e.Item(history, e.Literal(index, t.INTEGER))


def _of(expression: e.Expression, row: e.Expression) -> e.Expression:
    """An expression over columns as one over the row that holds them."""
    return rewritten(expression, lambda node: e.Field(row, node.name) if isinstance(node, e.Column) else None)
