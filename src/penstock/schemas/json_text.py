"""JSON text from strangers: parsed only when its depth is bounded. Called by the formats and by `web`."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

DEPTH_MAX: Final = 256
"""The deepest nesting of JSON. Code that walks parsed JSON may recurse this deep."""

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))


class TooDeep(ValueError):
    """JSON nested deeper than is read."""


def check_depth(data: bytes, depth_max: int = DEPTH_MAX) -> None:
    """Raises TooDeep. Linear in the text, and cheap for what has few brackets."""
    if data.count(b"[") + data.count(b"{") <= depth_max:
        return
    depth = 0
    for byte in _STRING.sub(b"", data).translate(None, _NOT_BRACKETS):
        if byte in b"[{":
            depth += 1
            if depth > depth_max:
                raise TooDeep(f"JSON nested more than {depth_max} levels deep")
        else:
            depth -= 1


def parse_json(text: str) -> Any:
    """The value of JSON text. Raises ValueError with a sentence, also when it is nested too deep."""
    data = text.encode("utf-8", "surrogatepass")
    check_depth(data)
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not valid JSON: {error}") from error


def write_json(value: Any) -> str:
    """JSON text without whitespace; the order of keys is the value's own."""
    return msgspec.json.encode(value).decode()
