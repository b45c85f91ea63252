"""Values as text: as Java's `toString` writes them, and as Connect's `Values.convertToString` does."""

from __future__ import annotations

import base64
from datetime import datetime
from decimal import Decimal
from typing import Any

from penstock.connect.data.dates import DAY_MS, to_millis
from penstock.connect.data.struct import Float32, Struct
from penstock.expressions.numbers import java_double_text


def java_text(value: Any) -> str:
    """`Struct{a=1}`, `{a=1}` and `[1, 2]` for what has parts."""
    match value:
        case None:
            return "null"
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case Float32():
            return str(value)
        case float():
            return java_double_text(value)
        case Decimal():
            return f"{value:f}"
        case bytes():
            return base64.b64encode(value).decode()
        case Struct():
            given = ((name, part) for name, part in value.items() if part is not None)
            return "Struct{" + ",".join(f"{name}={java_text(part)}" for name, part in given) + "}"
        case dict():
            return "{" + ", ".join(f"{java_text(k)}={java_text(v)}" for k, v in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(java_text, value)) + "]"
        case datetime():
            return date_text(value)
        case _:
            return str(value)


def values_text(value: Any, *, inside: bool = False) -> str:
    """Connect's own text, from which `literals.parse_literal` reads the value again."""
    match value:
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if inside else value
        case dict():
            parts = (f"{values_text(k, inside=True)}:{values_text(v, inside=True)}" for k, v in value.items())
            return "{" + ",".join(parts) + "}"
        case list() | tuple():
            return "[" + ",".join(values_text(each, inside=True) for each in value) + "]"
        case Struct():
            parts = (f'"{name}":{values_text(part, inside=True)}' for name, part in value.items())
            return "{" + ",".join(parts) + "}"
        case _:
            return java_text(value)


def date_text(moment: datetime) -> str:
    """Connect's own forms: a time of day, a date at midnight, or both."""
    millis = to_millis(moment)
    fraction = f"{millis % 1000:03d}"
    if 0 <= millis < DAY_MS:
        return f"{moment:%H:%M:%S}.{fraction}Z"
    if millis % DAY_MS == 0:
        return f"{moment.year:04d}-{moment:%m-%d}"
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}.{fraction}Z"
