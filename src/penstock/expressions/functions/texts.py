"""Functions of STRINGs. Lengths and positions count UTF-16 units, as Java's do."""

from __future__ import annotations

import hashlib
import re
from typing import Any
from uuid import UUID

from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.functions import utf16
from penstock.expressions.functions.registry import Bound, Functions, Implementation

define = Functions()

MAX_PADDED = 16_777_216
"""Characters that LPAD and RPAD make at most."""


@define("UCASE(STRING) -> STRING")
def ucase(text: str) -> str:
    """Upper case."""
    return text.upper()


@define("LCASE(STRING) -> STRING")
def lcase(text: str) -> str:
    """Lower case."""
    return text.lower()


@define("TRIM(STRING) -> STRING")
def trim(text: str) -> str:
    """Without the spaces and control characters at both ends."""
    return text.strip("".join(map(chr, range(33))))


@define("LEN(STRING) -> INT")
def len_(text: str) -> int:
    """The length of a text, or of bytes."""
    return utf16.length(text)


@define("LEN(BYTES) -> INT")
def len_bytes(data: bytes) -> int:
    """The number of bytes."""
    return len(data)


@define("CHR(INT) -> STRING")
def chr_(code: int) -> str | None:
    """The character with this Unicode number, or with this code such as `\\u004b`."""
    return chr(code) if 0 <= code <= 0x10FFFF else None


@define("CHR(STRING) -> STRING")
def chr_text(code: str) -> str | None:
    """The character of a code such as `\\u004b`, or of a surrogate pair of two."""
    if not re.fullmatch(r"(?:\\u[0-9a-fA-F]{4}){1,2}", code):
        return None
    text = "".join(chr(int(part, 16)) for part in code.split("\\u")[1:])
    joined = utf16.joined(text)
    return joined if len(joined) == 1 else None


@define("CONCAT(STRING, STRING...) -> STRING", nulls=True)
def concat(*texts: str | None) -> str:
    """Texts one behind the other; null is nothing."""
    return "".join(text for text in texts if text is not None)


@define("CONCAT(BYTES, BYTES...) -> BYTES", nulls=True)
def concat_bytes(*parts: bytes | None) -> bytes:
    """Bytes one behind the other; null is nothing."""
    return b"".join(part for part in parts if part is not None)


@define("CONCAT_WS(STRING, STRING, STRING...) -> STRING", nulls=True)
def concat_ws(separator: str | None, *texts: str | None) -> str | None:
    """Texts with a separator between them; nulls are left out."""
    return None if separator is None else separator.join(text for text in texts if text is not None)


@define("CONCAT_WS(BYTES, BYTES, BYTES...) -> BYTES", nulls=True)
def concat_ws_bytes(separator: bytes | None, *parts: bytes | None) -> bytes | None:
    """Bytes with a separator between them; nulls are left out."""
    return None if separator is None else separator.join(part for part in parts if part is not None)


@define("ELT(INT, STRING...) -> STRING", nulls=True)
def elt(number: int | None, *texts: str | None) -> str | None:
    """The text at this place, counted from 1; null if there is none."""
    return texts[number - 1] if number is not None and 1 <= number <= len(texts) else None


@define("FIELD(STRING, STRING...) -> INT", nulls=True)
def field(wanted: str | None, *texts: str | None) -> int:
    """The place of a text among others, counted from 1; 0 if it is not there."""
    return texts.index(wanted) + 1 if wanted is not None and wanted in texts else 0


@define("INITCAP(STRING) -> STRING")
def initcap(text: str) -> str:
    """The first letter of each word in upper case, the others in lower case."""
    return re.sub(r"\S+", lambda word: word[0][:1].upper() + word[0][1:].lower(), text)


@define(
    "INSTR(STRING, STRING) -> INT",
    "INSTR(STRING, STRING, INT) -> INT",
    "INSTR(STRING, STRING, INT, INT) -> INT",
)
def instr(text: str, wanted: str, position: int = 1, occurrence: int = 1) -> int:
    """Where a text stands in another, counted from 1; 0 if nowhere. A negative position searches backward."""
    text, wanted = utf16.units(text), utf16.units(wanted)
    if position == 0 or occurrence < 1:
        return 0
    if position > 0:
        at = position - 2
        for _ in range(occurrence):
            at = text.find(wanted, at + 1)
            if at < 0:
                return 0
        return at + 1
    at = len(text) + position + 1
    for _ in range(occurrence):
        at = text.rfind(wanted, 0, max(at - 1 + len(wanted), 0)) if at > 0 else -1
        if at < 0:
            return 0
    return at + 1


