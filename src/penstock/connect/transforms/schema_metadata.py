"""SetSchemaMetadata: another name or version for a schema."""

from __future__ import annotations

from dataclasses import replace

from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.struct import Struct
from penstock.connect.errors import DataError
from penstock.connect.transforms.settings import Settings
from penstock.connect.transforms.transform import Side


class SetSchemaMetadata:
    def __init__(self, side: Side, settings: Settings) -> None:
        self._side = side
        self._name = settings.text("schema.name")
        self._version = settings.whole("schema.version")

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        value, schema = self._side.value_of(record), self._side.schema_of(record)
        if schema is None and value is None:
            return record
        if schema is None:
            raise DataError("Schema required for [updating schema metadata]")
        changed = replace(
            schema,
            name=schema.name if self._name is None else self._name,
            version=schema.version if self._version is None else self._version,
        )
        if isinstance(value, Struct):
            value = Struct(changed, value.values)
        return self._side.changed(record, changed, value)
