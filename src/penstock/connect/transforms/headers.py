"""Transforms of headers: HeaderFrom, InsertHeader, DropHeaders."""

from __future__ import annotations

from typing import Any, Final

from penstock.connect.data.literals import parse_literal
from penstock.connect.data.record import ConnectRecord, Header
from penstock.connect.data.struct import Struct
from penstock.connect.errors import ConfigError, DataError
from penstock.connect.transforms.settings import Settings
from penstock.connect.transforms.transform import Side, basics, field_value, need_map, need_struct


class HeaderFrom:
    """Move or copy fields of the key or value into headers."""

    PURPOSE: Final = "header from"

    def __init__(self, side: Side, settings: Settings) -> None:
        self._side = side
        self._fields = settings.texts("fields", needed=True)
        self._headers = settings.texts("headers", needed=True)
        self._moves = settings.one_of("operation", ("move", "copy")) == "move"
        self._replaces_null = settings.flag("replace.null.with.default", True)
        if not self._fields:
            raise ConfigError("fields", [], "Empty list")
        if len(self._fields) != len(self._headers):
            raise ConfigError(
                "fields",
                self._fields,
                "'fields' config must have the same number of elements as 'headers' config.",
            )

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        value, schema = self._side.value_of(record), self._side.schema_of(record)
        pairs = list(zip(self._fields, self._headers, strict=True))
        if schema is None:
            plain = need_map(value, "headers")
            added = [Header(header, plain.get(name)) for name, header in pairs]
            left = {name: each for name, each in plain.items() if not (self._moves and name in self._fields)}
            return self._side.changed(record.with_headers((*record.headers, *added)), None, left)
        struct = need_struct(value, "headers")
        added = []
        for name, header in pairs:
            field = schema.field(name)
            if field is None:
                raise DataError(f"Field {name} does not exist in the schema")
            added.append(Header(header, field_value(struct, name, self._replaces_null), field.schema))
        moved = record.with_headers((*record.headers, *added))
        if not self._moves:
            return self._side.changed(moved, schema, struct)
        kept = [each for each in schema.fields if each.name not in self._fields]
        changed = basics(schema).with_fields({each.name: each.schema for each in kept})
        values: dict[str, Any] = {
            each.name: field_value(struct, each.name, self._replaces_null) for each in kept
        }
        return self._side.changed(moved, changed, Struct(changed, values))


class InsertHeader:
    """A header with a fixed value, whose type is read off its text."""

    def __init__(self, side: Side, settings: Settings) -> None:
        self._header = settings.non_empty("header")
        self._schema, self._value = parse_literal(settings.needed("value.literal"))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        return record.with_headers((*record.headers, Header(self._header, self._value, self._schema)))


class DropHeaders:
    def __init__(self, side: Side, settings: Settings) -> None:
        self._headers = frozenset(settings.texts("headers", needed=True))

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        return record.with_headers(tuple(each for each in record.headers if each.key not in self._headers))
