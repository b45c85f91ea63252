"""Avro schemas of columns as ksqlDB registers them, through Connect's translation; and columns of schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema
from penstock.sql.serdes.codec import FormatError

FULL_NAME: Final = "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"
CONNECT: Final = "org.apache.kafka.connect.data."
_SIMPLE: Final[dict[t.SqlType, Any]] = {
    t.BOOLEAN: "boolean",
    t.INTEGER: "int",
    t.BIGINT: "long",
    t.DOUBLE: "double",
    t.STRING: "string",
    t.BYTES: "bytes",
}
_TIMES: Final = {
    t.DATE: ("int", "Date", "date"),
    t.TIME: ("int", "Time", "time-millis"),
    t.TIMESTAMP: ("long", "Timestamp", "timestamp-millis"),
}


def record_schema(columns: Sequence[ColumnSchema], full_name: str = FULL_NAME) -> dict[str, Any]:
    """A record with a nullable field for each column."""
    namespace, _, name = full_name.rpartition(".")
    fields = [(column.name, column.type) for column in columns]
    return {**_record(fields, name, namespace), "connect.name": full_name}


def bare_schema(column: ColumnSchema, full_name: str = FULL_NAME) -> Any:
    """The schema of one value that stands without a record around it."""
    namespace, _, name = full_name.rpartition(".")
    return ["null", _type(column.type, name, namespace)]


def _record(fields: Sequence[tuple[str, t.SqlType]], name: str, namespace: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "record", "name": name}
    if namespace:
        schema["namespace"] = namespace
    schema["fields"] = [
        {"name": field, "type": ["null", _type(kind, f"{name}_{field}", namespace)], "default": None}
        for field, kind in fields
    ]
    return schema


def _type(kind: t.SqlType, name: str, namespace: str) -> Any:
    match kind:
        case t.Decimal(precision=precision, scale=scale):
            return {
                "type": "bytes",
                "scale": scale,
                "precision": precision,
                "connect.version": 1,
                "connect.parameters": {"scale": str(scale), "connect.decimal.precision": str(precision)},
                "connect.name": f"{CONNECT}Decimal",
                "logicalType": "decimal",
            }
        case t.Array(item=item):
            return {"type": "array", "items": ["null", _type(item, name, namespace)]}
        case t.Map():
            return _map(kind, name, namespace)
        case t.Struct(fields=fields):
            full_name = f"{namespace}.{name}" if namespace else name
            inner = _record([(field.name, field.type) for field in fields], name, namespace)
            return {**inner, "connect.name": full_name}
        case _ if kind in _TIMES:
            base, connect, logical = _TIMES[kind]
            return {
                "type": base,
                "connect.version": 1,
                "connect.name": f"{CONNECT}{connect}",
                "logicalType": logical,
            }
        case _:
            return _SIMPLE[kind]


def _map(kind: t.Map, name: str, namespace: str) -> dict[str, Any]:
    """Keys may be null, so a map is an array of pairs."""
    if kind.key != t.STRING:
        raise FormatError("Avro only supports MAPs with STRING keys")
    entry: dict[str, Any] = {"type": "record", "name": name}
    if namespace:
        entry["namespace"] = namespace
    entry["fields"] = [
        {"name": "key", "type": ["null", "string"], "default": None},
        {"name": "value", "type": ["null", _type(kind.value, f"{name}_value", namespace)], "default": None},
    ]
    entry["connect.internal.type"] = "MapEntry"
    return {"type": "array", "items": entry, "connect.internal.type": "MapEntry"}


def sql_type_of(schema: Any, named: dict[str, Any] | None = None) -> t.SqlType | None:
    """The SQL type of an Avro schema; none where SQL has no such type. `named` are its referenced types."""
    return _sql_type(schema, {} if named is None else named, "")


_PRIMITIVES: Final = {
    "boolean": t.BOOLEAN,
    "int": t.INTEGER,
    "long": t.BIGINT,
    "float": t.DOUBLE,
    "double": t.DOUBLE,
    "string": t.STRING,
    "bytes": t.BYTES,
    "enum": t.STRING,
    "fixed": t.BYTES,
}
_LOGICAL: Final = {
    ("int", "date"): t.DATE,
    ("int", "time-millis"): t.TIME,
    ("long", "timestamp-millis"): t.TIMESTAMP,
}


def _sql_type(schema: Any, named: dict[str, Any], namespace: str) -> t.SqlType | None:
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        return _sql_type(others[0], named, namespace) if len(others) == 1 else None
    if isinstance(schema, str):
        if schema in _PRIMITIVES:
            return _PRIMITIVES[schema]
        found = named.get(schema) or named.get(f"{namespace}.{schema}")
        return None if found is None or found is _BEING_READ else _sql_type(found, named, namespace)
    return _complex(schema, named, namespace)


_BEING_READ: Final[Any] = {"type": "null"}
"""Stands for a record within itself, which SQL cannot have."""


def _complex(schema: dict[str, Any], named: dict[str, Any], namespace: str) -> t.SqlType | None:
    kind = schema.get("type")
    if not isinstance(kind, str):
        return _sql_type(kind, named, namespace)
    if kind == "record":
        return _struct(schema, named, namespace)
    if kind == "array":
        item = schema["items"]
        if isinstance(item, dict) and item.get("connect.internal.type") == "MapEntry":
            entry = _struct(item, named, namespace)
            value = entry.field("value") if entry else None
            return None if value is None else t.Map(t.STRING, value)
        inner = _sql_type(item, named, namespace)
        return None if inner is None else t.Array(inner)
    if kind == "map":
        inner = _sql_type(schema["values"], named, namespace)
        return None if inner is None else t.Map(t.STRING, inner)
    if schema.get("logicalType") == "decimal" and kind in ("bytes", "fixed"):
        return t.Decimal(int(schema["precision"]), int(schema.get("scale", 0)))
    if (kind, schema.get("logicalType")) in _LOGICAL:
        return _LOGICAL[kind, schema["logicalType"]]
    if kind in ("enum", "fixed"):
        named[_full_name(schema, namespace)] = schema
    return _PRIMITIVES.get(kind)


def _struct(schema: dict[str, Any], named: dict[str, Any], namespace: str) -> t.Struct | None:
    full_name = _full_name(schema, namespace)
    inner, named[full_name] = full_name.rpartition(".")[0], _BEING_READ
    fields = [(each["name"], _sql_type(each["type"], named, inner)) for each in schema["fields"]]
    named[full_name] = schema
    known = [(name, kind) for name, kind in fields if kind is not None]
    return t.struct_of(known) if known else None


def _full_name(schema: dict[str, Any], namespace: str) -> str:
    name = str(schema.get("name", ""))
    space = schema.get("namespace", namespace)
    return name if "." in name or not space else f"{space}.{name}"
