"""JSON as Kafka Connect writes it: numbers in Java's text, no spaces."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, Final

from penstock.connect.data.struct import Float32
from penstock.expressions.numbers import java_double_text

_SMALL_ESCAPE: Final = re.compile(r"\\u00[0-9a-f]{2}")


def json_text(node: Any) -> str:
    match node:
        case None:
            return "null"
        case bool():
            return "true" if node else "false"
        case int():
            return str(node)
        case Float32():
            return _number(str(node))
        case float():
            return _number(java_double_text(node))
        case Decimal():
            return f"{node:f}"
        case str():
            return _SMALL_ESCAPE.sub(
                lambda found: "\\u" + found[0][2:].upper(), json.dumps(node, ensure_ascii=False)
            )
        case list() | tuple():
            return "[" + ",".join(map(json_text, node)) + "]"
        case dict():
            return (
                "{"
                + ",".join(f"{json_text(str(key))}:{json_text(value)}" for key, value in node.items())
                + "}"
            )
        case _:
            raise TypeError(f"{type(node).__name__} is not part of JSON")


def _number(text: str) -> str:
    """What is not a number in JSON is written as text, as Jackson does."""
    return f'"{text}"' if text in ("NaN", "Infinity", "-Infinity") else text
