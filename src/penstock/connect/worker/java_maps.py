"""A map of byte arrays as Java serializes it: what Kafka's standalone worker keeps its offsets in. Pure."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

_MAGIC: Final = b"\xac\xed\x00\x05"
_OBJECT, _CLASS, _NULL, _REFERENCE, _ARRAY, _BLOCK, _END = 0x73, 0x72, 0x70, 0x71, 0x75, 0x77, 0x78
_MAP_CLASS: Final = (
    b"\x72\x00\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16\x60\xd1\x03\x00\x02"
    b"F\x00\x0aloadFactorI\x00\x09threshold\x78\x70"
)
_BYTES_CLASS: Final = b"\x72\x00\x02[B\xac\xf3\x17\xf8\x06\x08\x54\xe0\x02\x00\x00\x78\x70"
_BYTES_REFERENCE: Final = b"\x71\x00\x7e\x00\x02"
"""The third thing in the stream, after the class of the map and the map itself."""


def dumps(found: Mapping[bytes, bytes]) -> bytes:
    buckets = 16
    while buckets * 3 // 4 < len(found):
        buckets *= 2
    out = bytearray(_MAGIC + bytes([_OBJECT]) + _MAP_CLASS)
    out += struct.pack(">fi", 0.75, buckets * 3 // 4)
    out += struct.pack(">BBii", _BLOCK, 8, buckets, len(found))
    named = False
    for pair in found.items():
        for each in pair:
            out += bytes([_ARRAY]) + (_BYTES_REFERENCE if named else _BYTES_CLASS)
            out += struct.pack(">i", len(each)) + each
            named = True
    out.append(_END)
    return bytes(out)


def loads(data: bytes) -> dict[bytes, bytes | None]:
    """ValueError for anything else than such a map."""
    return _Reader(data).map()


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def map(self) -> dict[bytes, bytes | None]:
        self._expect(_MAGIC + bytes([_OBJECT]) + _MAP_CLASS)
        self._take(8)  # load factor and threshold
        if self._take(2) != bytes([_BLOCK, 8]):
            raise ValueError("its map has no size")
        count = struct.unpack(">ii", self._take(8))[1]
        found: dict[bytes, bytes | None] = {}
        for _ in range(count):
            key, value = self._bytes(), self._bytes()
            if key is not None:
                found[key] = value
        return found

    def _bytes(self) -> bytes | None:
        kind = self._take(1)[0]
        if kind == _NULL:
            return None
        if kind != _ARRAY:
            raise ValueError(f"a part of type {kind:#x} at position {self._at}")
        named = self._data[self._at : self._at + 1]
        if named == bytes([_CLASS]):
            self._expect(_BYTES_CLASS)
        elif named == bytes([_REFERENCE]):
            self._take(len(_BYTES_REFERENCE))
        (length,) = struct.unpack(">i", self._take(4))
        return self._take(length)

    def _expect(self, part: bytes) -> None:
        if self._take(len(part)) != part:
            raise ValueError("it is no map of byte arrays")

    def _take(self, length: int) -> bytes:
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise ValueError(f"it ends at position {len(self._data)}, in the middle of a part")
        part = self._data[self._at : end]
        self._at = end
        return part
