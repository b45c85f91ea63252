"""JOIN: which sources meet on which keys, and what cannot be joined."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from penstock.expressions import tree as e
from penstock.expressions.rewriting import columns_of
from penstock.sql import statements as s
from penstock.sql import syntax as x
from penstock.sql.analysis.join_keys import key_of_join, key_of_parts, key_parts
from penstock.sql.analysis.naming import scope_of
from penstock.sql.analysis.relations import (
    FOREIGN_KEY,
    STREAM_STREAM,
    STREAM_TABLE,
    TABLE_TABLE,
    From,
    FromSource,
    Joined,
    WithinMs,
)
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import typed
from penstock.sql.message_text import shown
from penstock.sql.sources import Catalogue

_WITHIN_HELP: Final = (
    "To learn about how to specify a WITHIN clause with a stream-stream join, please visit: "
    "https://docs.confluent.io/current/ksql/docs/syntax-reference.html#create-stream-as-select"
)
_WINDOWED_REPARTITION: Final = (
    "Implicit repartitioning of windowed sources is not supported. "
    "See https://github.com/confluentinc/ksql/issues/4385."
)


def analyse_joins(node: s.Query, leaves: list[FromSource], catalogue: Catalogue) -> From:
    """The sources joined from left to right."""
    tree: From = leaves[0]
    for join, right in zip(node.joins, leaves[1:], strict=True):
        tree = _join(join, tree, right, catalogue, several=len(node.joins) > 1)
    return tree


def _join(join: s.Join, left: From, right: FromSource, catalogue: Catalogue, *, several: bool) -> Joined:
    _check_sides(join, left, right)
    if isinstance(join.criteria, x.Chain) and join.criteria.operator == "AND":
        return _join_on_several(join, left, right, catalogue, several=several)
    one, other, got = _equality(join, join.criteria, left, right, catalogue)
    how = _how(join, left, right, one, other, got, several=several)
    _check_windows(join, left, right, one, other)
    if how != FOREIGN_KEY:
        _check_partitions(join, left, right)
    key, synthetic = key_of_join(join, how, left, right, (one, other))
    return Joined(join.kind, how, left, right, one, other, key, _within(join, how), synthetic)


def _join_on_several(
    join: s.Join, left: From, right: FromSource, catalogue: Catalogue, *, several: bool
) -> Joined:
    """ON a = b AND c = d: no part of ksqlDB. Rows meet on a key of several columns."""
    assert isinstance(join.criteria, x.Chain)
    found = [_equality(join, each, left, right, catalogue) for each in join.criteria.operands]
    pairs = [(one, other) for one, other, _ in found]
    got = " AND ".join(text for _, _, text in found)
    if left.window is not None or right.window is not None:
        raise SqlError("Sources whose keys have windows are joined on one column", *join.at)
    how, parts = key_parts(join, left, right, pairs, got)
    if how == FOREIGN_KEY:
        _foreign_key(join, got, several=several)
        key = left.key
    else:
        _check_partitions(join, left, right)
        key = key_of_parts(join, left, right, parts)
    first = parts[0]
    within = _within(join, how)
    return Joined(join.kind, how, left, right, first.left, first.right, key, within, parts=parts)


def _equality(
    join: s.Join, node: x.Expression, left: From, right: FromSource, catalogue: Catalogue
) -> tuple[e.Expression, e.Expression, str]:
    """The left side's and the right side's expression of one equality, and how it is written."""
    left_node, right_node = _criteria(node, left, right, catalogue)
    known = replace(scope_of([*left.leaves, right], catalogue), clause="JOIN ON")
    one, other = typed(left_node, known), typed(right_node, known)
    got = f"{shown(left_node)} = {shown(right_node)}"
    if one.type != other.type:
        pair = f"{shown(left_node)}{{{one.type}}} = {shown(right_node)}{{{other.type}}}"
        raise SqlError(f"Invalid join condition: types don't match. Got {pair}.", *join.at)
    return one, other, got


def _check_sides(join: s.Join, left: From, right: FromSource) -> None:
    if left.is_table and not right.is_table:
        raise SqlError(
            "Invalid join order: table-stream joins are not supported; only stream-table joins. "
            f"Got {_names(left)} {'LEFT OUTER ' if join.kind == 'LEFT' else ''}JOIN {right.source.name}.",
            *join.at,
        )
    if left.is_table == right.is_table:
        if not left.is_table and join.within is None:
            raise SqlError(
                f"{_names(left)} and {right.source.name} are streams. "
                "Stream-Stream joins must have a WITHIN clause specified. None was provided. "
                f"{_WITHIN_HELP}",
                *join.at,
            )
        if left.is_table and join.within is not None:
            raise SqlError(
                "A window definition was provided for a Table-Table join. These joins are not windowed. "
                "Please drop the window definition (i.e. the WITHIN clause) and try to execute your "
                "Table-Table join again.",
                *join.at,
            )
        return
    if join.kind in ("FULL", "RIGHT"):
        what = "Full" if join.kind == "FULL" else "Right"
        raise SqlError(
            f"{what} outer joins between streams and tables are not supported. Use LEFT or INNER JOIN",
            *join.at,
        )
    if join.within is not None:
        raise SqlError(
            "A window definition was provided for a Stream-Table join. These joins are not windowed. "
            "Please drop the window definition (ie. the WITHIN clause) and try to execute your join again.",
            *join.at,
        )


def _names(side: From) -> str:
    return " and ".join(leaf.source.name for leaf in side.leaves)


def _criteria(
    node: x.Expression, left: From, right: FromSource, catalogue: Catalogue
) -> tuple[x.Expression, x.Expression]:
    """The two sides of ON, the left source's first."""
    if not isinstance(node, x.Comparison) or node.operator != "=":
        raise SqlError(f"Unsupported join expression: {shown(node)}. Only equality is supported", *node.at)
    known = replace(scope_of([*left.leaves, right], catalogue), clause="JOIN ON")
    owners = [_owners(typed(part, known), [*left.leaves, right]) for part in (node.left, node.right)]
    if any(len(found) != 1 for found in owners) or owners[0] == owners[1]:
        first, second = (_listed(found) for found in owners)
        raise SqlError(
            "Each side of the join must reference exactly one source and not the same source. "
            f"Left side references {first} and right references {second}",
            *node.at,
        )
    if right.alias in owners[0]:
        return node.right, node.left
    if right.alias not in owners[1]:
        raise SqlError(
            f"Each side of the join must reference exactly one source and not the same source. "
            f"{shown(node)} does not reference {right.alias}",
            *node.at,
        )
    return node.left, node.right


