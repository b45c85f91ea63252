"""Records as rows: which table, which columns, what the primary key is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from penstock.connect.connectors.jdbc.column_types import sql_value
from penstock.connect.connectors.jdbc.sink import KAFKA_FIELDS
from penstock.connect.data import schema as s
from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.schema import Schema, Type
from penstock.connect.data.struct import Struct
from penstock.connect.errors import DataError


class Shape(NamedTuple):
    """The columns that records of one pair of schemas have; rows of one shape go into one statement."""

    table: str
    key: tuple[str, ...]
    columns: tuple[tuple[str, Schema], ...]
    """All columns, those of the key first."""
    is_delete: bool = False

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.columns]


class Rows:
    """Records to shapes and values, by the settings of a sink."""

    def __init__(self, settings: Mapping[str, Any], zone: ZoneInfo) -> None:
        self._format: str = settings["table.name.format"]
        self._pk: str = settings["pk.mode"].lower()
        self._pk_fields: list[str] = settings["pk.fields"]
        self._wanted: list[str] = settings["fields.whitelist"]
        self._deletes: bool = settings["delete.enabled"]
        self._zone = zone
        self._shapes: dict[tuple[str, Schema | None, Schema | None], Shape] = {}
        self._last: tuple[str, Schema | None, Schema | None, Shape] | None = None

    def of(self, record: ConnectRecord) -> tuple[Shape, dict[str, Any]]:
        """DataError for a record that has no row."""
        if record.value is None and not self._deletes:
            self._refuse(record, "null value")
        if record.value is not None and not isinstance(record.value, Struct):
            self._refuse(record, "a value that is no struct with a schema")
        value_schema = record.value_schema if record.value is not None else None
        if not self._like_last(record.topic, record.key_schema, value_schema):
            known = (record.topic, record.key_schema, value_schema)
            shape = self._shapes.get(known)
            if shape is None:
                shape = self._shapes[known] = self._shape(record)
            self._last = (*known, shape)
        assert self._last is not None
        return self._last[3], self._values(self._last[3], record)

    def _like_last(self, topic: str, key: Schema | None, value: Schema | None) -> bool:
        """Most records have the very schemas of the one before: hashing those takes longer than all else."""
        last = self._last
        return last is not None and last[1] is key and last[2] is value and last[0] == topic

    def _refuse(self, record: ConnectRecord, what: str) -> None:
        raise DataError(
            f"Sink connector with 'delete.enabled={str(self._deletes).lower()}' and "
            f"'pk.mode={self._pk}' requires "
            f"records with a non-null Struct value and non-null Struct schema, but found record at (topic="
            f"'{record.topic}',partition={record.partition},offset={record.offset}) with {what}"
        )

    def _shape(self, record: ConnectRecord) -> Shape:
        key = self._key_schemas(record)
        columns = dict(key)
        if record.value is not None:
            for field in record.value.schema.fields:
                if field.name not in columns and (not self._wanted or field.name in self._wanted):
                    columns[field.name] = field.schema
        table = self._format.replace("${topic}", record.topic)
        return Shape(table, tuple(key), tuple(columns.items()), record.value is None)

    def _key_schemas(self, record: ConnectRecord) -> dict[str, Schema]:
        if self._pk == "none":
            return {}
        if self._pk == "kafka":
            names = self._pk_fields or list(KAFKA_FIELDS)
            return dict(zip(names, (s.STRING, s.INT32, s.INT64), strict=True))
        given = record.key if self._pk == "record_key" else record.value
        schema = record.key_schema if self._pk == "record_key" else record.value_schema
        if schema is None or given is None:
            raise DataError(
                f"pk.mode={self._pk} needs records with a {self._pk[7:]} that has a schema ({record.topic})"
            )
        if schema.type is not Type.STRUCT:
            if len(self._pk_fields) != 1:
                raise DataError("a key that is no struct needs exactly one name in pk.fields")
            return {self._pk_fields[0]: schema}
        names = self._pk_fields or [field.name for field in schema.fields]
        missing = [name for name in names if schema.field(name) is None]
        if missing:
            raise DataError(
                f"the {self._pk[7:]} of {record.topic} has no field {', '.join(missing)} (pk.fields)"
            )
        return {name: field.schema for name in names if (field := schema.field(name))}

    def _values(self, shape: Shape, record: ConnectRecord) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if self._pk == "kafka":
            values = dict(zip(shape.key, (record.topic, record.partition, record.offset), strict=True))
        elif self._pk == "record_key" and not isinstance(record.key, Struct):
            values = {shape.key[0]: record.key}
        for name, schema in shape.columns:
            if name not in values:
                from_key = self._pk == "record_key" and name in shape.key
                values[name] = sql_value(
                    schema, (record.key if from_key else record.value).get(name), self._zone
                )
        return values
