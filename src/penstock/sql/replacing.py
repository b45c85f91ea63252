"""CREATE OR REPLACE and ALTER: what may change of a source that is there, and what may not."""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.row_schemas import ColumnSchema, RowSchema
from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import type_of
from penstock.sql.sources import Catalogue, DataSource
from penstock.sql.syntax import Position


def check_replaced(old: DataSource, new: DataSource, at: Position) -> None:
    """Keys stay, and columns are only appended."""
    what = f"Cannot upgrade {old.kind.lower()} `{old.name}`"
    if old.kind != new.kind:
        raise SqlError(f"{what}: it cannot become a {new.kind.lower()}", *at)
    if old.read_only or new.read_only:
        raise SqlError(f"{what}: it is declared as CREATE SOURCE and is read-only", *at)
    if old.topic != new.topic:
        raise SqlError(f"{what}: the topic changes from {old.topic} to {new.topic}", *at)
    if old.schema.key != new.schema.key:
        raise SqlError(
            f"{what}: key columns must be identical. The following key columns are changed, missing or "
            f"reordered: [{', '.join(f'{column} KEY' for column in old.schema.key)}]",
            *at,
        )
    for name, mine, other in (
        ("key", old.schema.key_format.name, new.schema.key_format.name),
        ("value", old.schema.value_format.name, new.schema.value_format.name),
    ):
        if mine != other:
            raise SqlError(f"{what}: the {name} format changes from {mine} to {other}", *at)
    pairs = enumerate(old.schema.value)
    changed = [c for at_, c in pairs if at_ >= len(new.schema.value) or new.schema.value[at_] != c]
    if changed:
        raise SqlError(
            f"{what}: The following columns are changed, missing or reordered: "
            f"[{', '.join(map(str, changed))}]",
            *at,
        )


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
