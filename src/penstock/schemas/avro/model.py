"""Avro's types as values. Named types may refer to themselves, so they are compared by identity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")

Properties = dict[str, Any]
"""What the specification does not name, kept as it was written; logical types among them."""


@dataclass(slots=True, eq=False)
class Primitive:
    kind: str
    properties: Properties = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Array:
    items: AvroType
    properties: Properties = field(default_factory=dict)
    kind = "array"


@dataclass(slots=True, eq=False)
class Map:
    values: AvroType
    properties: Properties = field(default_factory=dict)
    kind = "map"


@dataclass(slots=True, eq=False)
class Union:
    branches: list[AvroType]
    kind = "union"


@dataclass(slots=True, eq=False)
class Named:
    """What records, enums and fixed types have in common. Names and aliases are full ones."""

    fullname: str
    aliases: tuple[str, ...]
    doc: str | None
    properties: Properties

    @property
    def name(self) -> str:
        return self.fullname.rpartition(".")[2]

    @property
    def namespace(self) -> str:
        return self.fullname.rpartition(".")[0]


@dataclass(slots=True, eq=False)
class Field:
    name: str
    type: AvroType
    doc: str | None
    default: Any
    has_default: bool
    order: str
    aliases: tuple[str, ...]
    properties: Properties


@dataclass(slots=True, eq=False)
class RecordSchema(Named):
    is_error: bool = False
    fields: list[Field] = field(default_factory=list)
    """Filled after the record is made: a field may be of the record's own type."""
    kind = "record"


@dataclass(slots=True, eq=False)
class Enum(Named):
    symbols: tuple[str, ...]
    default: str | None
    kind = "enum"


@dataclass(slots=True, eq=False)
class Fixed(Named):
    size: int
    kind = "fixed"


AvroType = Primitive | Array | Map | Union | RecordSchema | Enum | Fixed
