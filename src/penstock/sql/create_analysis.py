"""CREATE STREAM and CREATE TABLE with columns: a statement becomes a `DataSource`, or an error with a fix."""

from __future__ import annotations

from typing import Final

from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema, RowSchema
from penstock.sql import statements as s
from penstock.sql.errors import SqlError
from penstock.sql.expression_analysis import type_of
from penstock.sql.formats import check_columns, rules_of
from penstock.sql.properties import CREATE, Properties
from penstock.sql.sources import SYSTEM_COLUMNS, Catalogue, DataSource, KeyWindow

HEADERS: Final = t.Array(t.struct_of([("KEY", t.STRING), ("VALUE", t.BYTES)]))
_KEY_WORDS: Final = {"STREAM": "KEY", "TABLE": "PRIMARY KEY"}
_WHY_KEYS_DIFFER: Final = (
    "Tables have PRIMARY KEYs, which are unique and NON NULL. "
    "Streams have KEYs, which have no uniqueness or NON NULL constraints."
)


def analyse_create(
    node: s.CreateSource,
    catalogue: Catalogue,
    *,
    key_format: str | None = "KAFKA",
    value_format: str | None = None,
) -> DataSource:
    """The source that a statement makes. The formats are those of the server's configuration.

    Columns that are left out, to be inferred from a schema, are not supported yet.
    """
    _check_name(node, catalogue)
    given = Properties(node.properties, CREATE, node.at)
    topic = given.text("KAFKA_TOPIC")
    if topic is None:
        raise SqlError('Missing required property "KAFKA_TOPIC" which has no default value.', *node.at)
    key_name, value_name = given.formats(key_format, value_format)
    if not node.columns:
        _refuse_no_columns(node, key_name, value_name)
    key, value, headers = _columns(node, catalogue)
    schema = RowSchema(
        key,
        value,
        given.format("KEY", key_name, len(key)),
        given.format("VALUE", value_name, len(value)),
        given.text("WINDOW_TYPE") is not None,
    )
    check_columns(schema.key_format, key, given.place("KEY_FORMAT"), key=True)
    stored = [column for column in value if column.name not in {name for name, _ in headers}]
    check_columns(schema.value_format, stored, given.place("VALUE_FORMAT"), key=False)
    for name in ("PARTITIONS", "REPLICAS"):
        given.number(name)
    given.number("RETENTION_MS", least=-1)
    timestamp = _timestamp(given, schema)
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


def _refuse_no_columns(node: s.CreateSource, key_name: str, value_name: str) -> None:
    inferred = [name for name in (key_name, value_name) if rules_of(name, node.at).infers_schemas]
    if inferred:
        raise SqlError(
            f"Columns from a schema of {inferred[0]} are not inferred yet: name the columns", *node.at
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
    if node.kind == "TABLE" and not key:
        raise SqlError(
            "Tables require a PRIMARY KEY. Please define the PRIMARY KEY: write it behind a column's type",
            *node.at,
        )
    return tuple(key), tuple(value), tuple(headers)


def _check_key_word(node: s.CreateSource, column: s.ColumnDefinition) -> None:
    wanted = _KEY_WORDS[node.kind]
    if column.constraint != wanted:
        raise SqlError(
            f"Column `{column.name}` is a '{column.constraint}' column: please use '{wanted}' for "
            f"{node.kind.lower()}s. {_WHY_KEYS_DIFFER}",
            *column.at,
        )


def _check_header(
    column: s.ColumnDefinition, schema: ColumnSchema, known: list[tuple[str, str | None]]
) -> None:
    wanted = t.BYTES if column.header is not None else HEADERS
    if schema.type != wanted:
        raise SqlError(f"Invalid type for HEADER column: expected {wanted}, got {schema.type}", *column.at)
    if any(header is None or column.header is None for _, header in known):
        raise SqlError("Only one HEADERS column is allowed, and none beside it: drop one", *column.at)


def _timestamp(given: Properties, schema: RowSchema) -> str | None:
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
