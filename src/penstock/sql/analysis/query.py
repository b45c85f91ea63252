"""A query whose names, types and key are known: everything that planning needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema, Format, RowSchema
from penstock.plan.row_steps import TableCall
from penstock.sql import statements as s
from penstock.sql import syntax as x
from penstock.sql.analysis.calls import SpecialCalls, boolean, limits_of, refuse_calls
from penstock.sql.analysis.flattened import (
    Flattened,
    Neighbours,
    check_flattened,
    distinct_rows,
    neighbour_rows,
)
from penstock.sql.analysis.grouping import Grouping, analyse_grouping, check_grouping, window_columns
from penstock.sql.analysis.joins import analyse_joins
from penstock.sql.analysis.keys import KeySource, OutputKey, find_key
from penstock.sql.analysis.naming import scope_of, sources_of
from penstock.sql.analysis.projection import OutputColumn, Projection
from penstock.sql.analysis.relations import From, Joined, KeyColumn
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import Scope, typed
from penstock.sql.message_text import shown
from penstock.sql.sources import SYSTEM_COLUMNS, Catalogue, DataSource, KeyWindow

NO_PROPERTIES: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True)
class AnalysedQuery:
    tree: From
    columns: tuple[OutputColumn, ...]
    """In the order of the SELECT, keys among them."""
    where: e.Expression | None
    tables: tuple[TableCall, ...]
    """Table functions, whose results are columns of the row."""
    partition_by: tuple[tuple[str, e.Expression], ...] | None
    grouping: Grouping | None
    key: tuple[OutputKey, ...]
    is_table: bool
    window: KeyWindow | None
    """Of the result's keys."""
    emit: str | None
    limit: int | None
    union: tuple[AnalysedQuery, ...] = ()
    """Further queries whose rows are results, too."""
    flattened: Flattened | None = None
    """How groups become rows of a stream again, for DISTINCT, LAG and LEAD."""

    @property
    def first(self) -> DataSource:
        """The leftmost source, from which a sink takes what its statement does not say."""
        source = self.tree.leaves[0].source
        if source.query is not None:
            found: DataSource = source.query.first
            return found
        return source

    @property
    def sources(self) -> tuple[DataSource, ...]:
        """All sources with topics, those of queries in parentheses and behind UNION too."""
        found: list[DataSource] = []
        for leaf in self.tree.leaves:
            found += [leaf.source] if leaf.source.query is None else leaf.source.query.sources
        for other in self.union:
            found += other.sources
        return tuple(found)

    @property
    def value(self) -> tuple[OutputColumn, ...]:
        keys = {key.name for key in self.key}
        return tuple(column for column in self.columns if column.name not in keys)


def analyse_query(
    node: s.Query,
    catalogue: Catalogue,
    properties: Mapping[str, Any] = NO_PROPERTIES,
    *,
    persistent: str | None = None,
) -> AnalysedQuery:
    """The query over the sources of a catalogue. `persistent` is the name of the source that it makes."""
    if node.union:
        return _union(node, catalogue, properties, persistent)
    if node.order_by and (persistent is not None or node.emit is not None):
        raise SqlError("ORDER BY stands in pull queries only: rows that change have no order", *node.at)
    if node.as_of is not None and (persistent is not None or node.emit is not None):
        raise SqlError("AS OF stands in pull queries only: what was there does not change", *node.as_of.at)
    catalogue = _with_inner_queries(node, catalogue, properties)
    leaves = sources_of(node, catalogue)
    tree = analyse_joins(node, leaves, catalogue)
    known = _with_key_column(scope_of(leaves, catalogue), tree)
    where = _where(node, known)
    bounds = window_columns(node.window)
    neighbours = Neighbours()
    calls = SpecialCalls(
        neighbour=neighbours.call,
        allowed=not node.group_by,
        limits=limits_of(properties),
        bounds=frozenset(bounds) - frozenset(known.columns),
    )
    selecting = replace(known, clause="SELECT", calls=calls.hook, columns={**known.columns, **bounds})
    keys_last = bool(node.partition_by)
    columns = Projection(tree, selecting, bounds=persistent is None, keys_last=keys_last).columns(node.items)
    if node.having is not None:
        typed(node.having, replace(selecting, clause="HAVING"))
    if calls.tables and tree.is_table:
        raise SqlError("Table source is not supported with table functions", *node.source.at)
    flat = bool(node.distinct or neighbours.calls)
    if flat:
        check_flattened(node, tree, neighbours)
    check_grouping(replace(node, window=None) if node.distinct else node, calls)
    grouping, flattened = None, None
    if node.group_by:
        grouping, columns = analyse_grouping(node, tree, selecting, columns, calls)
    partition_by = _partition_by(node, tree, known)
    source = _key_source(node, tree, grouping, partition_by)
    columns = _keyed_columns(node, columns, partition_by)
    key = find_key(source, columns, persistent, node.at)
    if node.distinct:
        grouping, columns, flattened = distinct_rows(node, columns, key)
    elif flat:
        grouping, flattened = neighbour_rows(neighbours, tree, columns)
    _check_emit(node, grouping, persistent)
    if persistent is not None:
        _check_sink_columns(columns, key)
    window = grouping.window.of_key if grouping and grouping.window and not flat else tree.window
    return AnalysedQuery(
        tree,
        columns,
        where,
        tuple(calls.tables),
        partition_by,
        grouping,
        key,
        (grouping is not None and not flat) or tree.is_table,
        window if grouping is None or grouping.window or flat else None,
        node.emit,
        node.limit,
        flattened=flattened,
    )


