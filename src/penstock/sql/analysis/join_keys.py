"""The key of a join's result: a column of a source, or one that the join makes."""

from __future__ import annotations

from penstock.expressions import tree as e
from penstock.sql import statements as s
from penstock.sql.analysis.relations import FOREIGN_KEY, From, FromSource, KeyColumn


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
