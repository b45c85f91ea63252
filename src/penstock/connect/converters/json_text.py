"""JSON as Kafka Connect writes it: numbers in Java's text, no spaces."""

from __future__ import annotations

import re
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, Final

from penstock.connect.data.struct import Float32
from penstock.expressions.numbers import java_double_text

_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-f]{4}|.)")


def quoted(text: str) -> str:
    """A text in quotes; control characters are escaped with capital letters, as Jackson does."""
    found = encode_basestring(text)
    return _ESCAPE.sub(_capital, found) if "\\u00" in found else found


def _capital(found: re.Match[str]) -> str:
    """An escaped backslash is matched as a whole: what follows it is no escape."""
    return "\\u" + found[0][2:].upper() if found[0][1] == "u" else found[0]


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
            return quoted(node)
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
