"""JSON_SR: JSON behind a frame that names a JSON Schema, as Connect's translation writes such schemas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from penstock.expressions import types as t
from penstock.plan.row_schemas import ColumnSchema
from penstock.schemas.errors import InvalidFrame
from penstock.schemas.wire_format import HEADER_BYTES, read_header, write_header
from penstock.sql.serdes.avro_schema import CONNECT
from penstock.sql.serdes.codec import FormatError, Row, unreadable
from penstock.sql.serdes.json_format import JsonCodec
from penstock.sql.serdes.registration import Registration

_SIMPLE: Final[dict[t.SqlType, dict[str, Any]]] = {
    t.BOOLEAN: {"type": "boolean"},
    t.INTEGER: {"type": "integer", "connect.type": "int32"},
    t.BIGINT: {"type": "integer", "connect.type": "int64"},
    t.DOUBLE: {"type": "number", "connect.type": "float64"},
    t.STRING: {"type": "string"},
    t.BYTES: {"type": "string", "connect.type": "bytes"},
}
_TIMES: Final = {t.DATE: ("Date", "int32"), t.TIME: ("Time", "int32"), t.TIMESTAMP: ("Timestamp", "int64")}


class JsonSchemaCodec:
    def __init__(
        self, columns: Sequence[ColumnSchema], part: str, *, wrapped: bool, registration: Registration
    ) -> None:
        self._json = JsonCodec(columns, part, wrapped=wrapped)
        self._part, self._registration = part, registration

    def encode(self, topic: str, row: Sequence[Any]) -> bytes | None:
        data = self._json.encode(topic, row)
        return None if data is None else write_header(self._registration.id_for(topic)) + data

    def decode(self, topic: str, data: bytes) -> Row | None:
        try:
            read_header(data)
        except InvalidFrame as error:
            raise unreadable(topic, self._part, error) from error
        return self._json.decode(topic, data[HEADER_BYTES:])


def schema_text(columns: Sequence[ColumnSchema], *, wrapped: bool) -> str:
    bare = not wrapped and len(columns) == 1
    fields = [(column.name, column.type) for column in columns]
    made = _nullable(fields[0][1]) if bare else _object(fields)
    return json.dumps(made, separators=(",", ":"))


def _object(fields: Sequence[tuple[str, t.SqlType]]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            name: {"connect.index": index, **_nullable(kind)} for index, (name, kind) in enumerate(fields)
        },
    }


def _nullable(kind: t.SqlType) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, _type(kind)]}


def _type(kind: t.SqlType) -> dict[str, Any]:
    match kind:
        case t.Decimal(precision=precision, scale=scale):
            return {
                "type": "number",
                "title": f"{CONNECT}Decimal",
                "connect.version": 1,
                "connect.parameters": {"scale": str(scale), "connect.decimal.precision": str(precision)},
                "connect.type": "bytes",
            }
        case t.Array(item=item):
            return {"type": "array", "items": _nullable(item)}
        case t.Map(key=key, value=value):
            if key != t.STRING:
                raise FormatError("JSON only supports MAP types with STRING keys")
            return {"type": "object", "connect.type": "map", "additionalProperties": _nullable(value)}
        case t.Struct(fields=fields):
            return _object([(field.name, field.type) for field in fields])
        case _ if kind in _TIMES:
            name, connect = _TIMES[kind]
            title = f"{CONNECT}{name}"
            return {"type": "integer", "title": title, "connect.version": 1, "connect.type": connect}
        case _:
            return _SIMPLE[kind]


def sql_type_of(schema: Any) -> t.SqlType | None:
    """The SQL type of a JSON Schema; none where SQL has no such type."""
    if not isinstance(schema, dict):
        return None
    for several in ("oneOf", "anyOf"):
        if several in schema:
            others = [each for each in schema[several] if each != {"type": "null"}]
            return sql_type_of(others[0]) if len(others) == 1 else None
    kind, connect = schema.get("type"), schema.get("connect.type")
    if isinstance(kind, list):
        others = [each for each in kind if each != "null"]
        return sql_type_of({**schema, "type": others[0]}) if len(others) == 1 else None
    if schema.get("title") == f"{CONNECT}Decimal":
        given = schema.get("connect.parameters", {})
        return t.Decimal(int(given.get("connect.decimal.precision", 64)), int(given.get("scale", 0)))
    times = {f"{CONNECT}{name}": each for each, (name, _) in _TIMES.items()}
    if schema.get("title") in times:
        return times[schema["title"]]
    return _by_type(schema, str(kind), connect)


def _by_type(schema: dict[str, Any], kind: str, connect: str | None) -> t.SqlType | None:
    match kind:
        case "boolean":
            return t.BOOLEAN
        case "integer":
            return t.INTEGER if connect in ("int8", "int16", "int32") else t.BIGINT
        case "number":
            return t.DOUBLE
        case "string":
            return t.BYTES if connect == "bytes" else t.STRING
        case "array":
            inner = sql_type_of(schema.get("items"))
            return None if inner is None else t.Array(inner)
        case "object" if connect == "map" or (
            "properties" not in schema and "additionalProperties" in schema
        ):
            value = sql_type_of(schema.get("additionalProperties"))
            return None if value is None else t.Map(t.STRING, value)
        case "object":
            return _struct(schema.get("properties", {}))
        case _:
            return None


def _struct(properties: dict[str, Any]) -> t.Struct | None:
    ordered = sorted(properties.items(), key=lambda item: item[1].get("connect.index", len(properties)))
    fields = [(name, sql_type_of(each)) for name, each in ordered]
    known = [(name, kind) for name, kind in fields if kind is not None]
    return t.struct_of(known) if known else None
