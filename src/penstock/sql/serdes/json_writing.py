"""SQL values to JSON: all fields, nulls too; numbers in Java's text; times as numbers; bytes as base64."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from penstock.expressions import types as t
from penstock.expressions.java_text import plain_decimal, text_of
from penstock.expressions.numbers import java_double_text

Write = Callable[[Any], Any]
"""From a SQL value to what `encode` writes."""

encode: Final = msgspec.json.Encoder().encode


def writer(kind: t.SqlType) -> Write:
    """The function that makes values of a type ready for `encode`. Null stays null."""
    write = _writer(kind)
    return _as_is if write is _as_is else lambda value: None if value is None else write(value)


def fields_writer(fields: Sequence[tuple[str, t.SqlType]]) -> Callable[[Sequence[Any]], dict[str, Any]]:
    writers = [(name, writer(kind)) for name, kind in fields]
    return lambda row: {name: write(value) for (name, write), value in zip(writers, row, strict=True)}


def _writer(kind: t.SqlType) -> Write:
    match kind:
        case t.Decimal():
            return lambda value: msgspec.Raw(plain_decimal(value).encode())
        case t.Array(item=item):
            inner = writer(item)
            return lambda value: [inner(each) for each in value]
        case t.Map(key=key, value=item):
            each = writer(item)
            return lambda value: {_key(name, key): each(held) for name, held in value.items()}
        case t.Struct(fields=fields):
            names = [field.name for field in fields]
            write = fields_writer([(field.name, field.type) for field in fields])
            return lambda value: write([value.get(name) for name in names])
        case t.DOUBLE:
            return _double
        case t.BYTES:
            return lambda value: b64encode(value).decode()
        case _:
            return _as_is


def _as_is(value: Any) -> Any:
    return value


def _key(value: Any, kind: t.SqlType) -> str:
    return "null" if value is None else text_of(value, kind)


def _double(value: float) -> Any:
    """Java's text where it differs from Python's; what is no number is a text, as Jackson writes it."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return value
    text = java_double_text(value)
    return msgspec.Raw(text.encode()) if math.isfinite(value) else text
