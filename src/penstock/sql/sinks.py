"""What AS SELECT and INSERT INTO write to: a source that is made, or one that is there already."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from penstock.expressions import tree as e
from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema, Format, RowSchema
from penstock.sql import statements as s
from penstock.sql.analysis.query import AnalysedQuery
from penstock.sql.create_analysis import Inference, timestamp_of
from penstock.sql.errors import SqlError
from penstock.sql.formats import check_columns
from penstock.sql.properties import AS_SELECT, Properties
from penstock.sql.serdes.codec import FormatError
from penstock.sql.sources import DataSource
from penstock.sql.syntax import Position

DEFAULT_KEY_FORMAT = "KAFKA"


def sink_of(
    node: s.CreateAsSelect,
    query: AnalysedQuery,
    prefix: str = "",
    *,
    key_format: str = DEFAULT_KEY_FORMAT,
    wraps: bool = True,
) -> DataSource:
    """The source that a statement makes. What WITH does not say is taken from the first source."""
    _check_kind(node.kind, query, node.at)
    given = Properties(node.properties, AS_SELECT, node.at, wraps=wraps)
    first = query.first
    key, value = result_columns(query)
    key_form, value_form = _formats(given, first, (len(key), len(value)), key_format)
    schema = RowSchema(key, value, key_form, value_form, query.window is not None)
    check_columns(key_form, key, given.place("KEY_FORMAT"), key=True)
    check_columns(value_form, value, given.place("VALUE_FORMAT"), key=False)
    partitions = given.number("PARTITIONS")
    given.number("REPLICAS")
    given.number("RETENTION_MS", least=-1)
    time = timestamp_of(given, schema)
    return DataSource(
        node.kind,
        node.name,
        given.text("KAFKA_TOPIC") or prefix + node.name,
        schema,
        time,
        given.text("TIMESTAMP_FORMAT"),
        query.window,
        partitions=partitions if partitions is not None else first.partitions,
        is_derived=True,
        lifetime_ms=_lifetime_ms(given, query),
    )


def _lifetime_ms(given: Properties, query: AnalysedQuery) -> int | None:
    found = given.duration_ms("TTL")
    if found is None:
        return None
    if not query.is_table:
        raise SqlError("TTL is for rows of tables: a stream has RETENTION_MS", *given.place("TTL"))
    if query.window is not None:
        raise SqlError("TTL is for tables without windows: a window has RETENTION", *given.place("TTL"))
    if found < 1:
        raise SqlError("TTL must be at least '1 MILLISECOND'", *given.place("TTL"))
    return found


def check_schema_ids(sink: DataSource, infer: Inference, at: Position) -> None:
    """Refuse columns that a schema which the statement names by its id does not begin with."""
    schema = sink.schema
    for part, form, columns in (
        ("key", schema.key_format, schema.key),
        ("value", schema.value_format, schema.value),
    ):
        if "schema_id" not in dict(form.properties):
            continue
        try:
            known = infer(form, sink.topic, part == "key")
        except FormatError as error:
            raise SqlError(str(error), *at) from error
        if len(columns) == len(known) == 1 and not form.wrapped:  # a bare value has no name in its schema
            known = tuple(ColumnSchema(columns[0].name, column.type) for column in known)
        changed = [c for place, c in enumerate(columns) if place >= len(known) or known[place] != c]
        if changed:
            raise SqlError(
                f"The following {part} columns are changed, missing or reordered: "
                f"[{', '.join(map(str, changed))}]. "
                f"Schema from schema registry is [{', '.join(map(str, known))}]",
                *at,
            )


def fitted(query: AnalysedQuery, sink: DataSource) -> AnalysedQuery:
    """The query with numbers as the sink's decimals: constants that fit, and decimals that are smaller."""
    wanted = iter(sink.schema.value)
    kinds = {id(column): next(wanted, None) for column in query.value}
    columns = []
    for column in query.columns:
        to = kinds.get(id(column))
        if to is not None and isinstance(to.type, t.Decimal) and _widens(column.expression, to.type):
            column = replace(column, expression=e.Cast(column.expression, to.type))
        columns.append(column)
    return replace(query, columns=tuple(columns))