def _union(
    node: s.Query, catalogue: Catalogue, properties: Mapping[str, Any], persistent: str | None
) -> AnalysedQuery:
    """UNION ALL: streams with columns of the same types, named as the first one names them."""
    parts = [replace(node, union=()), *(replace(each, emit=node.emit) for each in node.union)]
    first, *others = (analyse_query(each, catalogue, properties, persistent=persistent) for each in parts)
    for query, part in zip((first, *others), parts, strict=True):
        if query.is_table:
            raise SqlError("UNION ALL is for streams, and this SELECT gives a TABLE", *part.at)
        if _types(query) != _types(first):
            raise SqlError(
                f"UNION ALL needs columns of the same types: the first SELECT has {_types(first)}, this one "
                f"{_types(query)}",
                *part.at,
            )
    return replace(first, union=tuple(others))


def _types(query: AnalysedQuery) -> str:
    keys = [f"{key.column.type} KEY" for key in query.key]
    return ", ".join([*keys, *(str(column.expression.type) for column in query.value)])


def _with_inner_queries(node: s.Query, catalogue: Catalogue, properties: Mapping[str, Any]) -> Catalogue:
    """The catalogue in which queries of FROM are sources under their aliases."""
    for source in (node.source, *(join.right for join in node.joins)):
        inner = source.query
        if inner is None:
            continue
        if inner.emit is not None or inner.limit is not None or inner.start_at is not None:
            raise SqlError("EMIT, LIMIT and START AT stand behind the outermost SELECT only", *inner.at)
        made = analyse_query(inner, catalogue, properties, persistent=source.name)
        if made.union:
            raise SqlError("UNION ALL cannot stand in parentheses: CREATE a STREAM of it", *inner.at)
        catalogue = catalogue.with_source(_source_of(source.name, made))
    return catalogue


def _source_of(name: str, made: AnalysedQuery) -> DataSource:
    form, first = Format("JSON"), made.first
    key = tuple(ColumnSchema(key.name, key.column.type) for key in made.key)
    value = tuple(ColumnSchema(column.name, column.expression.type) for column in made.value)
    schema = RowSchema(key, value, form, form, made.window is not None)
    kind = "TABLE" if made.is_table else "STREAM"
    return DataSource(
        kind, name, f"({name})", schema, window=made.window, partitions=first.partitions, query=made
    )


def _with_key_column(known: Scope, tree: From) -> Scope:
    """A synthetic key can be named like any column."""
    if not isinstance(tree, Joined) or tree.synthetic is None:
        return known
    return replace(known, columns={**known.columns, tree.synthetic: tree.key[0].type})


def _where(node: s.Query, known: Scope) -> e.Expression | None:
    if node.where is None:
        return None
    refuse_calls(node.where, "WHERE")
    return boolean(typed(node.where, replace(known, clause="WHERE")), "WHERE", node.where)


