"""Values of a result as JSON: times as text, bytes as base64, decimals as they are."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from penstock.expressions import types as t
from penstock.expressions.java_text import date_text, plain_decimal, text_of, timestamp_text
from penstock.plan.row_schemas import ColumnSchema

Write = Callable[[Any], Any]


def _time(millis: int) -> str:
    seconds, rest = divmod(millis, 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{rest:03d}" if rest else text


_SIMPLE: Final[dict[t.SqlType, Write]] = {
    t.BYTES: lambda value: b64encode(value).decode(),
    t.DATE: date_text,
    t.TIME: _time,
    t.TIMESTAMP: timestamp_text,
}


def writers(columns: Sequence[ColumnSchema]) -> list[Write]:
    return [writer(column.type) for column in columns]


def writer(kind: t.SqlType) -> Write:
    write = _writer(kind)
    return lambda value: None if value is None else write(value)


def _writer(kind: t.SqlType) -> Write:
    match kind:
        case t.Decimal():
            return lambda value: msgspec.Raw(plain_decimal(value).encode())
        case t.Array(item=item):
            each = writer(item)
            return lambda value: [each(one) for one in value]
        case t.Map(key=key, value=inner):
            one = writer(inner)
            return lambda value: {
                "null" if name is None else text_of(name, key): one(held) for name, held in value.items()
            }
        case t.Struct(fields=fields):
            makers = [(field.name, writer(field.type)) for field in fields]
            return lambda value: {name: make(value.get(name)) for name, make in makers}
        case _:
            return _SIMPLE.get(kind, lambda value: value)
