"""Values of Connect in messages of Protobuf, and back; `protobuf_schema` has their schemas. Pure."""

from __future__ import annotations

from typing import Any, Final

from penstock.connect.converters.protobuf_schema import WRAPPED
from penstock.connect.data.dates import DAY_MS, from_millis, to_millis
from penstock.connect.data.schema import Schema, Type
from penstock.connect.data.struct import Struct
from penstock.expressions.java_text import civil, days_of

_NANOS_OF_MS: Final = 1_000_000


def fill(message: Any, value: Struct) -> None:
    """Sets the fields of a message; nulls are left out."""
    for field in message.DESCRIPTOR.fields:
        given = value.get(field.name)
        if given is None:
            continue
        if field.is_repeated:
            _fill_repeated(getattr(message, field.name), field, given)
        elif field.message_type is not None:
            getattr(message, field.name).SetInParent()
            _fill_one(getattr(message, field.name), field, given)
        else:
            setattr(message, field.name, given)


def _fill_repeated(held: Any, field: Any, given: Any) -> None:
    entries = isinstance(given, dict)
    for each in given.items() if entries else given:
        if entries:
            entry = held.add()
            _set_member(entry, "key", each[0])
            _set_member(entry, "value", each[1])
        elif field.message_type is not None:
            _fill_one(held.add(), field, each)
        else:
            held.append(each)


def _set_member(entry: Any, name: str, value: Any) -> None:
    field = entry.DESCRIPTOR.fields_by_name[name]
    if value is None:
        return
    if field.message_type is not None:
        _fill_one(getattr(entry, name), field, value)
    else:
        setattr(entry, name, value)


def _fill_one(message: Any, field: Any, value: Any) -> None:
    match field.message_type.full_name:
        case "google.protobuf.Timestamp":
            message.seconds, rest = divmod(to_millis(value), 1000)
            message.nanos = rest * _NANOS_OF_MS
        case "google.type.Date":
            message.year, message.month, message.day = civil(to_millis(value) // DAY_MS)
        case "google.type.TimeOfDay":
            seconds, rest = divmod(to_millis(value), 1000)
            message.hours, message.minutes = seconds // 3600, seconds // 60 % 60
            message.seconds, message.nanos = seconds % 60, rest * _NANOS_OF_MS
        case name if name in WRAPPED:
            message.value = value
        case _:
            fill(message, value)


def read(message: Any, schema: Schema) -> Struct:
    values = {field.name: _read_field(message, field, schema) for field in message.DESCRIPTOR.fields}
    return Struct(schema, values)


def _read_field(message: Any, field: Any, schema: Schema) -> Any:
    found = schema.field(field.name)
    assert found is not None
    if field.is_repeated:
        held = getattr(message, field.name)
        if found.schema.type is not Type.MAP:
            assert found.schema.value_schema is not None
            return [_read_one(each, field, found.schema.value_schema) for each in held]
        return _read_map(held, field, found.schema)
    if field.has_presence and not message.HasField(field.name):
        return None
    return _read_one(getattr(message, field.name), field, found.schema)


def _read_map(held: Any, field: Any, schema: Schema) -> dict[Any, Any]:
    assert schema.value_schema is not None
    value = field.message_type.fields_by_name["value"]
    if field.message_type.GetOptions().map_entry:
        return {key: _read_one(each, value, schema.value_schema) for key, each in held.items()}
    return {each.key: _read_one(each.value, value, schema.value_schema) for each in held}


def _read_one(value: Any, field: Any, schema: Schema) -> Any:
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else known.name
    if field.message_type is None:
        return value
    match field.message_type.full_name:
        case "google.protobuf.Timestamp":
            return from_millis(value.seconds * 1000 + value.nanos // _NANOS_OF_MS)
        case "google.type.Date":
            return from_millis(days_of(value.year, value.month, value.day) * DAY_MS)
        case "google.type.TimeOfDay":
            seconds = (value.hours * 60 + value.minutes) * 60 + value.seconds
            return from_millis(seconds * 1000 + value.nanos // _NANOS_OF_MS)
        case name if name in WRAPPED:
            return value.value
        case _:
            return read(value, schema)