def _owners(expression: e.Expression, leaves: list[FromSource]) -> frozenset[str]:
    names = {column.name for column in columns_of(expression)}
    return frozenset(
        leaf.alias for leaf in leaves if any(leaf.prefix + name in names for name, _ in leaf.columns())
    )


def _listed(found: frozenset[str]) -> str:
    return "[" + ", ".join(f"`{name}`" for name in sorted(found)) + "]"


def _how(
    join: s.Join,
    left: From,
    right: FromSource,
    one: e.Expression,
    other: e.Expression,
    got: str,
    *,
    several: bool,
) -> str:
    if not right.is_table:
        return STREAM_STREAM
    on_right_key = len(right.key) == 1 and isinstance(other, e.Column) and other.name in right.key[0].names
    if not left.is_table:
        if not on_right_key:
            raise SqlError(
                "Invalid join condition: stream-table joins require to join on the table's primary key. "
                f"Got {got}.",
                *join.at,
            )
        return STREAM_TABLE
    if not on_right_key:
        raise SqlError(
            "Invalid join condition: table-table joins require to join on the primary key of the right input "
            f"table. Got {got}.",
            *join.at,
        )
    if len(left.key) == 1 and isinstance(one, e.Column) and one.name in left.key[0].names:
        return TABLE_TABLE
    return _foreign_key(join, got, several=several)


def _foreign_key(join: s.Join, got: str, *, several: bool) -> str:
    if several:
        raise SqlError(
            "Invalid join condition: foreign-key table-table joins are not supported as part of n-way joins. "
            f"Got {got}.",
            *join.at,
        )
    if join.kind in ("FULL", "RIGHT"):
        word = "full-outer" if join.kind == "FULL" else "right-outer"
        raise SqlError(
            f"Invalid join type: {word} join not supported for foreign-key table-table join. Got {got}.",
            *join.at,
        )
    return FOREIGN_KEY


def _check_windows(
    join: s.Join, left: From, right: FromSource, one: e.Expression, other: e.Expression
) -> None:
    a, b = left.window, right.window
    if a is None and b is None:
        return
    for side, key in ((left, one), (right, other)):
        keyed = isinstance(key, e.Column) and any(key.name in column.names for column in side.key)
        if side.window is not None and not keyed:
            raise SqlError(_WINDOWED_REPARTITION, *join.at)
    if a is None or b is None:
        bare = _names(left) if a is None else right.source.name
        raise SqlError(
            f"Can not join windowed source to non-windowed source. `{bare}` is not windowed", *join.at
        )
    if (a.kind == "SESSION") != (b.kind == "SESSION"):
        raise SqlError(
            f"Can not join {a.kind} windowed source to {b.kind} windowed source. "
            "Incompatible windowed sources.",
            *join.at,
        )


def _check_partitions(join: s.Join, left: From, right: FromSource) -> None:
    first = left.leaves[0].source
    one, other = first.partitions, right.source.partitions
    if one is not None and other is not None and one != other:
        a, b = f"`{first.name}`", f"`{right.source.name}`"
        raise SqlError(
            f"Can't join {a} with {b} since the number of partitions don't match. "
            f"{a} partitions = {one}; {b} partitions = {other}. "
            "Please repartition either one so that the number of partitions match.",
            *join.at,
        )


def _within(join: s.Join, how: str) -> WithinMs | None:
    node = join.within
    if node is None or how != STREAM_STREAM:
        return None
    before = node.before.millis
    after = before if node.after is None else node.after.millis
    return WithinMs(before, after, None if node.grace is None else node.grace.millis)
