"""A struct: values by the fields of its schema. And a float of 32 bits, which Python does not have."""

from __future__ import annotations

import struct as binary
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.connect.data.schema import Schema, Type
from penstock.connect.errors import DataError
from penstock.expressions.numbers import java_double_text


class Struct:
    """Equal by schema and values. A field that was never set is null, or its default when it is read."""

    __slots__ = ("schema", "values")

    def __init__(self, schema: Schema, values: Mapping[str, Any] | None = None) -> None:
        if schema.type is not Type.STRUCT:
            raise DataError(f"Not a struct schema: {schema.type.value}")
        self.schema = schema
        self.values: dict[str, Any] = dict(values or {})

    def get(self, name: str) -> Any:
        """The value, or the field's default where there is none."""
        field = self.schema.field(name)
        if field is None:
            raise DataError(f"{name} is not a valid field name")
        value = self.values.get(name)
        if value is None and field.schema.has_default:
            return field.schema.default
        return value

    def get_without_default(self, name: str) -> Any:
        return self.values.get(name)

    def put(self, name: str, value: Any) -> Struct:
        if self.schema.field(name) is None:
            raise DataError(f"{name} is not a valid field name")
        self.values[name] = value
        return self

    def items(self) -> Iterator[tuple[str, Any]]:
        return ((each.name, self.get(each.name)) for each in self.schema.fields)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Struct)
            and self.schema == other.schema
            and all(self.values.get(each.name) == other.values.get(each.name) for each in self.schema.fields)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Struct{dict(self.items())}"


class SharedStruct(Struct):
    """A struct that many records have: it is never changed, so that its text may be kept."""

    __slots__ = ()

    def put(self, name: str, value: Any) -> Struct:
        raise DataError("this struct belongs to many records and cannot be changed: make another one")


class Float32(float):
    """A number rounded to 32 bits; its text is Java's `Float.toString`."""

    def __new__(cls, value: float) -> Float32:
        return super().__new__(cls, rounded(value))

    def __str__(self) -> str:
        return java_float_text(self)

    def __repr__(self) -> str:
        return f"Float32({super().__repr__()})"


def rounded(value: float) -> float:
    """To the nearest float of 32 bits; too large becomes infinite, as in Java."""
    try:
        return float(binary.unpack("<f", binary.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def java_float_text(value: float) -> str:
    """The fewest digits that give the same float of 32 bits, in the form of Java's `Float.toString`."""
    if value != value or value in (float("inf"), float("-inf")) or value == 0:
        return java_double_text(value)
    for digits in range(1, 10):
        short = float(f"{value:.{digits - 1}e}")
        if rounded(short) == value:
            return java_double_text(short)
    return java_double_text(value)
