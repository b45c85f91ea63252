"""CREATE OR REPLACE and ALTER: what may change of a source that is there, and what may not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from penstock.plan.row_schemas import ColumnSchema, RowSchema
from penstock.sql import statements as s
from penstock.sql.analysis.query import AnalysedQuery
from penstock.sql.analysis.relations import FOREIGN_KEY, STREAM_STREAM, STREAM_TABLE, TABLE_TABLE, Joined
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import type_of
from penstock.sql.sources import Catalogue, DataSource
from penstock.sql.syntax import Position


def check_replaced(old: DataSource, new: DataSource, at: Position) -> None:
    """Keys stay, and columns are only appended."""
    what = f"Cannot upgrade data source: DataSource '`{old.name}`' has"

    def refuse(part: str, one: object, other: object, why: str = "") -> SqlError:
        return SqlError(f"{what} {part} = {one} which is not upgradeable to {other}{why}", *at)

    if old.kind != new.kind:
        raise refuse("type", f"K{old.kind}", f"K{new.kind}")
    if old.read_only or new.read_only:
        raise SqlError(
            f"Cannot upgrade {old.kind.lower()} `{old.name}`: it was made by CREATE SOURCE and is read-only",
            *at,
        )
    if old.topic != new.topic:
        raise refuse("topic", old.topic, new.topic)
    if old.schema.key != new.schema.key:
        columns = ", ".join(f"{column} KEY" for column in old.schema.key)
        why = f". (The following key columns are changed, missing or reordered: [{columns}])"
        raise refuse("schema", old.schema, new.schema, why)
    for name, mine, other in (
        ("key format", old.schema.key_format.name, new.schema.key_format.name),
        ("value format", old.schema.value_format.name, new.schema.value_format.name),
    ):
        if mine != other:
            raise refuse(name, mine, other)
    pairs = enumerate(old.schema.value)
    changed = [c for at_, c in pairs if at_ >= len(new.schema.value) or new.schema.value[at_] != c]
    if changed:
        why = f". (The following columns are changed, missing or reordered: [{', '.join(map(str, changed))}])"
        raise refuse("schema", old.schema, new.schema, why)


def check_same_steps(old: AnalysedQuery, new: AnalysedQuery, at: Position) -> None:
    """Filters and projections may change; what keeps state, or decides where rows go, must stay."""
    step = _step_that_stays(old) or _step_that_stays(new)
    if step is not None:
        raise SqlError(f"Upgrades not yet supported for {step}", *at)
    kind = "Table" if old.tree.is_table else "Stream"
    properties: list[tuple[str, str, Any, Any]] = [
        (f"{kind}Source", "topicName", old.first.topic, new.first.topic),
        ("StreamSelectKey", "keyExpressions", old.partition_by, new.partition_by),
        ("StreamFlatMap", "tableFunctions", old.tables, new.tables),
        (f"{kind}GroupBy", "groupByExpressions", *(_groups(query) for query in (old, new))),
        (f"{kind}Aggregate", "aggregationFunctions", *(_calls(query) for query in (old, new))),
    ]
    for step, name, one, other in properties:
        if one != other:
            shown = "" if name != "topicName" else f". Values differ: '{one}' vs. '{other}'"
            raise SqlError(
                f"Query is not upgradeable. Plan step of type {step} must have matching {name}{shown}", *at
            )


def _step_that_stays(query: AnalysedQuery) -> str | None:
    """The first step of which nothing may change, by ksqlDB's name."""
    if isinstance(query.tree, Joined):
        return _JOINS[query.tree.how]
    if query.grouping is None:
        return None
    if query.grouping.window is not None:
        return "StreamWindowedAggregate"
    return "TableAggregate" if query.tree.is_table else None


_JOINS: Final = {
    STREAM_STREAM: "StreamStreamJoin",
    STREAM_TABLE: "StreamTableJoin",
    TABLE_TABLE: "TableTableJoin",
    FOREIGN_KEY: "ForeignKeyTableTableJoin",
}


def _groups(query: AnalysedQuery) -> Any:
    return None if query.grouping is None else query.grouping.keys


def _calls(query: AnalysedQuery) -> Any:
    return None if query.grouping is None else query.grouping.calls


def altered(node: s.AlterSource, catalogue: Catalogue) -> DataSource:
    """The source with the columns that ALTER adds."""
    source = catalogue.sources.get(node.name)
    if source is None:
        raise SqlError(f"Source {node.name} does not exist.", *node.at)
    if source.kind != node.kind:
        raise SqlError(
            f"Incompatible data source type is {source.kind}, but statement was ALTER {node.kind}", *node.at
        )
    if source.is_derived:
        raise SqlError(
            f"ALTER command is not supported for CREATE ... AS statements. {source.name} is made by one",
            *node.at,
        )
    if source.read_only:
        raise SqlError(f"Cannot alter {source.kind.lower()} '{source.name}': it is read-only", *node.at)
    known = {column.name for column in source.schema.columns}
    added = []
    for column in node.columns:
        if column.name in known:
            raise SqlError(
                f"Cannot add column `{column.name}` to schema. A column with the same name already exists.",
                *column.at,
            )
        known.add(column.name)
        added.append(ColumnSchema(column.name, type_of(column.type, catalogue.types)))
    old = source.schema
    form = replace(old.value_format, wrapped=True)
    schema = RowSchema(old.key, (*old.value, *added), old.key_format, form, old.key_is_windowed)
    return replace(source, schema=schema)
