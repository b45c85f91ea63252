"""Flatten: fields of fields become fields of one struct or map, their names joined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from penstock.connect.data.inference import infer
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.schema import Schema, Type
from penstock.connect.data.struct import Struct
from penstock.connect.errors import DataError
from penstock.connect.transforms.settings import Settings
from penstock.connect.transforms.transform import Side, basics, need_map, need_struct

PURPOSE: Final = "flattening"


class Flatten:
    def __init__(self, side: Side, settings: Settings) -> None:
        self._side = side
        self._delimiter = settings.text("delimiter", ".") or ""

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        value, schema = self._side.value_of(record), self._side.schema_of(record)
        if value is None:
            return record
        if schema is None:
            flat: dict[str, Any] = {}
            self._flatten_map(need_map(value, PURPOSE), "", flat)
            return self._side.changed(record, None, flat)
        struct = need_struct(value, PURPOSE)
        fields: dict[str, Schema] = {}
        self._flatten_schema(schema, "", fields, optional=schema.optional, default=schema.default)
        changed = basics(schema).with_fields(fields)
        values: dict[str, Any] = {}
        self._flatten_struct(struct, schema, "", values)
        return self._side.changed(record, changed, Struct(changed, values))

    def _name(self, prefix: str, name: str) -> str:
        return prefix + self._delimiter + name if prefix else name

    def _flatten_map(self, value: dict[str, Any], prefix: str, into: dict[str, Any]) -> None:
        for key, each in value.items():
            name = self._name(prefix, key)
            if isinstance(each, dict):
                self._flatten_map(each, name, into)
            elif each is None or isinstance(each, list) or infer(each) is not None:
                into[name] = each
            else:
                raise DataError(
                    f"Flatten transformation was passed a value of type {type(each).__name__} which is not "
                    "supported "
                    "by Connect's data API"
                )

    def _flatten_schema(
        self, schema: Schema, prefix: str, into: dict[str, Schema], *, optional: bool, default: Any
    ) -> None:
        """A field inside something optional is optional; a default of the whole struct has a part for it."""
        for each in schema.fields:
            name = self._name(prefix, each.name)
            inner_optional = optional or each.schema.optional
            inner_default = default.get(each.name) if isinstance(default, Struct) else None
            if inner_default is None and each.schema.has_default:
                inner_default = each.schema.default
            if each.schema.type is Type.MAP:
                raise DataError(
                    f"Flatten transformation does not support MAP for record with schemas (for field {name})."
                )
            if each.schema.type is Type.STRUCT:
                self._flatten_schema(each.schema, name, into, optional=inner_optional, default=inner_default)
            else:
                if name in into:
                    raise DataError(f"Cannot create field because of field name duplication {name}")
                plain = replace(each.schema, optional=inner_optional, default=None, has_default=False)
                into[name] = plain if inner_default is None else plain.with_default(inner_default)

    def _flatten_struct(
        self, value: Struct | None, schema: Schema, prefix: str, into: dict[str, Any]
    ) -> None:
        if value is None:
            return
        for each in schema.fields:
            name = self._name(prefix, each.name)
            held = value.get(each.name)
            if each.schema.type is Type.STRUCT:
                self._flatten_struct(held, each.schema, name, into)
            else:
                into[name] = held