def _partition_by(node: s.Query, tree: From, known: Scope) -> tuple[tuple[str, e.Expression], ...] | None:
    if not node.partition_by:
        return None
    at = node.partition_by[0].at
    if tree.is_table:
        raise SqlError("PARTITION BY clause is only supported for STREAMs: drop it", *at)
    if tree.window is not None:
        raise SqlError(
            "Implicit repartitioning of windowed sources is not supported. "
            "See https://github.com/confluentinc/ksql/issues/4385.",
            *at,
        )
    if node.group_by:
        raise SqlError("PARTITION BY and GROUP BY cannot be used together: GROUP BY sets the key", *at)
    found = []
    for part in node.partition_by:
        refuse_calls(part, "PARTITION BY")
        expression = typed(part, replace(known, clause="PARTITION BY"))
        if expression == e.NULL and len(node.partition_by) > 1:
            raise SqlError("Cannot PARTITION BY multiple columns including NULL", *part.at)
        found.append(expression)
    if len(found) == 1 and found[0].type == t.NULL:
        return ()
    return tuple((f"KSQL_PARTITION_{at}", expression) for at, expression in enumerate(found))


def _key_source(
    node: s.Query,
    tree: From,
    grouping: Grouping | None,
    partition_by: tuple[tuple[str, e.Expression], ...] | None,
) -> KeySource:
    if grouping is not None:
        pairs = zip(grouping.keys, grouping.shown, strict=True)
        keys = tuple(KeyColumn((name,), part.type, (text,)) for (name, part), text in pairs)
        return KeySource(keys, "grouping expression")
    if partition_by is not None:
        columns = zip(partition_by, node.partition_by, strict=False)
        keys = tuple(KeyColumn((name,), part.type, (shown(text),)) for (name, part), text in columns)
        return KeySource(keys, "partitioning expression")
    if isinstance(tree, Joined):
        return KeySource(tree.key, "join expression", tree.synthetic is not None)
    return KeySource(tree.key, "key column")


def _keyed_columns(
    node: s.Query,
    columns: tuple[OutputColumn, ...],
    partition_by: tuple[tuple[str, e.Expression], ...] | None,
) -> tuple[OutputColumn, ...]:
    """Columns that are what rows are partitioned by become the key's. A star has expressions of PARTITION BY
    that are no columns, too."""
    if not partition_by:
        return columns
    keys = {expression: e.Column(name, expression.type) for name, expression in partition_by}
    found = [replace(column, expression=keys.get(column.expression, column.expression)) for column in columns]
    star = next(
        (item for item in node.items if item.star and item.expression is None and not item.source), None
    )
    if star is not None:
        there = {column.expression for column in found}
        names = {column.name for column in found}
        added = []
        for part, (expression, column) in zip(node.partition_by, keys.items(), strict=True):
            if column not in there and _is_new(expression):
                added.append(OutputColumn(_key_name(part, names), column, star.at))
                names.add(added[-1].name)
        found = [*added, *found]
    return tuple(found)


def _is_new(expression: e.Expression) -> bool:
    """Whether a star has no column for it: no column of a source is, and none of the system."""
    return not isinstance(expression, e.Column) or expression.name in SYSTEM_COLUMNS


def _key_name(part: x.Expression, used: set[str]) -> str:
    named = isinstance(part, x.FieldOf | x.ColumnName)
    stem, number = (part.name, 0) if isinstance(part, x.FieldOf | x.ColumnName) else ("KSQL_COL", -1)
    name = stem if named else "KSQL_COL_0"
    while name in used:
        number += 1
        name = f"{stem}_{number}"
    return name


def _check_emit(node: s.Query, grouping: Grouping | None, persistent: str | None) -> None:
    if node.emit == "FINAL" and (grouping is None or grouping.window is None):
        raise SqlError("EMIT FINAL is only supported for windowed aggregations.", *node.at)
    if persistent is not None and node.limit is not None and node.emit == "FINAL":
        raise SqlError("LIMIT cannot stand beside EMIT FINAL: drop one", *node.at)


def _check_sink_columns(columns: tuple[OutputColumn, ...], key: tuple[OutputKey, ...]) -> None:
    for column in columns:
        if column.name in SYSTEM_COLUMNS:
            raise SqlError(
                f"Reserved column name in select: `{column.name}`. Please remove or alias the column.\n"
                f"'{column.name}' is a reserved column name. You cannot use it as an alias for a column.",
                *column.at,
            )
    if len(columns) == len(key):
        raise SqlError(
            "The projection contains no value columns. Add one, or AS_VALUE(a key column)", *columns[0].at
        )
