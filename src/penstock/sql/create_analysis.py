"""CREATE STREAM and CREATE TABLE with columns: a statement becomes a `DataSource`, or an error with a fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema, Format, RowSchema
from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import type_of
from penstock.sql.formats import check_columns, rules_of
from penstock.sql.properties import CREATE, Properties
from penstock.sql.serdes.codec import FormatError
from penstock.sql.sources import SYSTEM_COLUMNS, Catalogue, DataSource, KeyWindow

Inference = Callable[[Format, str, bool], tuple[ColumnSchema, ...]]
"""From a format, a topic and whether its keys are meant to the columns of the registered schema."""

HEADERS: Final = t.Array(t.struct_of([("KEY", t.STRING), ("VALUE", t.BYTES)]))
_KEY_WORDS: Final = {"STREAM": "KEY", "TABLE": "PRIMARY KEY"}
_WHY_KEYS_DIFFER: Final = (
    "Tables have PRIMARY KEYs, which are unique and NON NULL.\n"
    "Streams have KEYs, which have no uniqueness or NON NULL constraints."
)


def analyse_create(
    node: s.CreateSource,
    catalogue: Catalogue,
    *,
    key_format: str | None = "KAFKA",
    value_format: str | None = None,
    infer: Inference | None = None,
    wraps: bool = True,
) -> DataSource:
    """The source that a statement makes. The formats are those of the server's configuration, `infer` finds
    columns that are left out.
    """
    _check_name(node, catalogue)
    given = Properties(node.properties, CREATE, node.at, wraps=wraps)
    topic = given.text("KAFKA_TOPIC")
    if topic is None:
        raise SqlError('Missing required property "KAFKA_TOPIC" which has no default value.', *node.at)
    key_name, value_name = given.formats(key_format, value_format)
    key, value, headers = _columns(node, catalogue)
    stored = tuple(column for column in value if column.name not in {name for name, _ in headers})
    for side, written in (("KEY", key), ("VALUE", stored)):
        if written and given.has(f"{side}_SCHEMA_ID"):
            raise SqlError(
                f"Table elements and {side}_SCHEMA_ID cannot both exist for create statement.",
                *given.place(f"{side}_SCHEMA_ID"),
            )
    if infer is not None and not key and _infers(given, "KEY", key_name):
        key = _inferred(infer, given, "KEY", key_name, topic, node)
    if infer is not None and not stored and _infers(given, "VALUE", value_name):
        stored = _inferred(infer, given, "VALUE", value_name, topic, node)
        value = (*stored, *value)
    _check_some_columns(node, key, stored, (key_name, value_name))
    key_form, value_form = (
        given.format("KEY", key_name, len(key)),
        given.format("VALUE", value_name, len(stored)),
    )
    if len(stored) == 1 and stored[0].name == "ROWVAL":
        value_form = replace(value_form, wrapped=False)
    schema = RowSchema(key, value, key_form, value_form, given.text("WINDOW_TYPE") is not None)
    check_columns(schema.key_format, key, given.place("KEY_FORMAT"), key=True)
    check_columns(schema.value_format, stored, given.place("VALUE_FORMAT"), key=False)
    partitions = given.number("PARTITIONS")
    given.number("REPLICAS")
    given.number("RETENTION_MS", least=-1)
    timestamp = timestamp_of(given, schema)
    window = _window(given)
    if window is not None and not key:
        raise SqlError("Windowed sources require a key column.", *given.place("WINDOW_TYPE"))
    return DataSource(
        node.kind,
        node.name,
        topic,
        schema,
        timestamp,
        given.text("TIMESTAMP_FORMAT"),
        window,
        node.is_source,
        headers,
        partitions,
    )


def _check_name(node: s.CreateSource, catalogue: Catalogue) -> None:
    known = catalogue.sources.get(node.name)
    if known is not None and not node.or_replace and not node.if_not_exists:
        kind, old = node.kind.lower(), known.kind.lower()
        raise SqlError(
            f"Cannot add {kind} '{node.name}': A {old} with the same name already exists. "
            "Use CREATE OR REPLACE, or DROP it first",
            *node.at,
        )


def _infers(given: Properties, side: str, name: str) -> bool:
    return rules_of(name, given.at).infers_schemas


def _inferred(
    infer: Inference, given: Properties, side: str, name: str, topic: str, node: s.CreateSource
) -> tuple[ColumnSchema, ...]:
    form = given.format(side, name, 2)
    try:
        return infer(form, topic, side == "KEY")
    except FormatError as error:
        if side == "KEY" and node.kind == "STREAM":
            return ()  # a stream may be without a key
        raise SqlError(str(error), *node.at) from error


def _check_some_columns(
    node: s.CreateSource,
    key: tuple[ColumnSchema, ...],
    stored: tuple[ColumnSchema, ...],
    names: tuple[str, str],
) -> None:
    if node.kind == "TABLE" and not key:
        raise SqlError(
            "Tables require a PRIMARY KEY. Please define the PRIMARY KEY. Write it behind a column's type",
            *node.at,
        )
    if not stored and not node.columns:
        inferred = [name for name in names if rules_of(name, node.at).infers_schemas]
        if inferred:
            raise SqlError(
                f"Columns of {inferred[0]} come from a Schema Registry, and none is set: name the columns",
                *node.at,
            )
        raise SqlError("The statement does not define any columns.", *node.at)


Columns = tuple[ColumnSchema, ...]


def _columns(
    node: s.CreateSource, catalogue: Catalogue
) -> tuple[Columns, Columns, tuple[tuple[str, str | None], ...]]:
    key: list[ColumnSchema] = []
    value: list[ColumnSchema] = []
    headers: list[tuple[str, str | None]] = []
    seen: set[str] = set()
    for column in node.columns:
        if column.name in seen:
            raise SqlError(f"Duplicate column names: `{column.name}`. Name each column once", *column.at)
        if column.name in SYSTEM_COLUMNS:
            raise SqlError(
                f"'{column.name}' is a reserved column name. You cannot use it as a name for a column.",
                *column.at,
            )
        seen.add(column.name)
        schema = ColumnSchema(column.name, type_of(column.type, catalogue.types))
        if column.constraint in ("HEADERS", "HEADER"):
            _check_header(column, schema, headers)
            headers.append((column.name, column.header))
            value.append(schema)
        elif column.constraint is None:
            value.append(schema)
        else:
            _check_key_word(node, column)
            key.append(schema)
    return tuple(key), tuple(value), tuple(headers)


def _check_key_word(node: s.CreateSource, column: s.ColumnDefinition) -> None:
    wanted = _KEY_WORDS[node.kind]
    if column.constraint != wanted:
        raise SqlError(
            f"Column `{column.name}` is a '{column.constraint}' column: please use '{wanted}' for "
            f"{node.kind.lower()}s.\n{_WHY_KEYS_DIFFER}",
            *column.at,
        )


def _check_header(
    column: s.ColumnDefinition, schema: ColumnSchema, known: list[tuple[str, str | None]]
) -> None:
    wanted = t.BYTES if column.header is not None else HEADERS
    if schema.type != wanted:
        what = "HEADERS" if column.header is None else f"HEADER('{column.header}')"
        raise SqlError(f"Invalid type for {what} column: expected {wanted}, got {schema.type}", *column.at)
    if any(header is None or column.header is None for _, header in known):
        raise SqlError("Schema already contains a HEADERS column.", *column.at)
    if any(header == column.header for _, header in known):
        raise SqlError(f"Schema already contains a HEADER('{column.header}') column.", *column.at)


def timestamp_of(given: Properties, schema: RowSchema) -> str | None:
    """The column that holds a record's time, if there is one."""
    name = given.text("TIMESTAMP")
    form = given.text("TIMESTAMP_FORMAT")
    if name is None:
        if form is not None:
            raise SqlError(
                "TIMESTAMP_FORMAT needs TIMESTAMP, the column that it is the format of",
                *given.place("TIMESTAMP_FORMAT"),
            )
        return None
    name = name[1:-1] if name[:1] == "`" == name[-1:] else name.upper()
    kinds = {column.name: column.type for column in schema.columns}
    place = given.place("TIMESTAMP")
    if name not in kinds:
        raise SqlError(
            f"The TIMESTAMP column set in the WITH clause does not exist in the schema: '{name}'", *place
        )
    wanted = t.STRING if form is not None else None
    if (wanted and kinds[name] != wanted) or (not wanted and kinds[name] not in (t.BIGINT, t.TIMESTAMP)):
        raise SqlError(
            f"Timestamp column, `{name}`, should be LONG(INT64), TIMESTAMP, or a String with a "
            f"TIMESTAMP_FORMAT specified. It is {kinds[name]}",
            *place,
        )
    return name


def _window(given: Properties) -> KeyWindow | None:
    kind, size = given.text("WINDOW_TYPE"), given.duration_ms("WINDOW_SIZE")
    if kind is None:
        if size is not None:
            raise SqlError("WINDOW_SIZE needs WINDOW_TYPE: add it", *given.place("WINDOW_SIZE"))
        return None
    kind = kind.upper()
    if kind not in ("TUMBLING", "HOPPING", "SESSION"):
        raise SqlError(
            f"Invalid value for property WINDOW_TYPE: {kind}. Use SESSION, TUMBLING or HOPPING",
            *given.place("WINDOW_TYPE"),
        )
    if kind == "SESSION" and size is not None:
        raise SqlError("'WINDOW_SIZE' should not be set for SESSION windows.", *given.place("WINDOW_SIZE"))
    if kind != "SESSION" and size is None:
        raise SqlError(
            f"{kind} windows require 'WINDOW_SIZE' to be provided in the WITH clause. "
            "For example: 'WINDOW_SIZE'='10 SECONDS'",
            *given.place("WINDOW_TYPE"),
        )
    return KeyWindow(kind, size)
