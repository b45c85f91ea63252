"""The key of a join's result: a column of a source, or one that the join makes."""

from __future__ import annotations

from penstock.expressions import tree as e
from penstock.sql import statements as s
from penstock.sql.analysis.relations import (
    FOREIGN_KEY,
    STREAM_STREAM,
    STREAM_TABLE,
    TABLE_TABLE,
    From,
    FromSource,
    KeyColumn,
    KeyPart,
)
from penstock.sql.errors import SqlError


def key_of_join(
    node: s.Join, how: str, left: From, right: FromSource, keys: tuple[e.Expression, e.Expression]
) -> tuple[tuple[KeyColumn, ...], str | None]:
    """The key's columns, and the name of a synthetic one."""
    if how == FOREIGN_KEY:
        return left.key, None
    one, other = keys
    names: list[str] = []
    if node.kind != "FULL":
        for side, expression in ((left, one), (right, other)):
            if isinstance(expression, e.Column):
                names += _same_key(side, expression.name)
        if node.kind == "RIGHT":
            names = [*_same_key(right, other), *names] if isinstance(other, e.Column) else names
    if names:
        ordered = tuple(dict.fromkeys(names))
        return (KeyColumn(ordered, one.type, tuple(_shown(name, left, right) for name in ordered)),), None
    synthetic = synthetic_name([*left.leaves, right])
    return (KeyColumn((synthetic,), one.type, (synthetic,)),), synthetic


def key_parts(
    node: s.Join, left: From, right: FromSource, pairs: list[tuple[e.Expression, e.Expression]], got: str
) -> tuple[str, tuple[KeyPart, ...]]:
    """How sources meet on several columns, and the columns in the order of the key."""
    if not right.is_table:
        return STREAM_STREAM, tuple(KeyPart(f"KEY_{at}", *pair) for at, pair in enumerate(pairs))
    by_right = {other.name: (one, other) for one, other in pairs if isinstance(other, e.Column)}
    wanted = [column.names[0] for column in right.key]
    if len(by_right) != len(pairs) or sorted(by_right) != sorted(wanted):
        whose = "the table's" if not left.is_table else "the right table's"
        raise SqlError(
            f"Invalid join condition: a join on several columns names all of {whose} primary key "
            f"({', '.join(_shown(name, left, right) for name in wanted)}), each once. Got {got}.",
            *node.at,
        )
    names = [column.name for column in right.source.schema.key]
    parts = tuple(KeyPart(name, *by_right[row]) for name, row in zip(names, wanted, strict=True))
    if not left.is_table:
        return STREAM_TABLE, parts
    mine = [part.left.name if isinstance(part.left, e.Column) else "" for part in parts]
    same = len(mine) == len(left.key) and all(
        name in column.names for name, column in zip(mine, left.key, strict=True)
    )
    if not same:
        return FOREIGN_KEY, parts
    if not isinstance(left, FromSource) or [column.name for column in left.source.schema.key] != names:
        raise SqlError(
            "Invalid join condition: tables are joined on several columns where their primary keys have the "
            f"same columns in the same order. Got {got}.",
            *node.at,
        )
    return TABLE_TABLE, parts


def key_of_parts(
    node: s.Join, left: From, right: FromSource, parts: tuple[KeyPart, ...]
) -> tuple[KeyColumn, ...]:
    """The columns of the result's key: for each equality one column of a source."""
    if node.kind == "FULL":
        raise SqlError("FULL OUTER joins are on one column: no column holds the key of every row", *node.at)
    found = []
    for part in parts:
        sides = [part.left, part.right] if node.kind != "RIGHT" else [part.right, part.left]
        names = tuple(side.name for side in sides if isinstance(side, e.Column))
        if not names:
            raise SqlError("A join on several columns needs a column on one side of each equality", *node.at)
        shown = tuple(_shown(name, left, right) for name in names)
        found.append(KeyColumn(names, part.left.type, shown))
    return tuple(found)


def _same_key(side: From, expression: str | e.Column) -> list[str]:
    """A column, and those that an earlier join made equal to it."""
    name = expression if isinstance(expression, str) else expression.name
    for column in side.key:
        if name in column.names:
            return [name, *(other for other in column.names if other != name)]
    return [name]


def _shown(name: str, left: From, right: FromSource) -> str:
    for leaf in (*left.leaves, right):
        if name.startswith(leaf.prefix) and any(leaf.prefix + known == name for known, _ in leaf.columns()):
            return f"{leaf.alias}.{name.removeprefix(leaf.prefix)}"
    return name


def synthetic_name(leaves: list[FromSource]) -> str:
    """ROWKEY, or ROWKEY_1 and so on where a source has such a column."""
    used = {name for leaf in leaves for name, _ in leaf.columns()}
    name, number = "ROWKEY", 0
    while name in used:
        number += 1
        name = f"ROWKEY_{number}"
    return name