def _padded(value: Any, size: int, padding: Any, left: bool) -> Any:
    if size < 0 or not padding:
        return None
    if size > MAX_PADDED:
        raise EvaluationFailed(f"{size} is more than the {MAX_PADDED} characters that are padded to")
    missing = max(0, size - len(value))
    fill = (padding * (missing // len(padding) + 1))[:missing]
    return (fill + value[:size]) if left else (value[:size] + fill)


@define("LPAD(STRING, INT, STRING) -> STRING")
def lpad(text: str, size: int, padding: str) -> str | None:
    """Filled up from the left to a length, or cut to it."""
    padded = _padded(utf16.units(text), size, utf16.units(padding), True)
    return None if padded is None else utf16.joined(padded)


@define("RPAD(STRING, INT, STRING) -> STRING")
def rpad(text: str, size: int, padding: str) -> str | None:
    """Filled up from the right to a length, or cut to it."""
    padded = _padded(utf16.units(text), size, utf16.units(padding), False)
    return None if padded is None else utf16.joined(padded)


@define("LPAD(BYTES, INT, BYTES) -> BYTES")
def lpad_bytes(data: bytes, size: int, padding: bytes) -> Any:
    """Bytes filled up from the left."""
    return _padded(data, size, padding, True)


@define("RPAD(BYTES, INT, BYTES) -> BYTES")
def rpad_bytes(data: bytes, size: int, padding: bytes) -> Any:
    """Bytes filled up from the right."""
    return _padded(data, size, padding, False)


@define("MD5(STRING) -> STRING")
def md5(text: str) -> str:
    """The MD5 of a text in UTF-8, in hexadecimal digits."""
    return hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


@define("REPLACE(STRING, STRING, STRING) -> STRING")
def replace(text: str, old: str, new: str) -> str:
    """Each occurrence of a text replaced by another."""
    return text.replace(old, new)


@define("SPLIT(STRING, STRING) -> ARRAY<STRING>")
def split(text: str, delimiter: str) -> list[str]:
    """The parts between delimiters; an empty one splits into characters."""
    return list(text) if not delimiter else text.split(delimiter)


@define("SPLIT(BYTES, BYTES) -> ARRAY<BYTES>")
def split_bytes(data: bytes, delimiter: bytes) -> list[bytes]:
    """The parts between delimiters."""
    return [bytes([byte]) for byte in data] if not delimiter else data.split(delimiter)


@define("SPLIT_TO_MAP(STRING, STRING, STRING) -> MAP<STRING, STRING>")
def split_to_map(text: str, entries: str, assignment: str) -> dict[str, str] | None:
    """Pairs of key and value; parts without a key or a value are left out."""
    if not entries or not assignment:
        return None
    pairs = (part.split(assignment) for part in text.split(entries) if part)
    return {pair[0]: pair[1] for pair in pairs if len(pair) > 1 and pair[0]}


def _start(size: int, position: int) -> int:
    return max(size + position, 0) if position < 0 else max(min(position - 1, size), 0)


@define("SUBSTRING(STRING, INT) -> STRING", "SUBSTRING(STRING, INT, INT) -> STRING")
def substring(text: str, position: int, size: int | None = None) -> str:
    """From a position, counted from 1 or from the end if it is negative, so many characters."""
    text = utf16.units(text)
    begin = _start(len(text), position)
    return utf16.joined(text[begin:] if size is None else text[begin : begin + max(size, 0)])


@define("SUBSTRING(BYTES, INT) -> BYTES", "SUBSTRING(BYTES, INT, INT) -> BYTES")
def substring_bytes(data: bytes, position: int, size: int | None = None) -> bytes:
    """Bytes from a position."""
    begin = _start(len(data), position)
    return data[begin:] if size is None else data[begin : begin + max(size, 0)]


@define.bound("UUID() -> STRING")
def uuid(bound: Bound) -> Implementation:
    """A random UUID."""
    random = bound.environment.random

    def draw() -> str:
        if random is None:
            raise EvaluationFailed("There is no source of chance here")
        return str(UUID(int=random.getrandbits(128), version=4))

    return draw


@define("UUID(BYTES) -> STRING")
def uuid_of(data: bytes) -> str | None:
    """Sixteen bytes as a UUID; null for any other number."""
    return str(UUID(bytes=data)) if len(data) == 16 else None
