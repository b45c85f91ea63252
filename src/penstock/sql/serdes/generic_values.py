"""Values of Avro and Protobuf, as their libraries read them, to SQL values of a column's type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

from penstock.expressions import types as t
from penstock.expressions.numbers import java_double_text
from penstock.sql.serdes.codec import FormatError
from penstock.sql.serdes.decimals import fitted_exactly

Convert = Callable[[Any], Any]
_INT: Final = 1 << 31
_LONG: Final = 1 << 63


def converter(kind: t.SqlType) -> Convert:
    """Null stays null. A value that does not fit is a FormatError."""
    convert = _converter(kind)
    return lambda value: None if value is None else convert(value)


def fields_converter(fields: Sequence[tuple[str, t.SqlType]]) -> Callable[[dict[str, Any]], list[Any]]:
    """Fields by their exact name first, then by their name in upper case; missing ones are null."""
    converters = [(name, converter(kind)) for name, kind in fields]

    def convert(value: dict[str, Any]) -> list[Any]:
        if all(name in value for name, _ in converters):
            return [each(value[name]) for name, each in converters]
        upper = {name.upper(): item for name, item in value.items()}
        return [each(value[name] if name in value else upper.get(name)) for name, each in converters]

    return convert


def _converter(kind: t.SqlType) -> Convert:
    match kind:
        case t.Decimal():
            return lambda value: _decimal(value, kind)
        case t.Array(item=item):
            each = converter(item)
            return lambda value: [each(one) for one in _of(list, value, kind)]
        case t.Map():
            return _map(kind)
        case t.Struct(fields=fields):
            names = [field.name for field in fields]
            convert = fields_converter([(field.name, field.type) for field in fields])
            return lambda value: dict(zip(names, convert(_of(dict, value, kind)), strict=True))
        case _:
            return _SIMPLE[kind]


def _of(wanted: type, value: Any, kind: t.SqlType) -> Any:
    if not isinstance(value, wanted):
        raise _misfit(value, kind)
    return value


def _misfit(value: Any, kind: t.SqlType) -> FormatError:
    return FormatError(f"Cannot deserialize type {type(value).__name__} as type {kind}")


def _decimal(value: Any, kind: t.Decimal) -> Decimal:
    if isinstance(value, Decimal) or type(value) is int:
        return fitted_exactly(Decimal(value), kind)
    raise _misfit(value, kind)


def _map(kind: t.Map) -> Convert:
    key, item = converter(kind.key), converter(kind.value)

    def convert(value: Any) -> dict[Any, Any]:
        if isinstance(value, list):  # Connect's form of maps whose keys may be null
            value = {each.get("key"): each.get("value") for each in value}
        return {key(name): item(each) for name, each in _of(dict, value, kind).items()}

    return convert


def _whole(kind: t.SqlType, bound: int) -> Convert:
    def convert(value: Any) -> int:
        if type(value) is not int or not -bound <= value < bound:
            raise _misfit(value, kind)
        return value

    return convert


def _double(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _misfit(value, t.DOUBLE)
    return float(value)


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double_text(value)
    if isinstance(value, int):
        return str(value)
    raise _misfit(value, t.STRING)


_SIMPLE: Final[dict[t.SqlType, Convert]] = {
    t.BOOLEAN: lambda value: _of(bool, value, t.BOOLEAN),
    t.INTEGER: _whole(t.INTEGER, _INT),
    t.BIGINT: _whole(t.BIGINT, _LONG),
    t.DOUBLE: _double,
    t.STRING: _string,
    t.BYTES: lambda value: bytes(_of(bytes, value, t.BYTES)),
    t.DATE: _whole(t.DATE, _INT),
    t.TIME: _whole(t.TIME, _INT),
    t.TIMESTAMP: _whole(t.TIMESTAMP, _LONG),
}
