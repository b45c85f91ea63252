"""Cast: fields, or the whole key or value, to another primitive type, with Java's conversions."""

from __future__ import annotations

import base64
import math
import re
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from penstock.connect.data import schema as s
from penstock.connect.data.dates import DAY_MS, to_millis
from penstock.connect.data.inference import infer
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.schema import INTEGER_BITS, Schema, Type
from penstock.connect.data.struct import Float32, Struct
from penstock.connect.data.text import date_text
from penstock.connect.errors import ConfigError, DataError
from penstock.connect.transforms.settings import Settings
from penstock.connect.transforms.transform import Side, basics, field_value, need_map, need_struct
from penstock.expressions.numbers import java_double_text

PURPOSE: Final = "cast types"
_TYPES: Final = {
    "int8": Type.INT8,
    "int16": Type.INT16,
    "int32": Type.INT32,
    "int64": Type.INT64,
    "float32": Type.FLOAT32,
    "float64": Type.FLOAT64,
    "boolean": Type.BOOLEAN,
    "string": Type.STRING,
}
_INTEGER: Final = re.compile(r"[+-]?\d+")
_FLOAT: Final = re.compile(r"\s*[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[fFdD]?)\s*")


class Cast:
    def __init__(self, side: Side, settings: Settings) -> None:
        self._side = side
        self._whole: Type | None = None
        self._fields: dict[str, Type] = {}
        self._replaces_null = settings.flag("replace.null.with.default", True)
        for each in settings.texts("spec", needed=True):
            name, separator, kind = each.rpartition(":")
            if separator:
                self._fields[name] = _target(each, kind)
            else:
                self._whole = _target(each, kind)
        if not self._whole and not self._fields:
            raise ConfigError("spec", [], "Must specify at least one field to cast.")
        if self._whole and self._fields:
            raise ConfigError(
                "spec",
                settings.texts("spec"),
                "Cast transformations that specify a type to cast the entire value "
                "to may ony specify a single cast in their spec",
            )

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        value, schema = self._side.value_of(record), self._side.schema_of(record)
        if value is None:
            return record
        if schema is None:
            return self._side.changed(record, None, self._plain(value))
        if self._whole is not None:
            changed = replace(  # as in Kafka, a name stays, also where it no longer fits
                _cast_schema(schema, self._whole),
                name=schema.name,
                version=schema.version,
                doc=schema.doc,
                parameters=schema.parameters,
            )
            return self._side.changed(record, changed, cast(schema, value, self._whole))
        struct = need_struct(value, PURPOSE)
        changed = self._struct_schema(schema)
        values = {}
        for each in schema.fields:
            held = field_value(struct, each.name, self._replaces_null)
            target = self._fields.get(each.name)
            values[each.name] = held if target is None else cast(each.schema, held, target)
        return self._side.changed(record, changed, Struct(changed, values))

    def _plain(self, value: Any) -> Any:
        if self._whole is not None:
            return cast(None, value, self._whole)
        plain = need_map(value, PURPOSE)
        return {**plain, **{name: cast(None, plain.get(name), kind) for name, kind in self._fields.items()}}

    def _struct_schema(self, schema: Schema) -> Schema:
        fields = {
            each.name: _cast_schema(each.schema, self._fields[each.name])
            if each.name in self._fields
            else each.schema
            for each in schema.fields
        }
        return replace(basics(schema).with_fields(fields), optional=schema.optional)


def cast(schema: Schema | None, value: Any, target: Type) -> Any:
    """One value. Numbers wrap and cut as in Java; what cannot be a number is a `DataError`."""
    if value is None:
        return None
    known = infer(value) if schema is None else schema
    if known is None or not known.type.is_primitive:
        kind = type(value).__name__ if known is None else known.type.name
        raise DataError(f"Cast transformation does not support casting to/from {kind}")
    if isinstance(value, datetime) and target is not Type.STRING:
        value = to_millis(value) // (DAY_MS if schema is not None and schema.name == s.DATE_NAME else 1)
    try:
        return _CASTS[target](value, target)
    except ValueError:
        raise DataError(f"Value ({value}) was out of range for requested data type") from None


def _integer(value: Any, target: Type) -> int:
    bits = INTEGER_BITS[target]
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        if not _INTEGER.fullmatch(value) or not -(1 << bits - 1) <= int(value) < 1 << bits - 1:
            raise ValueError(value)
        return int(value)
    if isinstance(value, Decimal):
        value = int(value)
    elif isinstance(value, float):
        value = _from_float(value, 64 if target is Type.INT64 else 32)
    elif not isinstance(value, int):
        raise _unexpected(value)
    return int((value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1))


def _from_float(value: float, bits: int) -> int:
    """Java stops at the ends of the type, and NaN is zero."""
    if math.isnan(value):
        return 0
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(int(value), low), high)


def _float(value: Any, target: Type) -> float:
    number: float
    if isinstance(value, str):
        if not _FLOAT.fullmatch(value):
            raise ValueError(value)
        number = float(value.strip().rstrip("fFdD") if value.strip()[-1:] in "fFdD" else value)
    elif isinstance(value, (bool, int, float, Decimal)):
        number = float(value)
    else:
        raise _unexpected(value)
    return Float32(number) if target is Type.FLOAT32 else float(number)


def _boolean(value: Any, target: Type) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.lower() == "true"
    if isinstance(value, float):
        return _from_float(value, 64) != 0
    if isinstance(value, (int, Decimal)):
        return int(value) != 0
    raise _unexpected(value)


def _string(value: Any, target: Type) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case Float32():
            return str(value)
        case float():
            return java_double_text(value)
        case bytes():
            return base64.b64encode(value).decode()
        case datetime():
            return date_text(value)
        case Decimal():
            return str(value)
        case _:
            return str(value)


_CASTS: Final = {
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64), _integer),
    Type.FLOAT32: _float,
    Type.FLOAT64: _float,
    Type.BOOLEAN: _boolean,
    Type.STRING: _string,
}


def _cast_schema(schema: Schema, target: Type) -> Schema:
    """Only whether it is optional, and its default, stay."""
    changed = Schema(target, optional=schema.optional)
    if schema.has_default and schema.default is not None:
        changed = changed.with_default(cast(schema, schema.default, target))
    return changed


def _target(spec: str, name: str) -> Type:
    if name.strip().lower() not in _TYPES:
        raise ConfigError("spec", spec, f"Cast transformation does not support casting to/from {name}")
    return _TYPES[name.strip().lower()]


def _unexpected(value: Any) -> DataError:
    return DataError(f"Unexpected type in Cast transformation: {type(value).__name__}")
