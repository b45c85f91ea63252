"""Columns of MariaDB and MySQL as Debezium has them. A column is known from the catalog or from the binary
log, which must carry full metadata; both give the same schema."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any, Final, NamedTuple

from penstock.connect.data import schema as s
from penstock.connect.data.dates import EPOCH
from penstock.connect.data.schema import Schema, Type
from penstock.connect.data.struct import Float32

_MICROSECOND: Final = dt.timedelta(microseconds=1)
_NAIVE: Final = dt.datetime(1970, 1, 1)
_LOG: Final = {
    1: "tinyint", 2: "smallint", 3: "int", 4: "float", 5: "double", 7: "timestamp", 8: "bigint",
    9: "mediumint", 10: "date", 11: "time", 12: "datetime", 13: "year", 16: "bit", 17: "timestamp",
    18: "datetime", 19: "time", 245: "json", 246: "decimal", 247: "enum", 248: "set",
}  # fmt: skip
_CATALOG: Final = {
    "char": "string", "varchar": "string", "tinytext": "string", "text": "string", "mediumtext": "string",
    "longtext": "string", "integer": "int", "numeric": "decimal", "real": "double",
}  # fmt: skip
_WHOLE: Final = {
    "tinyint": (s.INT16, s.INT16), "smallint": (s.INT16, s.INT32), "mediumint": (s.INT32, s.INT32),
    "int": (s.INT32, s.INT64), "bigint": (s.INT64, s.INT64),
}  # fmt: skip
"""With a sign, and without."""


def _named(kind: Type, name: str, **parameters: str) -> Schema:
    return Schema(kind, name=name, version=1, parameters=tuple(parameters.items()))


class Handling(NamedTuple):
    """How a connector wants some types."""

    decimals: str  # precise, double, string
    times: str  # adaptive_time_microseconds, connect
    unsigned_bigint: str  # long, precise


class Column(NamedTuple):
    name: str
    kind: str
    nullable: bool
    in_key: bool
    unsigned: bool = False
    scale: int = 0
    fsp: int = 0  # digits of a second's fraction
    bits: int = 0
    values: tuple[str, ...] = ()


def from_log(found: Any, *, nullable: bool) -> Column:
    """A column of a row event of mysql-replication."""
    kind = _LOG.get(found.type)
    if kind is None:
        kind = "bytes" if found.character_set_name in (None, "binary") else "string"
    values = tuple(found.enum_values[1:]) if kind == "enum" else ()
    return Column(
        found.name,
        kind,
        nullable,
        bool(found.is_primary),
        bool(found.unsigned),
        getattr(found, "decimals", 0) or 0,
        getattr(found, "fsp", 0) or 0,
        getattr(found, "bits", 0) or 0,
        tuple(found.set_values) if kind == "set" else values,
    )


def from_catalog(row: tuple[Any, ...]) -> Column:
    """NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, COLUMN_KEY, NUMERIC_PRECISION, NUMERIC_SCALE,
    DATETIME_PRECISION of the catalog."""
    name, data_type, column_type, nullable, key, precision, scale, fsp = row
    kind = _CATALOG.get(data_type, data_type)
    known = kind in _LOG.values() or kind == "string"
    return Column(
        name,
        kind if known else "bytes",
        nullable == "YES",
        key == "PRI",
        "unsigned" in column_type or kind == "year",
        int(scale or 0) if kind == "decimal" else 0,
        int(fsp or 0),
        int(precision or 0) if kind == "bit" else 0,
        tuple(_words(column_type)) if kind in ("enum", "set") else (),
    )


def _words(column_type: str) -> list[str]:
    """The words of `enum('a','it''s')`."""
    inner = column_type[column_type.index("(") + 1 : column_type.rindex(")")]
    words, word, inside, index = [], "", False, 0
    while index < len(inner):
        letter = inner[index]
        if letter == "'" and inside and inner[index + 1 : index + 2] == "'":
            word, index = word + "'", index + 1
        elif letter == "'":
            if inside:
                words.append(word)
            word, inside = "", not inside
        elif inside:
            word += letter
        index += 1
    return words


def column_schema(column: Column, handling: Handling) -> Schema:
    found = _schema(column, handling)
    return found.as_optional() if column.nullable else found


def _schema(column: Column, handling: Handling) -> Schema:
    connect = handling.times == "connect"
    match column.kind:
        case "bigint" if column.unsigned and handling.unsigned_bigint == "precise":
            return s.decimal_schema(0)
        case "tinyint" | "smallint" | "mediumint" | "int" | "bigint":
            return _WHOLE[column.kind][column.unsigned]
        case "float":
            return s.FLOAT32
        case "double":
            return s.FLOAT64
        case "decimal":
            plain = {"double": s.FLOAT64, "string": s.STRING}.get(handling.decimals)
            return plain or s.decimal_schema(column.scale)
        case "bit":
            return s.BOOLEAN if column.bits == 1 else _bits(column)
        case "enum":
            return _named(Type.STRING, "io.debezium.data.Enum", allowed=",".join(column.values))
        case "set":
            return _named(Type.STRING, "io.debezium.data.EnumSet", allowed=",".join(column.values))
        case "json":
            return _named(Type.STRING, "io.debezium.data.Json")
        case "date":
            return s.DATE if connect else _named(Type.INT32, "io.debezium.time.Date")
        case "time":
            return s.TIME if connect else _named(Type.INT64, "io.debezium.time.MicroTime")
        case "datetime":
            if connect:
                return s.TIMESTAMP
            return _named(Type.INT64, f"io.debezium.time.{'Micro' if column.fsp > 3 else ''}Timestamp")
        case "timestamp":
            return _named(Type.STRING, "io.debezium.time.ZonedTimestamp")
        case "year":
            return _named(Type.INT32, "io.debezium.time.Year")
    return s.BYTES if column.kind == "bytes" else s.STRING


def _bits(column: Column) -> Schema:
    return _named(Type.BYTES, "io.debezium.data.Bits", length=str(column.bits))


def column_value(column: Column, handling: Handling, value: Any) -> Any:
    """A value of PyMySQL or of a row event. A date that is none (0000-00-00) is null, or 1970."""
    if value is None:
        return None if column.nullable else _blank(column, handling)
    match column.kind:
        case "bigint" if handling.unsigned_bigint == "long":
            return int(value) - (1 << 64) if int(value) >= 1 << 63 else int(value)
        case "bigint" if column.unsigned:
            return Decimal(value)
        case "float":
            return Float32(value)
        case "decimal":
            return _decimal(handling.decimals, Decimal(value))
        case "bit":
            return _bit_value(column, value)
        case "set":
            chosen = value.split(",") if isinstance(value, str) else value
            return ",".join(each for each in column.values if each in chosen)
        case "json":
            return value if isinstance(value, str) else json.dumps(_texts(value), separators=(",", ":"))
        case "date" | "time" | "datetime" | "timestamp":
            return _moment(column, handling, value)
        case "bytes":
            return value.encode() if isinstance(value, str) else bytes(value)
        case "string":
            return value.decode(errors="replace") if isinstance(value, bytes) else value
    return value


def _decimal(mode: str, value: Decimal) -> Any:
    if mode == "double":
        return float(value)
    return f"{value:f}" if mode == "string" else value


def _texts(value: Any) -> Any:
    match value:
        case bytes():
            return value.decode(errors="replace")
        case dict():
            return {_texts(key): _texts(each) for key, each in value.items()}
        case list():
            return [_texts(each) for each in value]
    return value


def _bit_value(column: Column, value: Any) -> Any:
    number = int(value, 2) if isinstance(value, str) else int.from_bytes(value, "big")
    if column.bits == 1:
        return bool(number)
    return number.to_bytes((column.bits + 7) // 8, "little")


def _moment(column: Column, handling: Handling, value: Any) -> Any:
    connect = handling.times == "connect"
    if isinstance(value, str):  # a date that Python does not have
        return None if column.nullable else _blank(column, handling)
    if column.kind == "date":
        days = (value - dt.date(1970, 1, 1)).days
        return EPOCH + dt.timedelta(days=days) if connect else days
    if column.kind == "time":
        return EPOCH + value if connect else value // _MICROSECOND
    naive = value.replace(tzinfo=None)
    if column.kind == "timestamp":
        digits = f".{naive.microsecond:06d}"[: column.fsp + 1] if column.fsp else ""
        return f"{naive:%Y-%m-%dT%H:%M:%S}{digits}Z"
    micros = (naive - _NAIVE) // _MICROSECOND
    if connect:
        return EPOCH + micros * _MICROSECOND
    return micros if column.fsp > 3 else micros // 1000


def _blank(column: Column, handling: Handling) -> Any:
    """For a value that must not be null and that the server itself shows as none."""
    if column.kind in ("date", "datetime", "time"):
        return EPOCH if handling.times == "connect" else 0
    return "1970-01-01T00:00:00Z" if column.kind == "timestamp" else None
