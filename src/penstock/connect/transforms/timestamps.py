"""TimestampConverter: between text, numbers since 1970, and Connect's Date, Time and Timestamp."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from penstock.connect.data import schema as s
from penstock.connect.data.dates import DAY_MS, from_millis, to_millis
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.schema import Schema, Type
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConfigError, DataError
from penstock.connect.transforms.date_patterns import DatePattern
from penstock.connect.transforms.settings import Settings
from penstock.connect.transforms.transform import Side, basics, field_value, need_map, need_struct

PURPOSE: Final = "converting timestamp formats"
_LOGICAL: Final = {s.TIMESTAMP_NAME: "Timestamp", s.DATE_NAME: "Date", s.TIME_NAME: "Time"}
_SCHEMAS: Final = {
    "string": s.STRING,
    "unix": s.INT64,
    "Date": s.DATE,
    "Time": s.TIME,
    "Timestamp": s.TIMESTAMP,
}
_NEEDS_FORMAT: Final = (
    "TimestampConverter requires format option to be specified when using string timestamps"
)
_PER_SECOND: Final = {"seconds": 1, "milliseconds": 1000, "microseconds": 10**6, "nanoseconds": 10**9}


class TimestampConverter:
    def __init__(self, side: Side, settings: Settings) -> None:
        self._side = side
        self._field = settings.text("field", "") or ""
        self._target = settings.one_of("target.type", tuple(_SCHEMAS))
        self._per_second = _PER_SECOND[settings.one_of("unix.precision", tuple(_PER_SECOND), "milliseconds")]
        self._replaces_null = settings.flag("replace.null.with.default", True)
        pattern = settings.text("format", "") or ""
        if self._target == "string" and not pattern.strip():
            raise ConfigError("format", pattern, _NEEDS_FORMAT)
        self._pattern = DatePattern("format", pattern) if pattern.strip() else None

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        value, schema = self._side.value_of(record), self._side.schema_of(record)
        if schema is None:
            return self._side.changed(record, None, self._plain(value))
        if not self._field:
            changed = _typed(self._target, schema.optional)
            return self._side.changed(record, changed, self._converted(value, _kind_of(schema)))
        if value is not None:
            need_struct(value, PURPOSE)
        fields = {
            each.name: _typed(self._target, each.schema.optional) if each.name == self._field else each.schema
            for each in schema.fields
        }
        changed = replace(basics(schema).with_fields(fields), optional=schema.optional)
        if isinstance(schema.default, Struct):
            changed = changed.with_default(self._struct(schema.default, schema, changed))
        return self._side.changed(
            record, changed, None if value is None else self._struct(value, schema, changed)
        )

    def _plain(self, value: Any) -> Any:
        if value is None or not self._field:
            return self._converted(value, None)
        found = need_map(value, PURPOSE)
        return {**found, self._field: self._converted(found.get(self._field), None)}

    def _struct(self, value: Struct, schema: Schema, changed: Schema) -> Struct:
        values = {}
        for each in schema.fields:
            held = field_value(value, each.name, self._replaces_null)
            converts = each.name == self._field
            values[each.name] = self._converted(held, _kind_of(each.schema)) if converts else held
        return Struct(changed, values)

    def _converted(self, value: Any, kind: str | None) -> Any:
        if value is None:
            return None
        millis = self._millis(value, kind or _kind_of_value(value))
        match self._target:
            case "string":
                assert self._pattern is not None
                return self._pattern.format(millis)
            case "unix":
                return _scaled(millis, 1000, self._per_second)
            case "Date":
                return from_millis(millis // DAY_MS * DAY_MS)
            case "Time":
                return from_millis(millis % DAY_MS)
        return from_millis(millis)

    def _millis(self, value: Any, kind: str) -> int:
        if kind == "string":
            if not isinstance(value, str):
                raise DataError(f"Expected string timestamp to be a String, but found {type(value).__name__}")
            if self._pattern is None:
                raise DataError(_NEEDS_FORMAT)
            millis = self._pattern.parse(value)
            if millis is None:
                raise DataError(
                    f"Could not parse timestamp: value ({value}) does not match pattern "
                    f"({self._pattern.pattern})"
                )
            return millis
        if kind == "unix":
            if not isinstance(value, int) or isinstance(value, bool):
                raise DataError(f"Expected Unix timestamp to be a Long, but found {type(value).__name__}")
            return _scaled(value, self._per_second, 1000)
        if not isinstance(value, datetime):
            raise DataError(f"Expected {kind} to be a java.util.Date, but found {type(value).__name__}")
        return to_millis(value)


def _scaled(number: int, from_per_second: int, to_per_second: int) -> int:
    """As Java's TimeUnit: rounded towards zero, and stopped at the ends of a long."""
    scaled = number * to_per_second
    whole = abs(scaled) // from_per_second
    return max(min(whole if scaled >= 0 else -whole, 2**63 - 1), -(2**63))


def _typed(target: str, optional: bool) -> Schema:
    return _SCHEMAS[target].as_optional() if optional else _SCHEMAS[target]


def _kind_of(schema: Schema) -> str:
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name]
    if schema.type is Type.STRING:
        return "string"
    if schema.type is Type.INT64:
        return "unix"
    raise DataError(
        f"Schema Schema{{{schema.type.name}}} does not correspond to a known timestamp type format"
    )


def _kind_of_value(value: Any) -> str:
    if isinstance(value, datetime):
        return "Timestamp"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int) and not isinstance(value, bool):
        return "unix"
    raise DataError(f"TimestampConverter does not support {type(value).__name__} objects as timestamps")
