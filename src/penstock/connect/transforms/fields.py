"""Transforms that choose, rename, lift and mask fields: ReplaceField, MaskField, ExtractField, HoistField,
ValueToKey."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from penstock.connect.data.dates import EPOCH
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.schema import Schema, Type, struct_schema, unique
from penstock.connect.data.struct import Float32, Struct
from penstock.connect.errors import ConfigError, DataError
from penstock.connect.transforms.paths import FieldPath
from penstock.connect.transforms.settings import Settings
from penstock.connect.transforms.transform import Side, basics, field_value, need_map, need_struct


class ReplaceField:
    """Keep, drop and rename fields. `include`, `exclude`, `renames` (a:b,c:d); the old `whitelist` and
    `blacklist` mean include and exclude."""

    PURPOSE: Final = "field replacement"

    def __init__(self, side: Side, settings: Settings) -> None:
        self._side = side
        self._include = frozenset(settings.texts("include") or settings.texts("whitelist"))
        self._exclude = frozenset(settings.texts("exclude") or settings.texts("blacklist"))
        self._renames = dict(_rename(each) for each in settings.texts("renames"))
        self._replaces_null = settings.flag("replace.null.with.default", True)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        value, schema = self._side.value_of(record), self._side.schema_of(record)
        if value is None:
            return record
        if schema is None:
            kept = {name: each for name, each in need_map(value, self.PURPOSE).items() if self._keeps(name)}
            renamed = {self._renames.get(name, name): each for name, each in kept.items()}
            return self._side.changed(record, None, renamed)
        struct = need_struct(value, self.PURPOSE)
        kept_fields = [each for each in schema.fields if self._keeps(each.name)]
        changed = basics(schema).with_fields(
            unique((self._renames.get(each.name, each.name), each.schema) for each in kept_fields)
        )
        values = {
            self._renames.get(each.name, each.name): field_value(struct, each.name, self._replaces_null)
            for each in kept_fields
        }
        return self._side.changed(record, changed, Struct(changed, values))

    def _keeps(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)


def _rename(text: str) -> tuple[str, str]:
    old, separator, new = text.partition(":")
    if not separator or ":" in new:
        raise ConfigError("renames", [text], f"Invalid rename mapping: {text}")
    return old, new


class MaskField:
    """Replace fields by nothing of their type, or by `replacement`."""

    PURPOSE: Final = "mask fields"

    def __init__(self, side: Side, settings: Settings) -> None:
        self._side = side
        self._fields = frozenset(settings.texts("fields", needed=True))
        if not self._fields:
            raise ConfigError("fields", [], "Empty list")
        self._replacement = settings.text("replacement")
        if self._replacement == "":
            raise ConfigError("replacement", "", "String must be non-empty")
        self._replaces_null = settings.flag("replace.null.with.default", True)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        value, schema = self._side.value_of(record), self._side.schema_of(record)
        if schema is None:
            plain = need_map(value, self.PURPOSE)
            masked = {name: self._masked(None, plain.get(name)) for name in self._fields}
            return self._side.changed(record, None, {**plain, **masked})
        struct = need_struct(value, self.PURPOSE)
        values = {}
        for each in schema.fields:
            held = field_value(struct, each.name, self._replaces_null)
            values[each.name] = self._masked(each.schema, held) if each.name in self._fields else held
        return self._side.changed(record, schema, Struct(schema, values))

    def _masked(self, schema: Schema | None, value: Any) -> Any:
        if value is None:
            return None
        return (
            _nothing(value) if self._replacement is None else self._replaced(schema, value, self._replacement)
        )

    def _replaced(self, schema: Schema | None, value: Any, text: str) -> Any:
        if isinstance(value, str):
            return text
        try:
            if isinstance(value, Decimal):
                return Decimal(text)
            if isinstance(value, Float32):
                return Float32(_java_float(text))
            if isinstance(value, float):
                return _java_float(text)
            if isinstance(value, int) and not isinstance(value, bool):
                return _java_int(text, schema.type if schema is not None else Type.INT64)
        except (ValueError, InvalidOperation):
            raise DataError(f"Unable to convert {text} ({type(value).__name__}) to number") from None
        raise DataError(f"Cannot mask value of type {type(value).__name__} with custom replacement.")


def _nothing(value: Any) -> Any:
    """Zero, false, empty: the value that says nothing, of the same type."""
    match value:
        case bool():
            return False
        case int():
            return 0
        case Float32():
            return Float32(0.0)
        case float():
            return 0.0
        case Decimal():
            return Decimal(0)
        case datetime():
            return EPOCH
        case str():
            return ""
        case list():
            return []
        case dict():
            return {}
    raise DataError(f"Cannot mask value of type: {type(value).__name__}")


_BITS: Final = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}


def _java_int(text: str, kind: Type) -> int:
    """As Connect's `Values` does it: read as a long, the low bits kept."""
    number = int(text)
    if "_" in text or text != text.strip() or not -(2**63) <= number < 2**63:
        raise ValueError(text)
    bits = _BITS[kind]
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _java_float(text: str) -> float:
    if "_" in text or (
        text.strip().lower().lstrip("+-") in ("inf", "nan", "infinity")
        and text.strip().lstrip("+-")
        not in (
            "NaN",
            "Infinity",
        )
    ):
        raise ValueError(text)
    return float(text.strip().rstrip("dDfF"))


class ExtractField:
    """The record becomes one of its fields."""

    PURPOSE: Final = "field extraction"

    def __init__(self, side: Side, settings: Settings) -> None:
        self._side = side
        self._path = FieldPath.of(settings.needed("field"), settings)
        self._replaces_null = settings.flag("replace.null.with.default", True)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        value, schema = self._side.value_of(record), self._side.schema_of(record)
        if schema is None:
            found = None if value is None else self._path.value_in_map(need_map(value, self.PURPOSE))
            return self._side.changed(record, None, found)
        field = self._path.field_of(schema)
        if field is None:
            raise DataError(f"Unknown field: {self._path.text}")
        held = (
            None
            if value is None
            else self._path.value_in_struct(need_struct(value, self.PURPOSE), self._replaces_null)
        )
        return self._side.changed(record, field.schema, held)


class HoistField:
    """The record becomes a struct or map with one field, which is the record."""

    def __init__(self, side: Side, settings: Settings) -> None:
        self._side = side
        self._field = settings.needed("field")

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        value, schema = self._side.value_of(record), self._side.schema_of(record)
        if schema is None:
            return self._side.changed(record, None, {self._field: value})
        hoisted = struct_schema({self._field: schema})
        return self._side.changed(record, hoisted, Struct(hoisted, {self._field: value}))


class ValueToKey:
    """The key becomes a struct or map of fields of the value."""

    PURPOSE: Final = "copying fields from value to key"

    def __init__(self, side: Side, settings: Settings) -> None:
        self._fields = settings.texts("fields", needed=True)
        if not self._fields:
            raise ConfigError("fields", [], "Empty list")
        self._replaces_null = settings.flag("replace.null.with.default", True)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        if record.value_schema is None:
            value = need_map(record.value, self.PURPOSE)
            return replace(record, key_schema=None, key={name: value.get(name) for name in self._fields})
        struct = need_struct(record.value, self.PURPOSE)
        found = {}
        for name in self._fields:
            field = record.value_schema.field(name)
            if field is None:
                raise DataError(f"Field does not exist: {name}")
            found[name] = field.schema
        schema = struct_schema(found)
        key = Struct(schema, {name: field_value(struct, name, self._replaces_null) for name in self._fields})
        return replace(record, key_schema=schema, key=key)


Make = Callable[[Side, Settings], Any]
