"""The schema that a value without one has, as Connect's `Values.inferSchema` and
`ConnectSchema.schemaType`."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from penstock.connect.data import schema as s
from penstock.connect.data.struct import Float32, Struct


def infer(value: Any) -> s.Schema | None:
    """None where nothing can be said: null, and lists and maps with nothing in them or with a mixture."""
    match value:
        case Struct():
            return value.schema
        case bool():
            return s.BOOLEAN
        case int():
            return s.INT64
        case Float32():
            return s.FLOAT32
        case float():
            return s.FLOAT64
        case str():
            return s.STRING
        case bytes():
            return s.BYTES
        case Decimal():
            return s.decimal_schema(-int(value.as_tuple().exponent))
        case datetime():
            return s.TIMESTAMP
        case list():
            element = _common(value)
            return None if element is None else s.array_schema(element)
        case dict():
            key, element = _common(list(value)), _common(list(value.values()))
            return None if key is None or element is None else s.map_schema(key, element)
        case _:
            return None


def _common(values: list[Any]) -> s.Schema | None:
    found = [infer(each) for each in values]
    first = found[0] if found else None
    return first if all(each == first for each in found) else None
