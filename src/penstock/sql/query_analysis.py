"""SELECT from one source, without aggregation: names and types are found, and what the result looks like.

Joins, windows, GROUP BY and HAVING are refused for now, each with its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.functions.aggregates import AGGREGATES
from penstock.expressions.functions.table_functions import TABLE_FUNCTIONS
from penstock.sql import statements as s
from penstock.sql import syntax as x
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import Scope, scope, typed
from penstock.sql.sources import SYSTEM_COLUMNS, Catalogue, DataSource

MAX_COLUMNS: Final = 1_000
"""Of a result."""


@dataclass(frozen=True)
class OutputColumn:
    name: str
    expression: e.Expression
    at: x.Position


@dataclass(frozen=True)
class AnalysedQuery:
    """A query whose names are known."""

    source: DataSource
    columns: tuple[OutputColumn, ...]
    """In the order of the SELECT, keys among them."""
    where: e.Expression | None
    partition_by: tuple[e.Expression, ...]
    key: tuple[str, ...]
    """Output columns that are the result's key, in its order."""
    emit: str | None
    limit: int | None


def analyse_query(node: s.Query, catalogue: Catalogue, *, persistent: str | None = None) -> AnalysedQuery:
    """The query over the sources of a catalogue. `persistent` is the name of the source that it makes."""
    source = _source(node.source, catalogue)
    _refuse_what_is_missing(node)
    known = scope(source.columns, catalogue.types, node.source.alias or source.name)
    columns = tuple(_columns(node, source, known))
    _check_names(columns)
    where = _where(node, known)
    partition_by = tuple(typed(part, known) for part in node.partition_by)
    if partition_by and source.kind == "TABLE":
        raise SqlError("PARTITION BY clause is only supported for STREAMs: drop it", *node.partition_by[0].at)
    key = _key(node, source, columns, partition_by, persistent)
    return AnalysedQuery(source, columns, where, partition_by, key, node.emit, node.limit)


def _source(node: s.Source, catalogue: Catalogue) -> DataSource:
    found = catalogue.sources.get(node.name)
    if found is None:
        near = get_close_matches(node.name, catalogue.sources, 1)
        hint = f" Did you mean {near[0]}?" if near else " SHOW STREAMS and SHOW TABLES list what there is."
        raise SqlError(f"{node.name} does not exist.{hint}", *node.at)
    return found


def _refuse_what_is_missing(node: s.Query) -> None:
    missing: list[tuple[str, x.Position]] = [("joins", join.at) for join in node.joins]
    missing += [("windows", node.window.at)] if node.window else []
    missing += [("GROUP BY", node.group_by[0].at)] if node.group_by else []
    missing += [("HAVING", node.having.at)] if node.having else []
    for item in node.items:
        for call in _calls(item.expression):
            if call.name in AGGREGATES:
                missing.append((f"the aggregation {call.name}", call.at))
            elif call.name in TABLE_FUNCTIONS:
                missing.append((f"the table function {call.name}", call.at))
    if missing:
        raise SqlError(f"{missing[0][0]} cannot be analysed yet", *missing[0][1])


def _calls(node: x.Expression | None) -> Iterator[x.FunctionCall]:
    if isinstance(node, x.FunctionCall):
        yield node
    for part in node.parts() if node is not None else ():
        yield from _calls(part)


def _columns(node: s.Query, source: DataSource, known: Scope) -> Iterator[OutputColumn]:
    name = node.source.alias or source.name
    unnamed = 0
    for item in node.items:
        if item.star and item.expression is None:
            if item.source is not None and item.source != name:
                raise SqlError(f"'{item.source}' is not a valid stream/table name or alias.", *item.at)
            for column in source.schema.columns:
                yield OutputColumn(column.name, e.Column(column.name, column.type), item.at)
            continue
        assert item.expression is not None
        expression = typed(item.expression, known)
        if item.star:
            yield from _fields(expression, item)
            continue
        alias = item.alias or _implied(item.expression)
        if alias is None:
            alias, unnamed = f"KSQL_COL_{unnamed}", unnamed + 1
        yield OutputColumn(alias, expression, item.at)


def _fields(expression: e.Expression, item: s.SelectItem) -> Iterator[OutputColumn]:
    if not isinstance(expression.type, t.Struct):
        raise SqlError(f"Cannot expand all fields of {expression.type}: ->* needs a STRUCT", *item.at)
    for field in expression.type.fields:
        yield OutputColumn(field.name, e.Field(expression, field.name), item.at)


def _implied(node: x.Expression) -> str | None:
    """A column or a field gives its own name."""
    return node.name if isinstance(node, x.ColumnName | x.FieldOf) else None


def _check_names(columns: tuple[OutputColumn, ...]) -> None:
    if len(columns) > MAX_COLUMNS:
        raise SqlError(f"The result has more than {MAX_COLUMNS} columns: select fewer", *columns[0].at)
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            raise SqlError(
                f"The projection contains a repeated column name: `{column.name}`. Give one an alias: AS …",
                *column.at,
            )
        seen.add(column.name)
        if column.expression.type == t.NULL:
            raise SqlError(
                f"Column `{column.name}` is NULL alone and has no type: write CAST(NULL AS STRING)",
                *column.at,
            )


def _where(node: s.Query, known: Scope) -> e.Expression | None:
    if node.where is None:
        return None
    condition = typed(node.where, known)
    if condition.type not in (t.BOOLEAN, t.NULL):
        raise SqlError(
            "Type error in WHERE expression: Should evaluate to boolean but is "
            f"{condition.type} instead: compare it with something",
            *node.where.at,
        )
    return condition


def _key(
    node: s.Query,
    source: DataSource,
    columns: tuple[OutputColumn, ...],
    partition_by: tuple[e.Expression, ...],
    persistent: str | None,
) -> tuple[str, ...]:
    """Where the key columns are among the output; a persistent query must have all of them."""
    if partition_by:
        wanted = [
            part for part in partition_by if not isinstance(part, e.Literal)
        ]  # PARTITION BY NULL: no key
    else:
        wanted = [e.Column(column.name, column.type) for column in source.schema.key]
    found = []
    for part in wanted:
        place = next((column.name for column in columns if column.expression == part), None)
        if place is not None:
            found.append(place)
        elif persistent is not None:
            what = f"key column `{part.name}`" if isinstance(part, e.Column) else "PARTITION BY expression"
            raise SqlError(
                "Key missing from projection (ie, SELECT). "
                f"The query used to build `{persistent}` must include the {what} in its projection",
                *node.at,
            )
    if persistent is not None:
        for column in columns:
            if column.name in SYSTEM_COLUMNS:
                raise SqlError(
                    f"'{column.name}' is a reserved column name. You cannot use it as an alias for a column: "
                    "give it another one with AS",
                    *column.at,
                )
    return tuple(found)
