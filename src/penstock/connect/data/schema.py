"""Connect's schemas: a type, whether null is allowed, a default, a name, and the schemas of what is inside.

Logical types (Decimal, Date, Time, Timestamp) are schemas with a name over a plain type; their values are
`decimal.Decimal` and `datetime` objects in UTC, where Java has BigDecimal and java.util.Date.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, Final

from penstock.connect.errors import DataError


class Type(Enum):
    """Connect's types, named as its JSON names them."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"

    @property
    def is_primitive(self) -> bool:
        return self not in (Type.ARRAY, Type.MAP, Type.STRUCT)


INTEGER_BITS: Final = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}


@dataclass(frozen=True)
class Field:
    name: str
    index: int
    schema: Schema


@dataclass(frozen=True)
class Schema:
    """Immutable; two schemas with the same contents are equal."""

    type: Type
    optional: bool = False
    default: Any = None
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    fields: tuple[Field, ...] = ()  # of a struct, in order
    key_schema: Schema | None = None  # of a map
    value_schema: Schema | None = None  # of a map's values, or of an array's elements
    has_default: bool = False

    def field(self, name: str) -> Field | None:
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {each.name: each for each in self.fields}

    def parameter(self, name: str) -> str | None:
        return self._by_parameter.get(name)

    @cached_property
    def _by_parameter(self) -> dict[str, str]:
        return dict(self.parameters)

    def as_optional(self) -> Schema:
        return replace(self, optional=True)

    def with_default(self, value: Any) -> Schema:
        return replace(self, default=value, has_default=True)

    def with_fields(self, fields: Mapping[str, Schema]) -> Schema:
        """The same struct with other fields."""
        return replace(self, fields=_numbered(fields))


def unique(fields: Iterable[tuple[str, Schema]]) -> dict[str, Schema]:
    """Fields by name; two of one name are an error."""
    found: dict[str, Schema] = {}
    for name, schema in fields:
        if name in found:
            raise DataError(f"Cannot create field because of field name duplication {name}")
        found[name] = schema
    return found


def struct_schema(
    fields: Mapping[str, Schema],
    *,
    name: str | None = None,
    version: int | None = None,
    doc: str | None = None,
    parameters: Mapping[str, str] | None = None,
    optional: bool = False,
) -> Schema:
    return Schema(
        Type.STRUCT,
        optional=optional,
        name=name,
        version=version,
        doc=doc,
        parameters=tuple((parameters or {}).items()),
        fields=_numbered(fields),
    )


def _numbered(fields: Mapping[str, Schema]) -> tuple[Field, ...]:
    return tuple(Field(name, index, schema) for index, (name, schema) in enumerate(fields.items()))


INT8: Final = Schema(Type.INT8)
INT16: Final = Schema(Type.INT16)
INT32: Final = Schema(Type.INT32)
INT64: Final = Schema(Type.INT64)
FLOAT32: Final = Schema(Type.FLOAT32)
FLOAT64: Final = Schema(Type.FLOAT64)
BOOLEAN: Final = Schema(Type.BOOLEAN)
STRING: Final = Schema(Type.STRING)
BYTES: Final = Schema(Type.BYTES)

DECIMAL_NAME: Final = "org.apache.kafka.connect.data.Decimal"
DATE_NAME: Final = "org.apache.kafka.connect.data.Date"
TIME_NAME: Final = "org.apache.kafka.connect.data.Time"
TIMESTAMP_NAME: Final = "org.apache.kafka.connect.data.Timestamp"
LOGICAL_NAMES: Final = frozenset({DECIMAL_NAME, DATE_NAME, TIME_NAME, TIMESTAMP_NAME})

DATE: Final = Schema(Type.INT32, name=DATE_NAME, version=1)
TIME: Final = Schema(Type.INT32, name=TIME_NAME, version=1)
TIMESTAMP: Final = Schema(Type.INT64, name=TIMESTAMP_NAME, version=1)


def decimal_schema(scale: int) -> Schema:
    return Schema(Type.BYTES, name=DECIMAL_NAME, version=1, parameters=(("scale", str(scale)),))


def decimal_scale(schema: Schema) -> int:
    text = schema.parameter("scale")
    try:
        return int(text or "")
    except ValueError:
        raise DataError(f"Invalid scale parameter found in Decimal schema: {text!r}") from None


def array_schema(element: Schema) -> Schema:
    return Schema(Type.ARRAY, value_schema=element)


def map_schema(key: Schema, value: Schema) -> Schema:
    return Schema(Type.MAP, key_schema=key, value_schema=value)
