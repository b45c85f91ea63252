"""What each format can hold: as key or value, one column or several, of which types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema, Format
from penstock.sql.errors import SqlError
from penstock.sql.syntax import Position


@dataclass(frozen=True)
class FormatRules:
    infers_schemas: bool = False
    """Has a Schema Registry, so columns may be left out."""
    most_columns: int | None = None
    simple: frozenset[t.SqlType] | None = None
    """The only types that it holds; none: all."""
    nested: bool = True
    """ARRAY, MAP and STRUCT."""
    unwraps: bool = True
    """WRAP_SINGLE_VALUE may be false."""
    wraps: bool = True
    """A single column may stand in a record."""


_KAFKA: Final = frozenset({t.INTEGER, t.BIGINT, t.DOUBLE, t.STRING, t.BYTES})
FORMATS: Final = {
    "NONE": FormatRules(most_columns=0, wraps=False),
    "KAFKA": FormatRules(most_columns=1, simple=_KAFKA, nested=False, wraps=False),
    "DELIMITED": FormatRules(nested=False, unwraps=False),
    "JSON": FormatRules(),
    "JSON_SR": FormatRules(infers_schemas=True),
    "AVRO": FormatRules(infers_schemas=True),
    "PROTOBUF": FormatRules(infers_schemas=True, unwraps=False),
    "PROTOBUF_NOSR": FormatRules(unwraps=False),
}


def rules_of(name: str, at: Position) -> FormatRules:
    if name not in FORMATS:
        raise SqlError(f"Unknown format: {name}. Use one of {', '.join(FORMATS)}", *at)
    return FORMATS[name]


def check_columns(form: Format, columns: Sequence[ColumnSchema], at: Position, *, key: bool) -> None:
    """Refuse columns that a format cannot hold."""
    rules = rules_of(form.name, at)
    if rules.most_columns is not None and len(columns) > rules.most_columns:
        named = ", ".join(map(str, columns))
        what = "does not support columns" if rules.most_columns == 0 else "only supports a single field"
        raise SqlError(f"The '{form.name}' format {what}. Got: [{named}]", *at)
    for column in columns:
        if key and _holds_map(column.type):
            raise SqlError(
                "Map keys, including types that contain maps, are not supported as they may lead to "
                "unexpected behavior due to inconsistent serialization. "
                f"Key column name: `{column.name}`. Column type: {column.type}.",
                *at,
            )
        if not _holds(rules, column.type):
            family = type(column.type).__name__.upper()
            shown = str(column.type) if isinstance(column.type, t.Simple) else family
            raise SqlError(
                f"The '{form.name}' format does not support type '{shown}', column: `{column.name}`. "
                "Use another format or another type",
                *at,
            )


def _holds(rules: FormatRules, kind: t.SqlType) -> bool:
    if isinstance(kind, t.Array | t.Map | t.Struct):
        return rules.nested
    return rules.simple is None or kind in rules.simple


def _holds_map(kind: t.SqlType) -> bool:
    match kind:
        case t.Map():
            return True
        case t.Array(item=item):
            return _holds_map(item)
        case t.Struct(fields=fields):
            return any(_holds_map(field.type) for field in fields)
        case _:
            return False
