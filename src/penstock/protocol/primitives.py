"""Reading and writing the primitive types of Kafka's protocol, in their fixed and their flexible (compact,
tagged) forms.

A `Reader` trusts nothing: every length is checked against the bytes that remain before anything is allocated.
It is one of two twins: `_reader_native` (Cython) where it was built, `_reader_pure` otherwise. Who reads a
message by hand uses these two classes; the long tail of messages goes through `penstock.protocol.messages`.
"""

from __future__ import annotations

import os
import struct
from importlib import import_module
from typing import TYPE_CHECKING, Final

from penstock.protocol import _reader_pure
from penstock.protocol._reader_pure import MAX_ITEMS, MalformedMessage

__all__ = ["MAX_ITEMS", "NO_TAGS", "ZERO_UUID", "MalformedMessage", "Reader", "Writer"]

_INT8: Final = struct.Struct(">b")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_FLOAT64: Final = struct.Struct(">d")

NO_TAGS: Final = b"\x00"
ZERO_UUID: Final = bytes(16)


def _load_reader() -> object:
    if os.environ.get("PENSTOCK_PURE_WALK") == "1":
        return _reader_pure.Reader
    try:
        return import_module("penstock.protocol._reader_native").Reader
    except ImportError:
        return _reader_pure.Reader


if TYPE_CHECKING:
    from penstock.protocol._reader_pure import Reader
else:
    Reader = _load_reader()


class Writer:
    """Bytes under construction. `flexible` chooses between the two forms of strings, arrays and bytes."""

    __slots__ = ("data", "flexible")

    def __init__(self, *, flexible: bool = False) -> None:
        self.data = bytearray()
        self.flexible = flexible

    def pack(self, layout: struct.Struct, *values: int) -> None:
        """Fixed fields that stand beside each other, all at once."""
        self.data += layout.pack(*values)

    def int8(self, value: int) -> None:
        self.data += _INT8.pack(value)

    def int16(self, value: int) -> None:
        self.data += _INT16.pack(value)

    def int32(self, value: int) -> None:
        self.data += _INT32.pack(value)

    def int64(self, value: int) -> None:
        self.data += _INT64.pack(value)

    def float64(self, value: float) -> None:
        self.data += _FLOAT64.pack(value)

    def boolean(self, value: bool) -> None:
        self.data.append(1 if value else 0)

    def uuid(self, value: bytes) -> None:
        self.data += value

    def unsigned_varint(self, value: int) -> None:
        while value > 0x7F:
            self.data.append((value & 0x7F) | 0x80)
            value >>= 7
        self.data.append(value)

    def length(self, size: int, fixed: struct.Struct = _INT32) -> None:
        """The length before bytes whose content follows in another part; -1 is null."""
        if not self.flexible:
            self.data += fixed.pack(size)
        elif size < 0x7F:
            self.data.append(size + 1)
        else:
            self.unsigned_varint(size + 1)

    def nullable_string(self, value: str | None) -> None:
        if value is None:
            self.length(-1, _INT16)
            return
        encoded = value.encode()
        self.length(len(encoded), _INT16)
        self.data += encoded

    string = nullable_string

    array = length

    def sized_bytes(self, value: bytes) -> None:
        """Bytes behind their length, as `Reader.nullable_bytes` reads them."""
        self.length(len(value))
        self.data += value

    def int32_array(self, values: tuple[int, ...] | list[int]) -> None:
        self.array(len(values))
        self.data += struct.pack(f">{len(values)}i", *values)

    def uuid_array(self, values: tuple[bytes, ...] | list[bytes]) -> None:
        self.array(len(values))
        self.data += b"".join(values)

    def tags(self, fields: dict[int, bytes] | None = None) -> None:
        """End a structure; in the fixed form there is nothing to end."""
        if not self.flexible:
            return
        if not fields:
            self.data.append(0)
            return
        self.unsigned_varint(len(fields))
        for tag in sorted(fields):
            self.unsigned_varint(tag)
            self.unsigned_varint(len(fields[tag]))
            self.data += fields[tag]
