"""SQL's types as data, with the Python values that stand for them.

| type | Python | type | Python |
|---|---|---|---|
| BOOLEAN | bool | DATE | int, days since 1970 |
| INTEGER, BIGINT | int | TIME | int, milliseconds of the day |
| DOUBLE | float | TIMESTAMP | int, milliseconds since 1970 |
| DECIMAL | decimal.Decimal of its scale | ARRAY | list |
| STRING | str | MAP | dict |
| BYTES | bytes | STRUCT | dict by field name |

Null is `None` in every type. `str(type)` is the text that ksqlDB shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from penstock.expressions.errors import TypeMismatch


@dataclass(frozen=True)
class SqlType:
    """A type. Two types are equal if every value of one is a value of the other."""


@dataclass(frozen=True)
class Simple(SqlType):
    """A type without parameters. Use the constants below."""

    name: str

    def __str__(self) -> str:
        return self.name


BOOLEAN: Final = Simple("BOOLEAN")
INTEGER: Final = Simple("INTEGER")
BIGINT: Final = Simple("BIGINT")
DOUBLE: Final = Simple("DOUBLE")
STRING: Final = Simple("STRING")
BYTES: Final = Simple("BYTES")
DATE: Final = Simple("DATE")
TIME: Final = Simple("TIME")
TIMESTAMP: Final = Simple("TIMESTAMP")
NULL: Final = Simple("NULL")
"""The type of the literal NULL, which fits everywhere. No column has it."""

SIMPLE: Final = {
    kind.name: kind for kind in (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP, NULL)
}


@dataclass(frozen=True)
class Decimal(SqlType):
    """A number with a fixed number of digits. Invariant: 1 ≤ precision and 0 ≤ scale ≤ precision."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if self.precision < 1:
            raise TypeMismatch(f"DECIMAL precision must be >= 1: DECIMAL({self.precision},{self.scale})")
        if self.scale < 0:
            raise TypeMismatch(f"DECIMAL scale must be >= 0: DECIMAL({self.precision},{self.scale})")
        if self.scale > self.precision:
            raise TypeMismatch(f"DECIMAL precision must be >= scale: DECIMAL({self.precision},{self.scale})")

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True)
class Array(SqlType):
    item: SqlType

    def __str__(self) -> str:
        return f"ARRAY<{self.item}>"


@dataclass(frozen=True)
class Map(SqlType):
    key: SqlType
    value: SqlType

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True)
class StructField:
    name: str
    type: SqlType

    def __str__(self) -> str:
        return f"{quoted(self.name)} {self.type}"


@dataclass(frozen=True)
class Struct(SqlType):
    """Named fields in order. Names differ."""

    fields: tuple[StructField, ...]

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields]
        for name in names:
            if names.count(name) > 1:
                raise TypeMismatch(f"Duplicate field names found in STRUCT: {quoted(name)}")

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(map(str, self.fields))}>"

    def field(self, name: str) -> SqlType | None:
        return next((field.type for field in self.fields if field.name == name), None)


@dataclass(frozen=True)
class Function(SqlType):
    """The type of a lambda, which only a function takes."""

    parameters: tuple[SqlType, ...]
    result: SqlType

    def __str__(self) -> str:
        return f"LAMBDA ({', '.join(map(str, self.parameters))}) => {self.result}"


def struct_of(fields: Iterable[tuple[str, SqlType]]) -> Struct:
    return Struct(tuple(StructField(name, kind) for name, kind in fields))


def quoted(name: str) -> str:
    """A name as ksqlDB shows it."""
    return f"`{name}`"


def is_whole(kind: SqlType) -> bool:
    return kind in (INTEGER, BIGINT)


def is_numeric(kind: SqlType) -> bool:
    return kind in (INTEGER, BIGINT, DOUBLE) or isinstance(kind, Decimal)


def is_time(kind: SqlType) -> bool:
    return kind in (DATE, TIME, TIMESTAMP)


def as_decimal(kind: SqlType) -> Decimal:
    """The decimal that holds every value of a numeric type other than DOUBLE."""
    if isinstance(kind, Decimal):
        return kind
    if kind == INTEGER:
        return Decimal(10, 0)
    if kind == BIGINT:
        return Decimal(19, 0)
    raise TypeMismatch(f"Cannot convert {kind} to DECIMAL")


def family(kind: SqlType) -> str:
    """The name of a type without what is within it: DECIMAL, ARRAY, INTEGER."""
    return str(kind) if isinstance(kind, Simple) else type(kind).__name__.upper()


def widened(left: SqlType, right: SqlType) -> SqlType:
    """The smallest numeric type for the values of both: INTEGER, BIGINT, DECIMAL, DOUBLE, in this order."""
    if DOUBLE in (left, right):
        return DOUBLE
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        one, other = as_decimal(left), as_decimal(right)
        scale = max(one.scale, other.scale)
        whole = max(one.precision - one.scale, other.precision - other.scale)
        return Decimal(whole + scale, scale)
    return BIGINT if BIGINT in (left, right) else INTEGER


def holds(kind: SqlType, value: Any) -> bool:
    """Whether a Python value is one of this type; for checks in tests and at the borders."""
    if value is None:
        return True
    match kind:
        case Array(item=item):
            return isinstance(value, list) and all(holds(item, each) for each in value)
        case Map(key=key, value=inner):
            return isinstance(value, dict) and all(
                holds(key, name) and holds(inner, each) for name, each in value.items()
            )
        case Struct(fields=fields):
            return isinstance(value, dict) and all(holds(f.type, value.get(f.name)) for f in fields)
        case Decimal():
            return type(value).__name__ == "Decimal" and -value.as_tuple().exponent == kind.scale
        case _:
            return _holds_simple(kind, value)


_BITS: Final = {INTEGER: 31, BIGINT: 63, DATE: 63, TIME: 31, TIMESTAMP: 63}


def _holds_simple(kind: SqlType, value: Any) -> bool:
    if kind in _BITS:
        bound = 1 << _BITS[kind]
        return isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound
    python = {BOOLEAN: bool, DOUBLE: float, STRING: str, BYTES: bytes}
    return kind in python and isinstance(value, python[kind])
