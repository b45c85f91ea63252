"""DELETE FROM a table: tombstones for the keys that its WHERE names."""

from __future__ import annotations

from typing import Any

from penstock.expressions import tree as e
from penstock.expressions.rewriting import columns_of
from penstock.sql import statements as s
from penstock.sql.analysis.calls import boolean
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import scope, typed
from penstock.sql.insert_values import NewRecord
from penstock.sql.sources import Catalogue
from penstock.sqlserver.key_lookups import keys_asked_for


def deleted_rows(node: s.DeleteRows, catalogue: Catalogue, now_ms: int) -> list[NewRecord]:
    """One record without a value for each key."""
    source = catalogue.sources.get(node.target)
    if source is None:
        raise SqlError(f"Cannot delete from an unknown table: `{node.target}`", *node.at)
    if source.kind != "TABLE" or source.window is not None or source.read_only or source.is_derived:
        raise SqlError(
            f"Cannot delete from {node.target}: rows are deleted from a table that CREATE TABLE made over a "
            "topic, which no query fills",
            *node.at,
        )
    key = source.schema.key
    where = boolean(typed(node.where, scope({each.name: each.type for each in key})), "WHERE", node.where)
    keys = keys_asked_for(where, key)
    if keys is None or not _is_exact(where):
        raise SqlError(
            "DELETE needs the whole key: WHERE key = value, or key IN (values), joined by AND and OR",
            *node.where.at,
        )
    names = [column.name for column in key]

    def record_key(values: tuple[Any, ...]) -> Any:
        return values[0] if len(names) == 1 else dict(zip(names, values, strict=True))

    return [NewRecord(source, record_key(values), None, now_ms) for values in keys]


def _is_exact(where: e.Expression) -> bool:
    """Whether nothing but equalities decides, so that every key that is found is meant: alternatives, in each
    of which a column stands once."""
    if isinstance(where, e.Logical) and where.operator == "OR":
        return all(map(_is_exact, where.operands))
    parts = where.operands if isinstance(where, e.Logical) else (where,)
    if not all(isinstance(part, e.In) or getattr(part, "operator", "") == "=" for part in parts):
        return False
    names = [column.name for part in parts for column in columns_of(part)]
    return len(names) == len(set(names))
