"""Types of columns as Connect's schemas, and the other way round.

`numeric.mapping` decides what NUMERIC becomes, with Confluent's rules. A type that Connect does not have
(JSON, UUID, enumerations, intervals, addresses) becomes text.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from penstock.connect.data import schema as s
from penstock.connect.data.dates import EPOCH
from penstock.connect.data.schema import Schema, Type
from penstock.connect.data.struct import Float32
from penstock.connect.errors import ConnectError

UNKNOWN_SCALE: Final = 127
"""The scale of a NUMERIC that was declared without one, as Confluent has it."""
_INTEGERS: Final = ((2, s.INT8), (4, s.INT16), (9, s.INT32), (18, s.INT64))

Reading = Callable[[Any], Any]
"""A value of the driver as Connect's value."""


class Column(NamedTuple):
    """How a column is read."""

    name: str
    schema: Schema
    reading: Reading | None  # None: as the driver gives it


def column(name: str, kind: Any, nullable: bool, numeric: str, zone: ZoneInfo) -> Column:
    schema, reading = _read_as(kind, numeric, zone)
    return Column(name, schema.as_optional() if nullable else schema, reading)


def _read_as(kind: Any, numeric: str, zone: ZoneInfo) -> tuple[Schema, Reading | None]:
    match kind:
        case sa.Boolean():
            return s.BOOLEAN, bool
        case mysql.BIT():
            return (s.BOOLEAN, lambda v: v != b"\0") if kind.length in (None, 1) else (s.BYTES, bytes)
        case mysql.TINYINT():
            return (s.INT16 if kind.unsigned else s.INT8), None
        case sa.SmallInteger():
            return (s.INT32 if getattr(kind, "unsigned", False) else s.INT16), None
        case sa.BigInteger():
            if getattr(kind, "unsigned", False):
                return s.decimal_schema(0), Decimal
            return s.INT64, None
        case sa.Integer():
            return (s.INT64 if getattr(kind, "unsigned", False) else s.INT32), None
        case sa.REAL():
            return s.FLOAT32, Float32
        case mysql.FLOAT():
            return s.FLOAT32, Float32
        case sa.Float():
            return s.FLOAT64, float
        case sa.Numeric():
            return _numeric(kind.precision, kind.scale, numeric)
        case sa.Date():
            return s.DATE, lambda v: EPOCH + (v - EPOCH.date())
        case sa.DateTime():
            return s.TIMESTAMP, lambda v: in_utc(v, zone)
        case sa.Time():
            return s.TIME, _time
        case mysql.TIME():
            return s.TIME, _time
        case sa.LargeBinary():
            return s.BYTES, bytes
        case sa.ARRAY():
            element, inner = _read_as(kind.item_type, numeric, zone)
            return s.array_schema(element.as_optional()), lambda v: [_each(inner, each) for each in v]
        case sa.String():
            return s.STRING, str
        case _:
            return s.STRING, _text


def _each(reading: Reading | None, value: Any) -> Any:
    return value if value is None or reading is None else reading(value)


def _numeric(precision: int | None, scale: int | None, mapping: str) -> tuple[Schema, Reading | None]:
    places = UNKNOWN_SCALE if scale is None else scale
    fits = precision is not None and 0 < precision <= 18
    if places == 0 and fits and mapping != "none":
        return next(schema for digits, schema in _INTEGERS if (precision or 0) <= digits), int
    if places > 0 and (mapping == "best_fit_eager_double" or (mapping == "best_fit" and fits)):
        return s.FLOAT64, float
    return s.decimal_schema(places), lambda v: scaled(v, places)


def scaled(value: Any, scale: int) -> Decimal:
    """With exactly so many places: digits beyond are cut off, missing ones are zeros."""
    sign, digits, exponent = Decimal(value).as_tuple()
    number = int("".join(map(str, digits)) or "0")
    shift = int(exponent) + scale
    number = number * 10**shift if shift >= 0 else number // 10**-shift
    return Decimal((sign, tuple(map(int, str(number))), -scale))


def in_utc(value: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    if value.tzinfo is None:
        if zone.key == "UTC":  # much quicker than a look into the zone's table
            return value.replace(tzinfo=dt.UTC)
        value = value.replace(tzinfo=zone)
    return value.astimezone(dt.UTC)


def _time(value: Any) -> dt.datetime:
    if isinstance(value, dt.timedelta):  # MariaDB's
        return EPOCH + value
    return dt.datetime.combine(EPOCH.date(), value.replace(tzinfo=None), tzinfo=dt.UTC)


def _text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


_PLAIN_TYPES: Final = {
    Type.INT8: sa.SmallInteger,
    Type.INT16: sa.SmallInteger,
    Type.INT32: sa.Integer,
    Type.INT64: sa.BigInteger,
    Type.FLOAT32: sa.REAL,
    Type.FLOAT64: sa.Double,
    Type.BOOLEAN: sa.Boolean,
    Type.STRING: sa.Text,
    Type.BYTES: sa.LargeBinary,
}
_MYSQL_TYPES: Final = {
    Type.INT8: mysql.TINYINT,
    Type.FLOAT32: mysql.FLOAT,
    Type.FLOAT64: mysql.DOUBLE,
    Type.BYTES: mysql.LONGBLOB,
    Type.STRING: mysql.LONGTEXT,
}


def sql_type(schema: Schema, dialect: str, *, in_key: bool) -> Any:
    """The type of a column that is made for a field. ConnectError where a database has none."""
    on_mysql = dialect == "mysql"
    if schema.name == s.DECIMAL_NAME:
        return sa.Numeric(65, s.decimal_scale(schema)) if on_mysql else sa.Numeric()
    if schema.name == s.DATE_NAME:
        return sa.Date()
    if schema.name == s.TIME_NAME:
        return mysql.TIME(fsp=3) if on_mysql else sa.Time()
    if schema.name == s.TIMESTAMP_NAME:
        return mysql.DATETIME(fsp=3) if on_mysql else sa.DateTime()
    if on_mysql and in_key and schema.type in (Type.STRING, Type.BYTES):
        return sa.String(255) if schema.type is Type.STRING else sa.VARBINARY(255)
    made = (_MYSQL_TYPES if on_mysql else {}).get(schema.type) or _PLAIN_TYPES.get(schema.type)
    if made is None:
        shown = schema.name or schema.type.name
        raise ConnectError(f"({shown}) type doesn't have a mapping to the SQL database column type")
    return made()


def sql_value(schema: Schema, value: Any, zone: ZoneInfo) -> Any:
    """A value of Connect as the driver takes it."""
    if value is None:
        return None
    if schema.name == s.DATE_NAME:
        return value.date()
    if schema.name == s.TIME_NAME:
        return value.time()
    if schema.name == s.TIMESTAMP_NAME:
        return value.astimezone(zone).replace(tzinfo=None)
    if schema.type is Type.ARRAY:
        element = schema.value_schema or replace(s.STRING)
        return [sql_value(element, each, zone) for each in value]
    return value
