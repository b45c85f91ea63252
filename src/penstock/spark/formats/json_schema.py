"""JSON with a JSON Schema. Values are read by msgspec into exactly the properties that the reader knows.

A type that the schema leaves open becomes a string with the JSON text in it. Types are checked; what else a
schema says of values (ranges, patterns, required properties) is not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypedDict

import msgspec
import pyarrow as pa
from pyspark.sql import types as t

from penstock.client.schema_registry import Schema
from penstock.spark.formats.form import Column, Decode, Encode, SchemaProblem, UnreadableValue

DEPTH_MAX: Final = 64
_SCALARS: Final[dict[str, tuple[t.DataType, pa.DataType, Any]]] = {
    "string": (t.StringType(), pa.string(), str),
    "integer": (t.LongType(), pa.int64(), int),
    "number": (t.DoubleType(), pa.float64(), float),
    "boolean": (t.BooleanType(), pa.bool_(), bool),
}
_DERIVED: Final = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double"), "number"),
    **dict.fromkeys(("string", "date", "timestamp", "timestamp_ntz"), "string"),
    "boolean": "boolean",
}


class _Shape(msgspec.Struct, frozen=True):
    """A type in its three forms: Spark's, Arrow's, and the one by which msgspec reads it."""

    spark: t.DataType
    arrow: pa.DataType
    python: Any

    @property
    def optional(self) -> Any:
        """The same or null; text that is kept as it is may be null already."""
        return self.python if self.python is msgspec.Raw else self.python | None


_ANYTHING: Final = _Shape(t.StringType(), pa.string(), msgspec.Raw)


class JsonSchema:
    schema_type = "JSON"

    def column(self, reader: Schema, message: str | None) -> Column:
        shape = _shape(reader)
        return Column(shape.spark, shape.arrow)

    def decoder(self, writer: Schema, reader: Schema, message: str | None, path: tuple[int, ...]) -> Decode:
        """JSON names its fields, so the reader's schema alone says what is taken."""
        shape = _shape(reader)
        read = msgspec.json.Decoder(shape.optional).decode
        has_text = _has_text(shape.python)

        def decode(body: bytes) -> Any:
            try:
                value = read(body)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise UnreadableValue(str(error)) from None
            return _with_text(value) if has_text else value

        return decode

    def encoder(self, schema: Schema, message: str | None) -> Encode:
        encoder = msgspec.json.Encoder(decimal_format="number")

        def encode(value: Any) -> bytes:
            return encoder.encode(value)

        return encode

    def prefix(self, schema: Schema, message: str | None) -> bytes:
        return b""

    def derived(self, columns: t.StructType, name: str) -> Schema:
        document = {"$schema": "http://json-schema.org/draft-07/schema#", "title": name, **_derived(columns)}
        return Schema(self.schema_type, json.dumps(document))


def _shape(schema: Schema) -> _Shape:
    try:
        document = json.loads(schema.text)
        others = {name: json.loads(text) for name, text in schema.references}
    except ValueError as error:
        raise SchemaProblem(f"not a JSON Schema: {error}") from None
    return _Shapes(document, others).of(document, 0)


class _Shapes:
    def __init__(self, document: Any, others: Mapping[str, Any]) -> None:
        self._document = document
        self._others = others

    def of(self, schema: Any, depth: int) -> _Shape:
        if depth > DEPTH_MAX:
            raise SchemaProblem("the schema contains itself, or nests too deep: no column can hold that")
        if not isinstance(schema, dict):
            return _ANYTHING
        if "$ref" in schema:
            return self.of(self._referred(schema["$ref"]), depth + 1)
        for keyword in ("oneOf", "anyOf"):
            if keyword in schema:
                return self._one_of(schema[keyword], depth)
        kind = schema.get("type")
        if isinstance(kind, list):
            return self._one_of([{**schema, "type": each} for each in kind], depth)
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, depth)
        if kind == "array":
            element = self.of(schema.get("items"), depth + 1)
            return _Shape(
                t.ArrayType(element.spark), pa.list_(element.arrow), _generic(list, element.optional)
            )
        if kind in _SCALARS:
            return _Shape(*_SCALARS[kind])
        if kind is None and all(isinstance(each, str) for each in schema.get("enum", [None])):
            return _Shape(*_SCALARS["string"])
        return _ANYTHING

    def _one_of(self, branches: list[Any], depth: int) -> _Shape:
        """A type or null; of several types the JSON text is kept."""
        values = [branch for branch in branches if branch != {"type": "null"} and _kind(branch) != "null"]
        return self.of(values[0], depth + 1) if len(values) == 1 else _ANYTHING

    def _object(self, schema: Mapping[str, Any], depth: int) -> _Shape:
        properties = schema.get("properties")
        if not properties:
            value = self.of(schema.get("additionalProperties"), depth + 1)
            python = _generic(dict, str, value.optional)
            return _Shape(t.MapType(t.StringType(), value.spark), pa.map_(pa.string(), value.arrow), python)
        shapes = {name: self.of(part, depth + 1) for name, part in properties.items()}
        return _Shape(
            t.StructType([t.StructField(name, shape.spark) for name, shape in shapes.items()]),
            pa.struct([pa.field(name, shape.arrow) for name, shape in shapes.items()]),
            _typed_dict({name: shape.optional for name, shape in shapes.items()}),
        )

    def _referred(self, reference: str) -> Any:
        name, _, pointer = reference.partition("#")
        found = self._others.get(name) if name else self._document
        for step in pointer.strip("/").split("/") if pointer.strip("/") else ():
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        if found is None:
            raise SchemaProblem(f"the schema refers to {reference!r}, which is not there")
        return found


def _generic(origin: Any, *arguments: Any) -> Any:
    return origin[arguments]


def _typed_dict(fields: dict[str, Any]) -> Any:
    """A type made while running, so no type for a checker."""
    make: Any = TypedDict
    return make("Row", fields, total=False)


def _kind(schema: Any) -> Any:
    return schema.get("type") if isinstance(schema, dict) else None


def _has_text(python: Any) -> bool:
    return "msgspec.Raw" in str(python) or any(
        map(_has_text, getattr(python, "__annotations__", {}).values())
    )


def _with_text(value: Any) -> Any:
    if isinstance(value, msgspec.Raw):
        text = bytes(value).decode()
        return None if text == "null" else text
    if isinstance(value, dict):
        return {name: _with_text(part) for name, part in value.items()}
    return [_with_text(part) for part in value] if isinstance(value, list) else value


def _derived(kind: t.DataType) -> dict[str, Any]:
    if isinstance(kind, t.StructType):
        properties = {field.name: {"oneOf": [{"type": "null"}, _derived(field.dataType)]} for field in kind}
        return {"type": "object", "properties": properties}
    if isinstance(kind, t.ArrayType):
        return {"type": "array", "items": _derived(kind.elementType)}
    if isinstance(kind, t.MapType):
        return {"type": "object", "additionalProperties": _derived(kind.valueType)}
    if isinstance(kind, t.DecimalType):
        return {"type": "number"}
    if kind.simpleString() in _DERIVED:
        return {"type": _DERIVED[kind.simpleString()]}
    raise SchemaProblem(f"JSON has no type for {kind.simpleString()}: cast it first")
