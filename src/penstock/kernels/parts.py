"""Several byte strings in one, null ones included: the values of buffers and internal topics that hold more
than one.
"""

from __future__ import annotations

import struct
from typing import Final

_LENGTH: Final = struct.Struct(">i")
_NULL: Final = -1


def join_parts(*parts: bytes | None) -> bytes:
    out = bytearray()
    for part in parts:
        out += _LENGTH.pack(_NULL if part is None else len(part))
        out += part or b""
    return bytes(out)


def split_parts(data: bytes) -> list[bytes | None]:
    parts: list[bytes | None] = []
    at = 0
    while at < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += 4
        parts.append(None if length == _NULL else data[at : at + length])
        at += max(length, 0)
    return parts
