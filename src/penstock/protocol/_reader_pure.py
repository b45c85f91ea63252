"""The cursor over a message in Python: the twin of `_reader_native`, and what it means.

`penstock.protocol.primitives` chooses between the two.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

_INT8: Final = struct.Struct(">b")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_FLOAT64: Final = struct.Struct(">d")

MAX_ITEMS: Final = 250_000
"""Items of all arrays of one message together. An item may take one byte to send and hundreds to hold."""
NO_FIELDS: Final[Mapping[int, memoryview]] = MappingProxyType({})

Item = TypeVar("Item")


class MalformedMessage(Exception):
    """Bytes that are no message of the protocol. Whoever sent them is cut off."""


class Reader:
    """A cursor over one message. `flexible` chooses between the two forms of strings, arrays and bytes."""

    __slots__ = ("_items", "buffer", "end", "flexible", "position")

    def __init__(self, buffer: memoryview, position: int = 0, *, flexible: bool = False) -> None:
        self._items = 0
        self.buffer = buffer
        self.position = position
        self.end = len(buffer)
        self.flexible = flexible

    @property
    def remaining(self) -> int:
        return self.end - self.position

    def _take(self, size: int) -> int:
        start = self.position
        if size < 0 or size > self.end - start:
            raise MalformedMessage(f"{size} bytes wanted at {start}, {self.end - start} remain")
        self.position = start + size
        return start

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        """Fixed fields that stand beside each other, all at once: the hot messages are read so."""
        start = self.position
        try:
            values = layout.unpack_from(self.buffer, start)
        except struct.error:
            raise MalformedMessage(
                f"{layout.size} bytes wanted at {start}, {self.end - start} remain"
            ) from None
        self.position = start + layout.size
        return values

    def int8(self) -> int:
        return int(self.unpack(_INT8)[0])

    def int16(self) -> int:
        return int(self.unpack(_INT16)[0])

    def int32(self) -> int:
        return int(self.unpack(_INT32)[0])

    def int64(self) -> int:
        return int(self.unpack(_INT64)[0])

    def float64(self) -> float:
        return float(self.unpack(_FLOAT64)[0])

    def boolean(self) -> bool:
        return self.buffer[self._take(1)] != 0

    def uuid(self) -> bytes:
        start = self._take(16)
        return bytes(self.buffer[start : start + 16])

    def unsigned_varint(self) -> int:
        start = self.position
        if start < self.end and (only := self.buffer[start]) < 0x80:  # one byte is nearly always enough
            self.position = start + 1
            return only
        value = shift = 0
        while True:
            byte = self.buffer[self._take(1)]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 28:
                raise MalformedMessage("a varint of more than five bytes")

    def _length(self, fixed: struct.Struct) -> int:
        """The length before a string, bytes or an array; -1 stands for null in both forms."""
        if self.flexible:
            return self.unsigned_varint() - 1
        return int(self.unpack(fixed)[0])

    def nullable_string(self) -> str | None:
        size = self._length(_INT16)
        return None if size == -1 else self.text(size)

    def text(self, size: int) -> str:
        """A string of `size` bytes, whose length was read before."""
        start = self._take(size)
        try:
            return str(self.buffer[start : start + size], "utf-8")
        except UnicodeDecodeError as error:
            raise MalformedMessage(f"a string that is not UTF-8: {error}") from None

    def string(self) -> str:
        value = self.nullable_string()
        if value is None:
            raise MalformedMessage("null where a string must stand")
        return value

    def nullable_bytes(self) -> memoryview | None:
        size = self._length(_INT32)
        if size == -1:
            return None
        start = self._take(size)
        return self.buffer[start : start + size]

    def nullable_array(self, item_bytes: int = 1) -> int:
        """The number of items, or -1 for null. An item takes at least `item_bytes`, so more cannot follow
        than fit."""
        count = self.unsigned_varint() - 1 if self.flexible else self.int32()
        if count < -1 or count * item_bytes > self.end - self.position:
            raise MalformedMessage(f"an array of {count} items in {self.remaining} bytes")
        self._count(count)
        return count

    def _count(self, items: int) -> None:
        self._items += items
        if self._items > MAX_ITEMS:
            raise MalformedMessage(f"more than {MAX_ITEMS} items in one message")

    def array(self, item_bytes: int = 1) -> int:
        count = self.nullable_array(item_bytes)
        return count if count > 0 else 0

    def int32_array(self) -> list[int]:
        return [self.int32() for _ in range(self.array(4))]

    def structures(self, layout: struct.Struct, make: Callable[[tuple[Any, ...]], Item]) -> list[Item]:
        """An array of structures whose fields are all fixed, each made of its values; tags are skipped."""
        items = []
        for _ in range(self.array(layout.size)):
            items.append(make(self.unpack(layout)))
            self.tags()
        return items

    def tags(self) -> Mapping[int, memoryview]:
        """The tagged fields that end a flexible structure; nothing in the fixed form."""
        count = self.unsigned_varint() if self.flexible else 0
        if not count:
            return NO_FIELDS
        self._count(count)
        found: dict[int, memoryview] = {}
        for _ in range(count):
            tag = self.unsigned_varint()
            size = self.unsigned_varint()
            start = self._take(size)
            found[tag] = self.buffer[start : start + size]
        return found
