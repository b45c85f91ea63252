"""Bytes of a record made readable: JSON, text or a hex dump. Always text, never markup; always bounded.

Pure. The JSON API and the message table both show what comes out of here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum

PREVIEW_BYTES = 1_024
HEX_BYTES = 4_096
INDENT = "  "

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SPACE = re.compile(r"\s+")
_INTEGERS = {4: "int32", 8: "int64"}


class Encoding(StrEnum):
    JSON = "json"
    TEXT = "text"
    HEX = "hex"
    EMPTY = "empty"
    NULL = "null"


@dataclass(frozen=True, slots=True)
class Shown:
    """A key, a value or a header value as a person sees it."""

    encoding: Encoding
    text: str
    size_bytes: int
    truncated: bool = False
    note: str = ""
    """A second reading of the same bytes, such as `int64 5`."""


def show(data: bytes | None, limit_bytes: int) -> Shown:
    """The whole of it, laid out over lines; beyond `limit_bytes` it is cut and says so."""
    if not data:
        return Shown(Encoding.NULL if data is None else Encoding.EMPTY, "", 0)
    text = _as_text(data[:limit_bytes], cut=len(data) > limit_bytes)
    if text is None:
        limit = min(limit_bytes, HEX_BYTES)
        return Shown(Encoding.HEX, hex_dump(data[:limit]), len(data), len(data) > limit, _integer(data))
    if len(data) <= limit_bytes and (laid_out := reindent(text)) is not None:
        return Shown(Encoding.JSON, laid_out, len(data))
    return Shown(Encoding.TEXT, text, len(data), len(data) > limit_bytes)


def preview(data: bytes | None, characters: int) -> Shown:
    """One line of it, for a table cell."""
    if not data:
        return Shown(Encoding.NULL if data is None else Encoding.EMPTY, "", 0)
    head = data[: min(PREVIEW_BYTES, 4 * characters)]
    text = _as_text(head, cut=len(data) > len(head))
    if text is None:
        line, encoding, note = data[: characters // 3].hex(" "), Encoding.HEX, _integer(data)
        return Shown(encoding, line, len(data), len(data) > characters // 3, note)
    line = _SPACE.sub(" ", text).strip()
    encoding = Encoding.JSON if line[:1] in ("{", "[") else Encoding.TEXT
    return Shown(encoding, line[:characters], len(data), len(line) > characters or len(data) > len(head))


def searchable(data: bytes | None, limit_bytes: int) -> str:
    """What a text search looks through: the text, or the hex digits of what is not text."""
    if not data:
        return ""
    head = data[:limit_bytes]
    text = _as_text(head, cut=len(data) > len(head))
    return head[:HEX_BYTES].hex(" ") if text is None else text.casefold()


def reindent(text: str) -> str | None:
    """JSON objects and arrays over several lines, every token as it was written; None when it is not JSON.

    Parsing and printing again would change numbers (1.10, 1e400) and drop repeated names.
    """
    stripped = text.strip()
    if stripped[:1] not in ("{", "["):
        return None
    try:
        json.loads(stripped, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return "".join(_laid_out(_TOKEN.findall(stripped)))


def hex_dump(data: bytes) -> str:
    """Sixteen bytes a line: position, hex, and the printable characters."""
    return "\n".join(
        f"{at:08x}  {data[at : at + 8].hex(' '):<23}  {data[at + 8 : at + 16].hex(' '):<23}  "
        f"{''.join(chr(b) if 32 <= b < 127 else '.' for b in data[at : at + 16])}"
        for at in range(0, len(data), 16)
    )


def _laid_out(tokens: list[str]) -> list[str]:
    out: list[str] = []
    depth = 0
    for i, token in enumerate(tokens):
        following = tokens[i + 1] if i + 1 < len(tokens) else ""
        if token in "{[":
            depth += 1
            out.append(token if following in ("}", "]") else token + "\n" + INDENT * depth)
        elif token in "}]":
            depth -= 1
            empty = i > 0 and tokens[i - 1] in ("{", "[")
            out.append(token if empty else "\n" + INDENT * depth + token)
        elif token == ",":
            out.append(",\n" + INDENT * depth)
        elif token == ":":
            out.append(": ")
        else:
            out.append(token)
    return out


def _as_text(data: bytes, *, cut: bool) -> str | None:
    """UTF-8 without control characters, or None. A character that was cut in two at the end is dropped."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if not cut or error.start < len(data) - 3:
            return None
        text = data[: error.start].decode("utf-8")
    return None if _CONTROL.search(text) else text


def _integer(data: bytes) -> str:
    """Kafka's long and integer serialisers write these many bytes, big-endian."""
    name = _INTEGERS.get(len(data))
    return f"{name} {int.from_bytes(data, 'big', signed=True)}" if name else ""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
