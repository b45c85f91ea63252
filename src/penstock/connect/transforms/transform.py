"""What a transform is, and the two sides of a record that it can work on.

A transform is a frozen object with `apply(record)`, which returns another record, or None to drop it. Most
exist twice in Kafka, as `…$Key` and `…$Value`: here the side is a parameter.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any, Protocol

from penstock.connect.data.record import ConnectRecord
from penstock.connect.data.schema import Schema
from penstock.connect.data.struct import Struct
from penstock.connect.errors import DataError


class Transform(Protocol):
    def apply(self, record: ConnectRecord) -> ConnectRecord | None: ...


class Side(Enum):
    KEY = "Key"
    VALUE = "Value"

    def schema_of(self, record: ConnectRecord) -> Schema | None:
        return record.key_schema if self is Side.KEY else record.value_schema

    def value_of(self, record: ConnectRecord) -> Any:
        return record.key if self is Side.KEY else record.value

    def changed(self, record: ConnectRecord, schema: Schema | None, value: Any) -> ConnectRecord:
        if self is Side.KEY:
            return replace(record, key_schema=schema, key=value)
        return replace(record, value_schema=schema, value=value)


def need_map(value: Any, purpose: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(
            f"Only Map objects supported in absence of schema for [{purpose}], found: {_class(value)}"
        )
    return value


def need_struct(value: Any, purpose: str) -> Struct:
    if not isinstance(value, Struct):
        raise DataError(f"Only Struct objects supported for [{purpose}], found: {_class(value)}")
    return value


def basics(schema: Schema) -> Schema:
    """A struct with the same name, version, doc and parameters; as in Kafka, no longer optional."""
    return replace(schema, optional=False, default=None, has_default=False, fields=())


def field_value(struct: Struct, name: str, replaces_null: bool) -> Any:
    return struct.get(name) if replaces_null else struct.get_without_default(name)


_NAMES = {
    str: "java.lang.String",
    bool: "java.lang.Boolean",
    int: "java.lang.Long",
    float: "java.lang.Double",
    list: "java.util.ArrayList",
    dict: "java.util.HashMap",
    Struct: "org.apache.kafka.connect.data.Struct",
}


def _class(value: Any) -> str:
    return "null" if value is None else _NAMES.get(type(value), type(value).__name__)
