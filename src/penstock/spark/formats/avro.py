"""Avro. Values are read by fastavro; times come as numbers, which Arrow takes without a Python object more.

Types are those of Spark's own `from_avro`, but for unions of several types besides null and for types that
contain themselves: these are refused. `uuid`, `time-…` and `duration` are shown as what they are stored as.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, Final

import fastavro
import pyarrow as pa
from fastavro.read import SchemaResolutionError
from fastavro.schema import SchemaParseException
from pyspark.sql import types as t

from penstock.client.schema_registry import Schema
from penstock.spark.formats.form import Column, Decode, Encode, SchemaProblem, UnreadableValue

# What fastavro raises for bytes that are no value of the schema, or do not evolve to the reader's.
_UNREADABLE: Final = (
    SchemaResolutionError, ValueError, EOFError, IndexError, TypeError, KeyError, OverflowError,
)  # fmt: skip
_MAX_PRECISION: Final = 38  # Spark's; larger decimals are shown as the bytes they are
_PRIMITIVES: Final[dict[str, tuple[t.DataType, pa.DataType]]] = {
    "null": (t.NullType(), pa.null()),
    "boolean": (t.BooleanType(), pa.bool_()),
    "int": (t.IntegerType(), pa.int32()),
    "long": (t.LongType(), pa.int64()),
    "float": (t.FloatType(), pa.float32()),
    "double": (t.DoubleType(), pa.float64()),
    "bytes": (t.BinaryType(), pa.binary()),
    "string": (t.StringType(), pa.string()),
    "enum": (t.StringType(), pa.string()),
    "fixed": (t.BinaryType(), pa.binary()),
}
_LOGICAL: Final[dict[tuple[str, str], tuple[t.DataType, pa.DataType]]] = {
    ("int", "date"): (t.DateType(), pa.date32()),
    ("long", "timestamp-millis"): (t.TimestampType(), pa.timestamp("ms", tz="UTC")),
    ("long", "timestamp-micros"): (t.TimestampType(), pa.timestamp("us", tz="UTC")),
    ("long", "local-timestamp-millis"): (t.TimestampNTZType(), pa.timestamp("ms")),
    ("long", "local-timestamp-micros"): (t.TimestampNTZType(), pa.timestamp("us")),
}
_DERIVED: Final[dict[str, Any]] = {
    "boolean": "boolean",
    **dict.fromkeys(("tinyint", "smallint", "int"), "int"),
    "bigint": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
}


class Avro:
    schema_type = "AVRO"

    def column(self, reader: Schema, message: str | None) -> Column:
        return Column(*_type(parsed(reader), ()))

    def decoder(self, writer: Schema, reader: Schema, message: str | None, path: tuple[int, ...]) -> Decode:
        written, wanted = _as_numbers(parsed(writer)), _as_numbers(parsed(reader))
        target = None if written == wanted else wanted
        read = fastavro.schemaless_reader

        def decode(body: bytes) -> Any:
            stream = io.BytesIO(body)
            try:
                value = read(stream, written, target)
            except _UNREADABLE as error:
                raise UnreadableValue(str(error) or type(error).__name__) from None
            if stream.tell() != len(body):
                raise UnreadableValue(f"{len(body) - stream.tell()} bytes are left after the value")
            return value

        return decode

    def encoder(self, schema: Schema, message: str | None) -> Encode:
        wanted = parsed(schema)

        def encode(value: Any) -> bytes:
            out = io.BytesIO()
            try:
                fastavro.schemaless_writer(out, wanted, value)
            except (ValueError, TypeError, KeyError, OverflowError, AttributeError) as error:
                raise UnreadableValue(f"it does not fit its Avro schema: {error}") from None
            return out.getvalue()

        return encode

    def prefix(self, schema: Schema, message: str | None) -> bytes:
        return b""

    def derived(self, columns: t.StructType, name: str) -> Schema:
        return Schema(self.schema_type, json.dumps(_derived(columns, name)))


def parsed(schema: Schema) -> Any:
    """The schema with everything that it refers to put in its place."""
    named: dict[str, Any] = {}
    try:
        for _, text in schema.references:
            fastavro.parse_schema(json.loads(text), named_schemas=named)
        return fastavro.parse_schema(json.loads(schema.text), named_schemas=named, expand=True)
    except (SchemaParseException, ValueError, KeyError, TypeError, RecursionError) as error:
        raise SchemaProblem(f"not an Avro schema: {error}") from None


def _type(schema: Any, path: tuple[str, ...]) -> tuple[t.DataType, pa.DataType]:
    if isinstance(schema, list):
        return _union(schema, path)
    if isinstance(schema, str):
        if schema not in _PRIMITIVES:
            raise SchemaProblem(f"{_place(path)} contains itself ({schema}): no column can hold that")
        return _PRIMITIVES[schema]
    kind, logical = schema["type"], schema.get("logicalType", "")
    if kind in ("record", "error"):
        return _record(schema, path)
    if kind == "array":
        element, arrow = _type(schema["items"], (*path, "element"))
        return t.ArrayType(element), pa.list_(arrow)
    if kind == "map":
        value, arrow = _type(schema["values"], (*path, "value"))
        return t.MapType(t.StringType(), value), pa.map_(pa.string(), arrow)
    if _is_decimal(schema):
        precision, scale = schema["precision"], schema.get("scale", 0)
        return t.DecimalType(precision, scale), pa.decimal128(precision, scale)
    if isinstance(kind, (dict, list)):
        return _type(kind, path)
    return _LOGICAL.get((kind, logical)) or _PRIMITIVES[kind]


def _record(schema: Mapping[str, Any], path: tuple[str, ...]) -> tuple[t.DataType, pa.DataType]:
    fields, arrow = [], []
    for field in schema["fields"]:
        spark_type, arrow_type = _type(field["type"], (*path, field["name"]))
        fields.append(t.StructField(field["name"], spark_type))
        arrow.append(pa.field(field["name"], arrow_type))
    return t.StructType(fields), pa.struct(arrow)


def _union(branches: list[Any], path: tuple[str, ...]) -> tuple[t.DataType, pa.DataType]:
    values = [branch for branch in branches if branch != "null"]
    if len(values) != 1:
        raise SchemaProblem(
            f"{_place(path)} is a union of {len(values)} types besides null: no column can hold that, "
            "read it as bytes"
        )
    return _type(values[0], path)


def _place(path: tuple[str, ...]) -> str:
    return f"field {'.'.join(path)!r}" if path else "the schema"


def _as_numbers(schema: Any) -> Any:
    """Without the logical types that fastavro would make objects of; decimals alone need it."""
    if isinstance(schema, list):
        return [_as_numbers(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: part for name, part in schema.items() if name != "logicalType" or _is_decimal(schema)}
    for name in ("items", "values", "type"):
        if isinstance(kept.get(name), (dict, list)):
            kept[name] = _as_numbers(kept[name])
    if "fields" in kept:
        kept["fields"] = [{**field, "type": _as_numbers(field["type"])} for field in kept["fields"]]
    return kept


def _is_decimal(schema: Mapping[str, Any]) -> bool:
    return schema.get("logicalType") == "decimal" and schema["precision"] <= _MAX_PRECISION


def _derived(kind: t.DataType, name: str) -> Any:
    if isinstance(kind, t.StructType):
        fields = [
            {
                "name": field.name,
                "type": ["null", _derived(field.dataType, f"{name}_{field.name}")],
                "default": None,
            }
            for field in kind
        ]
        return {"type": "record", "name": name, "fields": fields}
    if isinstance(kind, t.ArrayType):
        return {"type": "array", "items": ["null", _derived(kind.elementType, f"{name}_element")]}
    if isinstance(kind, t.MapType) and isinstance(kind.keyType, t.StringType):
        return {"type": "map", "values": ["null", _derived(kind.valueType, f"{name}_value")]}
    if isinstance(kind, t.DecimalType):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if kind.simpleString() in _DERIVED:
        return _DERIVED[kind.simpleString()]
    raise SchemaProblem(f"Avro has no type for {kind.simpleString()}: cast it first")
