"""Connect's schemas as JSON Schema, in the form that Confluent's JsonSchemaConverter documents.

The values themselves are JSON as `JsonConverter` without an envelope writes it. Pure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from penstock.connect.data import schema as s
from penstock.connect.data.schema import Schema, Type

_SIMPLE: Final = {
    Type.INT8: "integer", Type.INT16: "integer", Type.INT32: "integer", Type.INT64: "integer",
    Type.FLOAT32: "number", Type.FLOAT64: "number", Type.BOOLEAN: "boolean", Type.STRING: "string",
    Type.BYTES: "string",
}  # fmt: skip
_NAMED: Final = {**{kind.value: kind for kind in Type}, "float32": Type.FLOAT32, "float64": Type.FLOAT64}
_OUT: Final = {Type.FLOAT32: "float32", Type.FLOAT64: "float64"}


def json_schema(schema: Schema, index: int | None = None) -> dict[str, Any]:
    shape = _shape(schema)
    if schema.name is not None:
        shape["title"] = schema.name
    if schema.version is not None:
        shape["connect.version"] = schema.version
    if schema.parameters:
        shape["connect.parameters"] = dict(schema.parameters)
    if schema.doc is not None:
        shape["description"] = schema.doc
    if schema.optional:
        shape = {"oneOf": [{"type": "null"}, shape]}
    if index is not None:
        shape["connect.index"] = index
    return shape


def _shape(schema: Schema) -> dict[str, Any]:
    match schema.type:
        case Type.STRUCT:
            properties = {each.name: json_schema(each.schema, each.index) for each in schema.fields}
            return {"type": "object", "properties": properties}
        case Type.ARRAY:
            assert schema.value_schema is not None
            return {"type": "array", "items": json_schema(schema.value_schema)}
        case Type.MAP:
            assert schema.value_schema is not None
            part = json_schema(schema.value_schema)
            return {"type": "object", "connect.type": "map", "additionalProperties": part}
        case Type.BOOLEAN | Type.STRING:
            return {"type": _SIMPLE[schema.type]}
        case kind:
            return {"type": _SIMPLE[kind], "connect.type": _OUT.get(kind, kind.value)}


def connect_schema(found: Any) -> Schema:
    """The Connect schema of a JSON Schema given as parsed JSON."""
    if not isinstance(found, dict):
        return s.STRING.as_optional()
    branches = found.get("oneOf") or found.get("anyOf")
    if branches:
        others = [each for each in branches if each != {"type": "null"}]
        inner = connect_schema(others[0]) if len(others) == 1 else s.STRING
        return inner.as_optional() if len(others) < len(branches) else inner
    kind = found.get("type")
    if isinstance(kind, list):
        others = [each for each in kind if each != "null"]
        inner = connect_schema({**found, "type": others[0] if others else "string"})
        return inner.as_optional() if "null" in kind else inner
    return replace(
        _typed(found, kind),
        name=found.get("title"),
        version=found.get("connect.version"),
        parameters=tuple(found.get("connect.parameters", {}).items()),
        doc=found.get("description"),
    )


def _typed(found: dict[str, Any], kind: Any) -> Schema:
    declared = _NAMED.get(found.get("connect.type", ""))
    if kind == "object":
        if declared is Type.MAP or "properties" not in found:
            return s.map_schema(s.STRING, connect_schema(found.get("additionalProperties")))
        required = found.get("required", ())
        fields = sorted(found["properties"].items(), key=lambda each: _index(each[1]))
        return s.struct_schema(
            {n: connect_schema(f) if n in required or _marked(f) else connect_schema(f).as_optional()
             for n, f in fields}
        )  # fmt: skip
    if kind == "array":
        return s.array_schema(connect_schema(found.get("items")))
    if declared is not None:
        return Schema(declared)
    plain = {"integer": Type.INT64, "number": Type.FLOAT64, "boolean": Type.BOOLEAN}
    return Schema(plain.get(kind, Type.STRING))


def _index(field: Any) -> int:
    return int(field.get("connect.index", 1 << 30)) if isinstance(field, dict) else 1 << 30


def _marked(field: Any) -> bool:
    """Written by Connect: there an optional field says so itself."""
    return isinstance(field, dict) and "connect.index" in field
