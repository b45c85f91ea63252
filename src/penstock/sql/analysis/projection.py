"""SELECT: stars become columns, expressions get their types, and every column gets its name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.sql import statements as s
from penstock.sql import syntax as x
from penstock.sql.analysis.naming import clashing_names
from penstock.sql.analysis.relations import From, FromSource, Joined
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import Scope, typed

MAX_COLUMNS: Final = 1_000
"""Of a result."""


@dataclass(frozen=True)
class OutputColumn:
    name: str
    expression: e.Expression
    at: x.Position
    node: x.Expression | None = None
    """As it was written; none where a star stood for it."""


class Projection:
    """The columns of one SELECT."""

    def __init__(self, tree: From, known: Scope, *, bounds: bool, keys_last: bool = False) -> None:
        """`bounds`: a star has the bounds of windows. `keys_last`: a star has the old key behind the rest, as
        PARTITION BY makes it a value.
        """
        self._keys_last = keys_last
        self._tree, self._known, self._bounds = tree, known, bounds
        self._leaves = list(tree.leaves)
        self._clashes = clashing_names(self._leaves) if len(self._leaves) > 1 else frozenset()
        self._used = {name for leaf in self._leaves for name, _ in leaf.columns()}
        self._unnamed = 0

    def columns(self, items: tuple[s.SelectItem, ...]) -> tuple[OutputColumn, ...]:
        for item in items:
            if item.alias is not None:
                self._used.add(item.alias)
        found = tuple(column for item in items for column in self._item(item))
        _check(found)
        return found

    def _item(self, item: s.SelectItem) -> Iterator[OutputColumn]:
        if item.star and item.expression is None:
            yield from self._star(item)
            return
        assert item.expression is not None
        expression = typed(item.expression, self._known)
        if item.star:
            yield from _fields(expression, item)
            return
        yield OutputColumn(item.alias or self._implied(item.expression), expression, item.at, item.expression)

    def _star(self, item: s.SelectItem) -> Iterator[OutputColumn]:
        leaves = self._leaves
        if item.source is not None:
            leaves = [leaf for leaf in leaves if leaf.alias == item.source]
            if not leaves:
                raise SqlError(f"'{item.source}' is not a valid stream/table name or alias.", *item.at)
        elif isinstance(self._tree, Joined) and self._tree.synthetic is not None:
            column = self._tree.key[0]
            yield OutputColumn(column.names[0], e.Column(column.names[0], column.type), item.at)
        for leaf in leaves:
            yield from self._all_of(leaf, item)

    def _all_of(self, leaf: FromSource, item: s.SelectItem) -> Iterator[OutputColumn]:
        columns = list(leaf.stars(bounds=self._bounds))
        if self._keys_last:
            keys = len(leaf.source.schema.key)
            columns = [*columns[keys:], *columns[:keys]]
        for name, kind in columns:
            yield OutputColumn(name, e.Column(name, kind), item.at)

    def _implied(self, node: x.Expression) -> str:
        if isinstance(node, x.ColumnName):
            if node.name in self._clashes and node.source is not None:
                return f"{node.source}_{node.name}"
            return node.name
        if isinstance(node, x.FieldOf):
            return self._unique(node.name)
        name = f"KSQL_COL_{self._unnamed}"
        while name in self._used:
            self._unnamed += 1
            name = f"KSQL_COL_{self._unnamed}"
        self._unnamed += 1
        return name

    def _unique(self, name: str) -> str:
        unique, number = name, 0
        while unique in self._used:
            number += 1
            unique = f"{name}_{number}"
        self._used.add(unique)
        return unique


def _fields(expression: e.Expression, item: s.SelectItem) -> Iterator[OutputColumn]:
    if not isinstance(expression.type, t.Struct):
        raise SqlError(f"Cannot expand all fields of {expression.type}: ->* needs a STRUCT", *item.at)
    for field in expression.type.fields:
        yield OutputColumn(field.name, e.Field(expression, field.name), item.at)


def _check(columns: tuple[OutputColumn, ...]) -> None:
    if len(columns) > MAX_COLUMNS:
        raise SqlError(f"The result has more than {MAX_COLUMNS} columns: select fewer", *columns[0].at)
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            raise SqlError(
                f"Duplicate value columns found in schema: `{column.name}` {column.expression.type}. "
                f"The projection contains a repeated column name: `{column.name}`. Give one an alias: AS …",
                *column.at,
            )
        seen.add(column.name)
        if column.expression.type == t.NULL:
            raise SqlError(
                "Can't infer a type of null. Please explicitly cast it to a required type, "
                "e.g. CAST(null AS VARCHAR).",
                *column.at,
            )