def _widens(expression: e.Expression, to: t.Decimal) -> bool:
    kind = expression.type
    if kind == to:
        return False
    if isinstance(expression, e.Literal) and t.is_numeric(kind) and not isinstance(kind, t.Decimal):
        number = Decimal(str(expression.value)).as_tuple()
        scale = max(0, -int(number.exponent))
        kind = t.Decimal(max(len(number.digits), scale, 1), scale)
    if not isinstance(kind, t.Decimal):
        return False
    return kind.scale <= to.scale and kind.precision - kind.scale <= to.precision - to.scale


def check_insert(node: s.InsertSelect, query: AnalysedQuery, sink: DataSource) -> None:
    """Refuse a query whose rows are not those of the sink."""
    if sink.kind != "STREAM":
        raise SqlError(
            f"INSERT INTO can only be used to insert into a stream. {sink.name} is a table.", *node.at
        )
    if sink.read_only:
        raise SqlError(f"Cannot insert into read-only stream: {sink.name}", *node.at)
    if sink.headers:
        raise SqlError(f"Cannot insert into {sink.name} because it has header columns", *node.at)
    if query.is_table:
        raise SqlError(
            "Incompatible data sink type: INSERT INTO a stream needs a SELECT that produces a STREAM. "
            "Your SELECT query produces a TABLE.",
            *node.at,
        )
    key, value = result_columns(query)
    old = sink.schema
    if [column.type for column in (*key, *value)] != [column.type for column in old.columns] or (
        len(key) != len(old.key) or [c.name for c in (*key, *value)] != [c.name for c in old.columns]
    ):
        raise SqlError(
            f"Incompatible schema between results and sink.\nResult schema is {_shown(key, value)}\n"
            f"Sink schema is {old}",
            *node.at,
        )


def _shown(key: tuple[ColumnSchema, ...], value: tuple[ColumnSchema, ...]) -> str:
    return ", ".join([*(f"{column} KEY" for column in key), *map(str, value)])


def result_columns(query: AnalysedQuery) -> tuple[tuple[ColumnSchema, ...], tuple[ColumnSchema, ...]]:
    """Key and value columns of a query's result."""
    key = tuple(ColumnSchema(column.name, column.column.type) for column in query.key)
    return key, tuple(ColumnSchema(column.name, column.expression.type) for column in query.value)


def _check_kind(kind: str, query: AnalysedQuery, at: Position) -> None:
    made = "TABLE" if query.is_table else "STREAM"
    if made != kind:
        raise SqlError(
            f"Invalid result type. Your SELECT query produces a {made}. "
            f"Please use CREATE {made} AS SELECT statement instead.",
            *at,
        )


def _formats(
    given: Properties, first: DataSource, counts: tuple[int, int], default_key: str
) -> tuple[Format, Format]:
    keys, values = counts
    old_key, old_value = first.schema.key_format, first.schema.value_format
    key_name, value_name = given.formats(old_key.name, old_value.name)
    if not given.has("KEY_FORMAT") and key_name == "NONE" and keys:
        key_name = default_key
    key = given.format("KEY", key_name, keys)
    value = given.format("VALUE", value_name, values)
    return _inherited(given, "KEY", key, old_key), _inherited(given, "VALUE", value, old_value)


def _inherited(given: Properties, side: str, form: Format, old: Format) -> Format:
    """A format that comes from the source keeps its delimiter and the like."""
    if given.has(f"{side}_FORMAT") or given.has("FORMAT") or form.properties or form.name != old.name:
        return form
    kept = tuple(entry for entry in old.properties if entry[0] not in ("schema_id", "schema_full_name"))
    return Format(form.name, kept, form.wrapped)
