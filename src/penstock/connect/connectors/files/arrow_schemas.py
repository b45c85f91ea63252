"""Connect's schemas as Arrow's types, and back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from penstock.connect.data import schema as s
from penstock.connect.data.dates import EPOCH
from penstock.connect.data.schema import Schema, Type
from penstock.connect.data.struct import Float32, Struct
from penstock.connect.errors import DataError

_ARROW: Final = {
    Type.FLOAT32: "float32",
    Type.FLOAT64: "float64",
    Type.BOOLEAN: "bool_",
    Type.BYTES: "binary",
}
_PLAIN: Final[Mapping[Any, Schema]] = {
    pa.bool_(): s.BOOLEAN, pa.int8(): s.INT8, pa.int16(): s.INT16, pa.int32(): s.INT32, pa.int64(): s.INT64,
    pa.uint8(): s.INT16, pa.uint16(): s.INT32, pa.uint32(): s.INT64, pa.float16(): s.FLOAT32,
    pa.float32(): s.FLOAT32, pa.float64(): s.FLOAT64, pa.string(): s.STRING, pa.large_string(): s.STRING,
    pa.binary(): s.BYTES, pa.large_binary(): s.BYTES,
}  # fmt: skip


def arrow_type(schema: Schema) -> Any:
    if schema.name == s.DECIMAL_NAME:
        return pa.decimal128(38, s.decimal_scale(schema))
    if schema.name == s.TIMESTAMP_NAME:
        return pa.timestamp("ms", "UTC")
    if schema.name in (s.DATE_NAME, s.TIME_NAME):
        return pa.timestamp("ms", "UTC") if schema.name == s.TIME_NAME else pa.date32()
    match schema.type:
        case Type.STRUCT:
            return pa.struct([(each.name, arrow_type(each.schema)) for each in schema.fields])
        case Type.ARRAY:
            return pa.list_(arrow_type(schema.value_schema or s.STRING))
        case Type.MAP:
            key, value = schema.key_schema or s.STRING, schema.value_schema or s.STRING
            return pa.map_(arrow_type(key), arrow_type(value))
        case kind:
            return getattr(pa, _ARROW.get(kind, kind.value))()


def connect_schema(kind: Any, name: str) -> Schema:
    """Optional, as everything in Arrow is. DataError for a type that Connect does not have."""
    if pa.types.is_struct(kind):
        fields = {each.name: connect_schema(each.type, f"{name}.{each.name}") for each in kind}
        return s.struct_schema(fields, optional=True)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return s.array_schema(connect_schema(kind.value_type, name)).as_optional()
    if pa.types.is_map(kind):
        key, value = connect_schema(kind.key_type, name), connect_schema(kind.item_type, name)
        return s.map_schema(key, value).as_optional()
    if pa.types.is_dictionary(kind):
        return connect_schema(kind.value_type, name)
    found = _logical(kind) or _PLAIN.get(kind)
    if found is None:
        raise DataError(f"the column {name} has the type {kind}, which Connect does not have")
    return found.as_optional()


def _logical(kind: Any) -> Schema | None:
    if pa.types.is_decimal(kind):
        return s.decimal_schema(kind.scale)
    if pa.types.is_timestamp(kind):
        return s.TIMESTAMP
    if pa.types.is_date(kind):
        return s.DATE
    return s.TIME if pa.types.is_time(kind) else None


def connect_value(schema: Schema, value: Any) -> Any:
    """A value that Arrow gave as Python's, in the form that the schema asks for."""
    if value is None:
        return None
    match schema.type:
        case Type.STRUCT:
            parts = {each.name: connect_value(each.schema, value[each.name]) for each in schema.fields}
            return Struct(schema, parts)
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [connect_value(schema.value_schema, each) for each in value]
        case Type.MAP:
            assert schema.value_schema is not None
            return {key: connect_value(schema.value_schema, each) for key, each in dict(value).items()}
        case Type.FLOAT32:
            return Float32(value)
    return _moment(value)


def _moment(value: Any) -> Any:
    """Dates and times as moments in UTC; everything else as it is."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    if isinstance(value, dt.time):
        return dt.datetime.combine(EPOCH.date(), value, tzinfo=dt.UTC)
    return value
