"""Columns of PostgreSQL as Debezium has them: a schema by the type's number, and its text as a value.

A type that is not listed here is text.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple

from penstock.connect.connectors.postgresql.arrays import array_items
from penstock.connect.data import schema as s
from penstock.connect.data.dates import EPOCH
from penstock.connect.data.schema import Schema, Type
from penstock.connect.data.struct import Float32, Struct

Decode = Callable[[str], Any]
NUMERIC: Final = 1700
_DATE, _TIME, _TIMESTAMP, _TIMESTAMPTZ, _TIMETZ, _INTERVAL = 1082, 1083, 1114, 1184, 1266, 1186
_BYTEA: Final = 17
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_ARRAYS: Final = {
    1000: 16,
    1005: 21,
    1007: 23,
    1016: 20,
    1009: 25,
    1015: 1043,
    1014: 1042,
    1021: 700,
    1022: 701,
    1231: 1700,
    2951: 2950,
    199: 114,
    3807: 3802,
    1182: 1082,
    1115: 1114,
    1185: 1184,
}
"""Types of arrays and of what they hold."""
DATE: Final = Schema(Type.INT32, name="io.debezium.time.Date", version=1)
MICRO_TIME: Final = Schema(Type.INT64, name="io.debezium.time.MicroTime", version=1)
MICRO_TIMESTAMP: Final = Schema(Type.INT64, name="io.debezium.time.MicroTimestamp", version=1)
TIMESTAMP: Final = Schema(Type.INT64, name="io.debezium.time.Timestamp", version=1)
TIME: Final = Schema(Type.INT32, name="io.debezium.time.Time", version=1)
ZONED_TIMESTAMP: Final = Schema(Type.STRING, name="io.debezium.time.ZonedTimestamp", version=1)
ZONED_TIME: Final = Schema(Type.STRING, name="io.debezium.time.ZonedTime", version=1)
UUID: Final = Schema(Type.STRING, name="io.debezium.data.Uuid", version=1)
JSON: Final = Schema(Type.STRING, name="io.debezium.data.Json", version=1)
VARIABLE_DECIMAL: Final = s.struct_schema(
    {"scale": s.INT32, "value": s.BYTES}, name="io.debezium.data.VariableScaleDecimal", version=1
)
_MOMENT: Final = re.compile(r"(-?\d+)-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([+-].+)?( BC)?")

_PLAIN_MOMENT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?")


class Handling(NamedTuple):
    """How a connector wants some types."""

    decimals: str  # precise, double, string
    times: str  # adaptive, adaptive_time_microseconds, connect
    placeholder: str


class ColumnType(NamedTuple):
    schema: Schema
    decode: Decode


def column_type(oid: int, modifier: int, handling: Handling) -> ColumnType:
    plain = _PLAIN.get(oid)
    if plain is not None:
        return plain
    if oid in _ARRAYS:
        element = column_type(_ARRAYS[oid], modifier, handling)
        return ColumnType(
            s.array_schema(element.schema.as_optional()),
            lambda text: [None if each is None else element.decode(each) for each in array_items(text)],
        )
    if oid == NUMERIC:
        return _numeric(modifier, handling.decimals)
    if oid in (_DATE, _TIME, _TIMESTAMP):
        return _temporal(oid, modifier, handling.times)
    return _TEXT


def _numeric(modifier: int, mode: str) -> ColumnType:
    if mode == "double":
        return ColumnType(s.FLOAT64, float)
    if mode == "string":
        return ColumnType(s.STRING, str)
    if modifier < 4:  # declared without precision: each value has its own scale
        return ColumnType(VARIABLE_DECIMAL, _variable)
    scale = modifier - 4 & 0x7FF
    return ColumnType(s.decimal_schema(scale), Decimal)


def _variable(text: str) -> Struct:
    sign, digits, exponent = Decimal(text).as_tuple()
    unscaled = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    size = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return Struct(
        VARIABLE_DECIMAL, {"scale": -int(exponent), "value": unscaled.to_bytes(size, "big", signed=True)}
    )


def _temporal(oid: int, modifier: int, mode: str) -> ColumnType:
    coarse = 0 <= modifier <= 3
    if oid == _DATE:
        if mode == "connect":
            return ColumnType(s.DATE, lambda text: EPOCH + dt.timedelta(days=_days(text)))
        return ColumnType(DATE, _days)
    if oid == _TIME:
        if mode == "connect":
            return ColumnType(s.TIME, lambda text: EPOCH + _time_micros(text) * _MICROSECOND)
        if mode == "adaptive" and coarse:
            return ColumnType(TIME, lambda text: _time_micros(text) // 1000)
        return ColumnType(MICRO_TIME, _time_micros)
    if mode == "connect":
        return ColumnType(s.TIMESTAMP, lambda text: EPOCH + moment_micros(text) * _MICROSECOND)
    if coarse:
        return ColumnType(TIMESTAMP, lambda text: moment_micros(text) // 1000)
    return ColumnType(MICRO_TIMESTAMP, moment_micros)


def _days(text: str) -> int:
    if text in ("infinity", "-infinity"):
        return 2**31 - 1 if text == "infinity" else -(2**31)
    return (
        moment_micros(f"{text.removesuffix(' BC')} 00:00:00{' BC' if text.endswith(' BC') else ''}")
        // 86_400_000_000
    )


def _time_micros(text: str) -> int:
    hours, minutes, seconds = text.split(":")
    whole, _, fraction = seconds.partition(".")
    return (int(hours) * 3600 + int(minutes) * 60 + int(whole)) * 1_000_000 + int(fraction.ljust(6, "0") or 0)


def moment_micros(text: str) -> int:
    """Microseconds since 1970 of a timestamp without zone; the ends of time for infinity, as Debezium."""
    if _PLAIN_MOMENT.fullmatch(text):
        return _day_micros(text[:10]) + _time_micros(text[11:])
    if text in ("infinity", "-infinity"):
        return 9223372036825200000 if text == "infinity" else -9223372036832400000
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no timestamp")
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    if found[9]:
        year = 1 - year
    cycles = (year - 1970) // 400 if not 1 <= year <= 9999 else 0  # what Python's calendar does not reach
    days = (dt.date(year - cycles * 400, month, day) - dt.date(1970, 1, 1)).days + cycles * 146_097
    return (
        ((days * 24 + hour) * 60 + minute) * 60_000_000
        + second * 1_000_000
        + int((found[7] or "").ljust(6, "0"))
    )


@lru_cache(4096)
def _day_micros(text: str) -> int:
    """Of a day with four digits of a year; rows that stand together tend to have the same."""
    return (dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days * 86_400_000_000


def _zoned(text: str) -> str:
    """The server writes it in UTC: the session's time zone is set so."""
    if text in ("infinity", "-infinity"):
        return text
    day, _, rest = text.partition(" ")
    clock = rest.removesuffix(" BC").partition("+")[0]
    return f"{day}T{clock if '.' in clock else clock + '.000000'}Z"


