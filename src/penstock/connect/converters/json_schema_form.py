"""Connect's schemas as its JSON envelope writes them: `{"type": "struct", "fields": […], "optional":
false}`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.connect.data.schema import (
    Schema,
    Type,
    array_schema,
    map_schema,
    struct_schema,
)
from penstock.connect.errors import DataError

ToJson = Callable[[Schema, Any], Any]


def schema_to_json(schema: Schema, default_to_json: ToJson) -> dict[str, Any]:
    """In the order of fields that Kafka writes."""
    node: dict[str, Any] = {"type": schema.type.value}
    if schema.type is Type.STRUCT:
        node["fields"] = [
            {**schema_to_json(each.schema, default_to_json), "field": each.name} for each in schema.fields
        ]
    elif schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        node["items"] = schema_to_json(schema.value_schema, default_to_json)
    elif schema.type is Type.MAP:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        node["keys"] = schema_to_json(schema.key_schema, default_to_json)
        node["values"] = schema_to_json(schema.value_schema, default_to_json)
    node["optional"] = schema.optional
    for name in ("name", "version", "doc"):
        if (value := getattr(schema, name)) is not None:
            node[name] = value
    if schema.parameters:
        node["parameters"] = dict(schema.parameters)
    if schema.has_default and schema.default is not None:
        node["default"] = default_to_json(schema, schema.default)
    return node


def schema_from_json(node: Any, default_from_json: ToJson) -> Schema | None:
    if node is None:
        return None
    if not isinstance(node, dict) or not isinstance(node.get("type"), str):
        raise DataError("Schema must contain 'type' field")
    schema = _shape(node, default_from_json)
    optional = node.get("optional", False)
    if not isinstance(optional, bool):
        raise DataError("Invalid schema: 'optional' must be a boolean")
    schema = replace(
        schema,
        optional=optional,
        name=_text(node, "name"),
        version=_whole(node, "version"),
        doc=_text(node, "doc"),
        parameters=_parameters(node.get("parameters")),
    )
    if node.get("default") is not None:
        schema = schema.with_default(default_from_json(schema, node["default"]))
    return schema


def _shape(node: dict[str, Any], default_from_json: ToJson) -> Schema:
    try:
        kind = Type(node["type"])
    except ValueError:
        raise DataError(f"Unknown schema type: {node['type']}") from None
    if kind is Type.ARRAY:
        return array_schema(
            _inner(node, "items", "Array schema did not specify the element type", default_from_json)
        )
    if kind is Type.MAP:
        return map_schema(
            _inner(node, "keys", "Map schema did not specify the key type", default_from_json),
            _inner(node, "values", "Map schema did not specify the value type", default_from_json),
        )
    if kind is Type.STRUCT:
        return struct_schema(dict(_field(each, default_from_json) for each in node.get("fields") or ()))
    return Schema(kind)


def _inner(node: dict[str, Any], name: str, missing: str, default_from_json: ToJson) -> Schema:
    inner = schema_from_json(node.get(name), default_from_json)
    if inner is None:
        raise DataError(missing)
    return inner


def _field(node: Any, default_from_json: ToJson) -> tuple[str, Schema]:
    name = node.get("field") if isinstance(node, dict) else None
    schema = schema_from_json(node, default_from_json)
    if not isinstance(name, str) or schema is None:
        raise DataError("Struct schema's field name not specified properly")
    return name, schema


def _text(node: dict[str, Any], name: str) -> str | None:
    value = node.get(name)
    return value if isinstance(value, str) else None


def _whole(node: dict[str, Any], name: str) -> int | None:
    value = node.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _parameters(node: Any) -> tuple[tuple[str, str], ...]:
    if node is None:
        return ()
    if not isinstance(node, dict) or not all(isinstance(value, str) for value in node.values()):
        raise DataError("Schema parameters must have string values.")
    return tuple(node.items())
