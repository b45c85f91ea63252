"""Messages to plain values and back: times as numbers, decimals as decimals, wrappers unwrapped."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from penstock.expressions.java_text import civil, days_of
from penstock.sql.serdes.protobuf_schema import WRAPPERS

_NANOS_OF_MS: Final = 1_000_000


def plain(message: Any) -> dict[str, Any]:
    """Fields by name; what is absent and could be present is null."""
    return {field.name: _plain_field(message, field) for field in message.DESCRIPTOR.fields}


def _plain_field(message: Any, field: Any) -> Any:
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        value = kind.fields_by_name["value"]
        return {key: _one(each, value) for key, each in getattr(message, field.name).items()}
    if field.is_repeated:
        return [_one(each, field) for each in getattr(message, field.name)]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _one(getattr(message, field.name), field)


def _one(value: Any, field: Any) -> Any:
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else known.name
    kind = field.message_type
    if kind is None:
        return value
    match kind.full_name:
        case "google.protobuf.Timestamp":
            return value.seconds * 1000 + value.nanos // _NANOS_OF_MS
        case "google.type.Date":
            return days_of(value.year, value.month, value.day)
        case "google.type.TimeOfDay":
            seconds = (value.hours * 60 + value.minutes) * 60 + value.seconds
            return seconds * 1000 + value.nanos // _NANOS_OF_MS
        case "confluent.type.Decimal":
            return Decimal(int.from_bytes(value.value, "big", signed=True)).scaleb(-value.scale)
        case name if name in WRAPPERS:
            return value.value
        case _:
            return plain(value)


def fill(message: Any, values: dict[str, Any]) -> None:
    """Set the fields of a message by name, exact or in upper case; nulls are left out."""
    fields = {field.name.upper(): field for field in message.DESCRIPTOR.fields}
    fields.update({field.name: field for field in message.DESCRIPTOR.fields})
    for name, value in values.items():
        field = fields.get(name)
        if field is not None and value is not None:
            _fill_field(message, field, value)


def _fill_field(message: Any, field: Any, value: Any) -> None:
    kind, held = field.message_type, None
    if kind is not None and kind.GetOptions().map_entry:
        held, inner = getattr(message, field.name), kind.fields_by_name["value"]
        for key, each in value.items():
            if inner.message_type is not None:
                _fill_message(held[key], inner, each)
            else:
                held[key] = _scalar(inner, each)
    elif field.is_repeated:
        items = [{"key": k, "value": v} for k, v in value.items()] if isinstance(value, dict) else value
        held = getattr(message, field.name)
        for each in items:
            if kind is not None:
                _fill_message(held.add(), field, each)
            else:
                held.append(_scalar(field, each))
    elif kind is not None:
        getattr(message, field.name).SetInParent()
        _fill_message(getattr(message, field.name), field, value)
    else:
        setattr(message, field.name, _scalar(field, value))


def _scalar(field: Any, value: Any) -> Any:
    if value is None:
        return field.default_value  # a list cannot hold nulls
    return field.enum_type.values_by_name[value].number if field.enum_type is not None else value


def _fill_message(message: Any, field: Any, value: Any) -> None:
    if value is None:
        return
    match field.message_type.full_name:
        case "google.protobuf.Timestamp":
            message.seconds, rest = divmod(value, 1000)
            message.nanos = rest * _NANOS_OF_MS
        case "google.type.Date":
            message.year, message.month, message.day = civil(value)
        case "google.type.TimeOfDay":
            seconds, rest = divmod(value, 1000)
            message.hours, message.minutes = seconds // 3600, seconds // 60 % 60
            message.seconds, message.nanos = seconds % 60, rest * _NANOS_OF_MS
        case "confluent.type.Decimal":
            _fill_decimal(message, value)
        case name if name in WRAPPERS:
            message.value = value
        case _:
            fill(message, value)


def _fill_decimal(message: Any, value: Decimal) -> None:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    message.value = whole.to_bytes(whole.bit_length() // 8 + 1, "big", signed=True)
    message.scale = -exponent
    message.precision = max(len(digits), -exponent)