def _interval(text: str) -> int:
    """In microseconds; a month is 30.4375 days, as Debezium counts."""
    total, words = 0.0, text.split()
    for number, unit in zip(words[::2], words[1::2], strict=False):
        factor = {"year": 365.25, "mon": 30.4375, "day": 1.0}.get(unit.rstrip("s"))
        if factor is not None:
            total += int(number) * factor * 86_400_000_000
    clock = [word for word in words if ":" in word]
    if clock:
        sign = -1 if clock[0].startswith("-") else 1
        total += sign * _time_micros(clock[0].lstrip("+-"))
    return round(total)


_TEXT: Final = ColumnType(s.STRING, str)
_PLAIN: Final[Mapping[int, ColumnType]] = {
    16: ColumnType(s.BOOLEAN, lambda text: text[0] == "t"),
    20: ColumnType(s.INT64, int),
    21: ColumnType(s.INT16, int),
    23: ColumnType(s.INT32, int),
    26: ColumnType(s.INT64, int),
    700: ColumnType(s.FLOAT32, lambda text: Float32(float(text))),
    701: ColumnType(s.FLOAT64, float),
    _BYTEA: ColumnType(s.BYTES, lambda text: bytes.fromhex(text[2:])),
    2950: ColumnType(UUID, str),
    114: ColumnType(JSON, str),
    3802: ColumnType(JSON, str),
    _TIMESTAMPTZ: ColumnType(ZONED_TIMESTAMP, _zoned),
    _TIMETZ: ColumnType(ZONED_TIME, str),
    _INTERVAL: ColumnType(Schema(Type.INT64, name="io.debezium.time.MicroDuration", version=1), _interval),
}


def unavailable(schema: Schema, handling: Handling) -> Any:
    """In place of a large value that the server did not send."""
    if schema.type is Type.BYTES and schema.name is None:
        return handling.placeholder.encode()
    if schema.type is Type.STRING:
        return handling.placeholder
    if (
        schema.type is Type.ARRAY
        and schema.value_schema is not None
        and schema.value_schema.type is Type.STRING
    ):
        return [handling.placeholder]
    return None if schema.optional else blank(schema)


def blank(schema: Schema) -> Any:
    """For a column that must not be null and whose value is not known: only the key of a row that is gone
    is."""
    if schema.name == s.DECIMAL_NAME:
        return Decimal((0, (0,), -s.decimal_scale(schema)))
    if schema.name in (s.DATE_NAME, s.TIME_NAME, s.TIMESTAMP_NAME):
        return EPOCH
    match schema.type:
        case Type.STRING:
            return ""
        case Type.BYTES:
            return b""
        case Type.BOOLEAN:
            return False
        case Type.FLOAT32 | Type.FLOAT64:
            return 0.0
        case Type.ARRAY:
            return []
        case Type.STRUCT:
            return _variable("0")
        case _:
            return 0
