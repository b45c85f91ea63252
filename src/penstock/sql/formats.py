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
    reason = _objection(rules_of(form.name, at), form, columns, key=key)
    if reason is None:
        return
    features = "UNWRAP_SINGLES" if len(columns) == 1 and not form.wrapped else ""
    raise SqlError(
        f"{'Key' if key else 'Value'} format does not support schema.\nformat: {form.name}\n"
        f"schema: Persistence{{columns=[{_named(columns, key=key)}], features=[{features}]}}\n"
        f"reason: {reason}",
        *at,
    )


def _named(columns: Sequence[ColumnSchema], *, key: bool) -> str:
    return ", ".join(f"{column}{' KEY' if key else ''}" for column in columns)


def _objection(rules: FormatRules, form: Format, columns: Sequence[ColumnSchema], *, key: bool) -> str | None:
    if rules.most_columns is not None and len(columns) > rules.most_columns:
        only = "can only be used when no columns are defined"
        what = only if rules.most_columns == 0 else "only supports a single field"
        return f"The '{form.name}' format {what}. Got: [{_named(columns, key=key)}]"
    for column in columns:
        if key and _holds_map(column.type):
            return (
                "Map keys, including types that contain maps, are not supported as they may lead to "
                "unexpected behavior due to inconsistent serialization. "
                f"Key column name: `{column.name}`. Column type: {column.type}. "
                "See https://github.com/confluentinc/ksql/issues/6621 for more."
            )
        if not _holds(rules, column.type):
            kind = t.family(column.type)
            return f"The '{form.name}' format does not support type '{kind}', column: `{column.name}`"
    return None


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
