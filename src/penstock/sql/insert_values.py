"""INSERT INTO … VALUES: constants become one record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.expressions.casts import can_cast
from penstock.expressions.environment import Environment
from penstock.expressions.errors import ExpressionError
from penstock.expressions.evaluating import compiled
from penstock.expressions.functions.resolving import call
from penstock.sql import statements as s
from penstock.sql import syntax as x
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import scope, typed
from penstock.sql.sources import ROWTIME, Catalogue, DataSource


@dataclass(frozen=True)
class NewRecord:
    """A record for a source's topic, before it is bytes."""

    source: DataSource
    key: Any
    """A single key column is the key itself, several are a mapping; None where all are null."""
    value: dict[str, Any] | None
    timestamp: int


def analyse_insert(
    node: s.InsertValues, catalogue: Catalogue, environment: Environment, now_ms: int
) -> NewRecord:
    source = catalogue.sources.get(node.target)
    if source is None:
        raise SqlError(
            f"Cannot insert values into an unknown stream/table: `{node.target}`. Create it first", *node.at
        )
    try:
        return _record(node, source, catalogue, environment, now_ms)
    except SqlError as error:
        raise SqlError(
            f"Failed to insert values into '{node.target}'. {error.message}", error.line, error.column
        ) from error


def _record(
    node: s.InsertValues, source: DataSource, catalogue: Catalogue, environment: Environment, now_ms: int
) -> NewRecord:
    _check_target(node, source)
    kinds = {column.name: column.type for column in source.schema.columns}
    headers = {name for name, _ in source.headers}
    names = node.columns or tuple(name for name in kinds if name not in headers)
    if len(names) != len(node.values):
        raise SqlError(
            f"Expected a value for each column. Expected Columns: [{', '.join(names)}]. "
            f"Got {len(node.values)} values",
            *node.at,
        )
    kinds = {**kinds, "ROWTIME": ROWTIME["ROWTIME"]}
    row: dict[str, Any] = {}
    for name, value in zip(names, node.values, strict=True):
        if name in headers:
            raise SqlError(f"Cannot insert into HEADER columns: {name}", *value.at)
        if name not in kinds:
            raise SqlError(f"Column name `{name}` does not exist.", *value.at)
        row[name] = _value(name, value, kinds[name], catalogue, environment)
    return _made(node, source, row, now_ms)


def _check_target(node: s.InsertValues, source: DataSource) -> None:
    kind = source.kind.lower()
    if source.read_only:
        raise SqlError(f"Cannot insert values into read-only {kind}: {source.name}", *node.at)
    if source.window is not None:
        raise SqlError("Cannot insert values into windowed stream/table!", *node.at)


def _value(
    name: str, node: x.Expression, kind: t.SqlType, catalogue: Catalogue, environment: Environment
) -> Any:
    expression = typed(node, scope({}, catalogue.types))
    if expression.type not in (kind, t.NULL):
        if not _coerces(expression.type, kind):
            raise SqlError(f"Expected type {kind} for field `{name}` but got {expression.type}", *node.at)
        if kind == t.BYTES:  # its text is base64
            expression = call("TO_BYTES", [expression, e.Literal("base64", t.STRING)])
        else:
            expression = e.Cast(expression, kind)
    try:
        return compiled(expression, environment)({})
    except ExpressionError as error:
        raise SqlError(f"Could not evaluate the value of `{name}`: {error}", *node.at) from error


_FROM_TEXT: Final = (t.DATE, t.TIME, t.TIMESTAMP, t.BYTES)


def _coerces(given: t.SqlType, wanted: t.SqlType) -> bool:
    if t.is_numeric(given) and t.is_numeric(wanted):
        return isinstance(wanted, t.Decimal) or t.widened(given, wanted) == wanted
    if given == t.STRING:
        return wanted in _FROM_TEXT
    return isinstance(given, t.Array | t.Map | t.Struct) and can_cast(given, wanted)


def _made(node: s.InsertValues, source: DataSource, row: dict[str, Any], now_ms: int) -> NewRecord:
    schema = source.schema
    keys = {column.name: row.get(column.name) for column in schema.key}
    missing = [name for name, value in keys.items() if value is None]
    if source.kind == "TABLE" and missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise SqlError(f"Value for primary key column(s) {names} is required for tables", *node.at)
    value = {column.name: row.get(column.name) for column in source.stored}
    key: Any = next(iter(keys.values()), None) if len(keys) <= 1 else keys
    if len(keys) > 1 and len(missing) == len(keys):
        key = None
    time = row.get("ROWTIME")
    return NewRecord(source, key, value, now_ms if time is None else time)
