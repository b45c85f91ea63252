"""Protobuf. Messages are read by Google's library from descriptors made of the schema's text.

A value is read with the reader's own message: fields go by number, so a writer's newer field is passed over
and an older value lacks what it lacks. Enums are shown by name; `uint32` is a long and `uint64` a decimal,
because Spark has no unsigned numbers; `google.protobuf.Timestamp` is a timestamp and wrappers are plain
nullable columns. Fields that can be absent are null then, the others have their default.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql import types as t

from penstock.client.schema_registry import Schema
from penstock.schemas import wire_format
from penstock.schemas.errors import InvalidSchema
from penstock.schemas.protobuf.messages import describe, message_at, message_named, path_of
from penstock.spark.formats.form import Column, Decode, Encode, SchemaProblem, UnreadableValue

Get = Callable[[Any], Any]
_Typed = tuple[t.DataType, pa.DataType, Get]


def _same(value: Any) -> Any:
    return value


_LONG: Final = (t.LongType(), pa.int64(), _same)
_INT: Final = (t.IntegerType(), pa.int32(), _same)
_UNSIGNED: Final = (t.DecimalType(20, 0), pa.decimal128(20, 0), Decimal)
_SCALARS: Final[dict[int, _Typed]] = {
    FieldDescriptor.TYPE_DOUBLE: (t.DoubleType(), pa.float64(), _same),
    FieldDescriptor.TYPE_FLOAT: (t.FloatType(), pa.float32(), _same),
    FieldDescriptor.TYPE_BOOL: (t.BooleanType(), pa.bool_(), _same),
    FieldDescriptor.TYPE_STRING: (t.StringType(), pa.string(), _same),
    FieldDescriptor.TYPE_BYTES: (t.BinaryType(), pa.binary(), _same),
    **dict.fromkeys(
        (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SFIXED32), _INT
    ),
    **dict.fromkeys(
        (FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_SFIXED64), _LONG
    ),
    **dict.fromkeys((FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32), _LONG),
    **dict.fromkeys((FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64), _UNSIGNED),
}
_TIMESTAMP: Final = "google.protobuf.Timestamp"
_WRAPPER: Final = "google.protobuf."
_DERIVED: Final = {
    "boolean": "bool",
    **dict.fromkeys(("tinyint", "smallint", "int"), "int32"),
    "bigint": "int64",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "timestamp": _TIMESTAMP,
}


class Protobuf:
    schema_type = "PROTOBUF"

    def column(self, reader: Schema, message: str | None) -> Column:
        spark, arrow, _ = _message(_wanted(reader, message), ())
        return Column(spark, arrow)

    def decoder(self, writer: Schema, reader: Schema, message: str | None, path: tuple[int, ...]) -> Decode:
        wanted = _wanted(reader, message)
        written = message_at(_described(writer), path)
        if written.full_name != wanted.full_name:
            raise UnreadableValue(f"it is a message {written.full_name}, and {wanted.full_name} is read")
        make, get = GetMessageClass(wanted).FromString, _message(wanted, ())[2]

        def decode(body: bytes) -> Any:
            try:
                return get(make(body))
            except (DecodeError, ValueError) as error:
                raise UnreadableValue(str(error)) from None

        return decode

    def encoder(self, schema: Schema, message: str | None) -> Encode:
        make = GetMessageClass(_wanted(schema, message))

        def encode(value: Any) -> bytes:
            try:
                return bytes(ParseDict(_for_json(value), make()).SerializeToString())
            except (ParseError, ValueError, TypeError) as error:
                raise UnreadableValue(f"it does not fit its Protobuf schema: {error}") from None

        return encode

    def prefix(self, schema: Schema, message: str | None) -> bytes:
        return wire_format.write_indexes(path_of(_wanted(schema, message)))

    def derived(self, columns: t.StructType, name: str) -> Schema:
        lines = ['syntax = "proto3";', 'import "google/protobuf/timestamp.proto";', *_derived(columns, name)]
        return Schema(self.schema_type, "\n".join(lines) + "\n")


def _described(schema: Schema) -> Any:
    try:
        return describe(schema.text, dict(schema.references))
    except InvalidSchema as error:
        raise SchemaProblem(f"not a Protobuf schema: {error}") from None


def _wanted(schema: Schema, message: str | None) -> Descriptor:
    """The message of that name, simple or full; the first one when there is no name."""
    file = _described(schema)
    try:
        return message_at(file, (0,)) if message is None else message_named(file, message)
    except InvalidSchema as error:
        raise SchemaProblem(str(error)) from None


def _message(message: Descriptor, within: tuple[str, ...]) -> _Typed:
    if message.full_name == _TIMESTAMP:
        return t.TimestampType(), pa.timestamp("us", tz="UTC"), _microseconds
    if (
        message.full_name.startswith(_WRAPPER)
        and message.full_name.endswith("Value")
        and len(message.fields) == 1
    ):
        spark, arrow, get = _SCALARS[message.fields[0].type]
        return spark, arrow, lambda value: get(value.value)
    if message.full_name in within:
        raise SchemaProblem(f"message {message.full_name} contains itself: no column can hold that")
    fields = [(field, _field(field, (*within, message.full_name))) for field in message.fields]
    getters = [(field.name, _getter(field, typed[2])) for field, typed in fields]

    def get_all(value: Any) -> dict[str, Any]:
        return {name: get(value) for name, get in getters}

    return (
        t.StructType([t.StructField(field.name, typed[0]) for field, typed in fields]),
        pa.struct([pa.field(field.name, typed[1]) for field, typed in fields]),
        get_all,
    )


def _field(field: FieldDescriptor, within: tuple[str, ...]) -> _Typed:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return _map(field.message_type, within)
    spark, arrow, get = _single(field, within)
    if not field.is_repeated:
        return spark, arrow, get
    return t.ArrayType(spark), pa.list_(arrow), lambda values: [get(value) for value in values]


def _map(entry: Descriptor, within: tuple[str, ...]) -> _Typed:
    key, value = (_single(entry.fields_by_name[name], within) for name in ("key", "value"))

    def get(values: Any) -> list[tuple[Any, Any]]:
        return [(key[2](name), value[2](values[name])) for name in values]

    return t.MapType(key[0], value[0]), pa.map_(key[1], value[1]), get


def _single(field: FieldDescriptor, within: tuple[str, ...]) -> _Typed:
    if field.enum_type is not None:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return t.StringType(), pa.string(), lambda number: names.get(number, str(number))
    if field.message_type is not None:
        return _message(field.message_type, within)
    return _SCALARS[field.type]


def _getter(field: FieldDescriptor, get: Get) -> Get:
    name = field.name
    if field.has_presence:
        return lambda value: get(getattr(value, name)) if value.HasField(name) else None
    if get is _same:
        return lambda value: getattr(value, name)
    return lambda value: get(getattr(value, name))


def _microseconds(timestamp: Any) -> int:
    return int(timestamp.seconds * 1_000_000 + timestamp.nanos // 1000)


def _for_json(value: Any) -> Any:
    """As Protobuf's JSON form has it; what is null is left out."""
    if isinstance(value, dict):
        return {name: _for_json(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        if value and isinstance(value[0], tuple):  # a map
            return {str(name): _for_json(part) for name, part in value}
        return [_for_json(part) for part in value]
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value) if isinstance(value, Decimal) else value


def _derived(columns: t.StructType, name: str) -> list[str]:
    lines = [f"message {name} {{"]
    for number, field in enumerate(columns, 1):
        kind, label = field.dataType, "optional "
        if isinstance(kind, t.ArrayType):
            kind, label = kind.elementType, "repeated "
        if isinstance(kind, t.StructType):
            inner = f"{name}_{field.name}"
            lines += ["  " + line for line in _derived(kind, inner)]
            written = inner
        elif isinstance(kind, t.MapType):
            label = ""
            written = f"map<{_written(kind.keyType)}, {_written(kind.valueType)}>"
        else:
            written = _written(kind)
        lines.append(f"  {label}{written} {field.name} = {number};")
    return [*lines, "}"]


def _written(kind: t.DataType) -> str:
    if kind.simpleString() not in _DERIVED:
        raise SchemaProblem(f"Protobuf has no type for {kind.simpleString()} here: cast it first")
    return _DERIVED[kind.simpleString()]
