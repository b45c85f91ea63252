"""Connect's schemas as Protobuf, in the form that Confluent's ProtobufConverter documents; and back.

A struct is a message, an array a repeated field, a map a repeated `…Entry` of key and value; dates and times
are the well-known messages. A value that is no struct stands in a message as its one field. Decimals are
refused. Pure.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.connect.data import schema as s
from penstock.connect.data.schema import Schema, Type
from penstock.connect.errors import DataError

DEFAULT_NAME: Final = "ConnectDefault"
SCALAR: Final = "scalar"
"""The field of a value that is no struct."""
_WORDS: Final = {
    Type.INT8: "int32", Type.INT16: "int32", Type.INT32: "int32", Type.INT64: "int64",
    Type.FLOAT32: "float", Type.FLOAT64: "double", Type.BOOLEAN: "bool", Type.STRING: "string",
    Type.BYTES: "bytes",
}  # fmt: skip
_WELL_KNOWN: Final = {
    s.TIMESTAMP_NAME: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
    s.DATE_NAME: ("google.type.Date", "google/type/date.proto"),
    s.TIME_NAME: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
}
_SCALARS: Final = {
    1: s.FLOAT64, 2: s.FLOAT32, 3: s.INT64, 4: s.INT64, 5: s.INT32, 6: s.INT64, 7: s.INT64, 8: s.BOOLEAN,
    9: s.STRING, 12: s.BYTES, 13: s.INT64, 14: s.STRING, 15: s.INT32, 16: s.INT64, 17: s.INT32, 18: s.INT64,
}  # fmt: skip
"""By the number of Protobuf's type; unsigned ones need more room."""
WRAPPED: Final = {
    f"google.protobuf.{name}Value": schema
    for name, schema in (
        ("Bool", s.BOOLEAN), ("Int32", s.INT32), ("Int64", s.INT64), ("UInt32", s.INT64), ("UInt64", s.INT64),
        ("Float", s.FLOAT32), ("Double", s.FLOAT64), ("String", s.STRING), ("Bytes", s.BYTES),
    )
}  # fmt: skip


def proto_text(schema: Schema, *, optional_words: bool = False) -> str:
    """The file of a schema; with `optional_words` nulls are told from defaults."""
    return _Writer(optional_words).file(schema)


class _Writer:
    """The messages of inner structs all stand in the outermost one, where each of them can be named."""

    def __init__(self, optional_words: bool) -> None:
        self._optional, self._imports, self._unnamed = optional_words, set[str](), 0
        self._inner: dict[str, tuple[Schema, list[str]]] = {}

    def file(self, schema: Schema) -> str:
        package, _, name = (schema.name or "").rpartition(".") if schema.type is Type.STRUCT else ("", "", "")
        struct = schema if schema.type is Type.STRUCT else s.struct_schema({SCALAR: schema})
        name = name or self._next_name()
        fields = self._fields(struct, "  ")
        inner = [line for _, lines in self._inner.values() for line in lines]
        head = ['syntax = "proto3";', *([f"package {package};"] if package else [])]
        head += [f'import "{each}";' for each in sorted(self._imports)]
        return "\n".join([*head, f"message {name} {{", *fields, *inner, "}", ""])

    def _next_name(self) -> str:
        self._unnamed += 1
        return f"{DEFAULT_NAME}{self._unnamed}"

    def _fields(self, struct: Schema, indent: str) -> list[str]:
        return [
            f"{indent}{self._word(field.schema, field.name)} {field.name} = {number};"
            for number, field in enumerate(struct.fields, 1)
        ]

    def _message(self, struct: Schema, wanted: str) -> str:
        """The name of the message of an inner struct."""
        name = wanted
        while name in self._inner and self._inner[name][0] != struct:
            name = f"{self._next_name()}{wanted}"
        if name not in self._inner:
            self._inner[name] = (struct, [])
            lines = self._fields(struct, "    ")
            self._inner[name] = (struct, [f"  message {name} {{", *lines, "  }"])
        return name

    def _word(self, schema: Schema, field: str) -> str:
        if schema.name in _WELL_KNOWN:
            word, file = _WELL_KNOWN[schema.name]
            self._imports.add(file)
            return word
        if schema.type is Type.ARRAY:
            assert schema.value_schema is not None
            if schema.value_schema.type in (Type.ARRAY, Type.MAP):
                raise DataError("Protobuf has no arrays of arrays or of maps")
            return f"repeated {self._word(schema.value_schema, field).removeprefix('optional ')}"
        if schema.type is Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            entry = s.struct_schema({"key": schema.key_schema, "value": schema.value_schema})
            return f"repeated {self._message(entry, f'{field[:1].upper()}{field[1:]}Entry')}"
        if schema.type is Type.STRUCT:
            return self._message(schema, (schema.name or "").rpartition(".")[2] or self._next_name())
        if schema.name == s.DECIMAL_NAME:
            raise DataError(f"{field} is a Decimal, which has no form in Protobuf here: cast it before")
        word = _WORDS[schema.type]
        return f"optional {word}" if schema.optional and self._optional else word


def connect_schema(message: Any, seen: tuple[str, ...] = ()) -> Schema:
    """The struct of a message's descriptor."""
    if message.full_name in seen:
        raise DataError(f"The message {message.full_name} holds itself, which Connect cannot express")
    inner = (*seen, message.full_name)
    fields = {field.name: _field_schema(field, inner) for field in message.fields}
    return s.struct_schema(fields, name=message.full_name)


def _field_schema(field: Any, seen: tuple[str, ...]) -> Schema:
    message = field.message_type
    if message is not None and _is_entry(field):
        key, value = (_field_schema(message.fields_by_name[name], seen) for name in ("key", "value"))
        return s.map_schema(key, value).as_optional()
    one = _one_schema(field, seen)
    return s.array_schema(one).as_optional() if field.is_repeated else one.as_optional()


def _one_schema(field: Any, seen: tuple[str, ...]) -> Schema:
    message = field.message_type
    if message is None:
        return _SCALARS[field.type]
    match message.full_name:
        case "google.protobuf.Timestamp":
            return s.TIMESTAMP
        case "google.type.Date":
            return s.DATE
        case "google.type.TimeOfDay":
            return s.TIME
        case name if name in WRAPPED:
            return WRAPPED[name]
        case _:
            return connect_schema(message, seen)


def _is_entry(field: Any) -> bool:
    message = field.message_type
    named = message.name.endswith("Entry") and [each.name for each in message.fields] == ["key", "value"]
    return bool(message.GetOptions().map_entry or (field.is_repeated and named))
