"""Zigzag varints as the records inside a batch use them (protobuf's sint32 and sint64).

Writing appends to a bytearray; reading takes a buffer and a position and gives the value and the next
position. The protocol's own unsigned varints live in `penstock.protocol`, the fast walk over many records in
`penstock.records.walk`.
"""

from __future__ import annotations

MAX_VARINT_BYTES = 5
MAX_VARLONG_BYTES = 10


class MalformedVarint(ValueError):
    """The bytes end inside a varint, or it is longer than its type allows."""


def write_varlong(out: bytearray, value: int) -> None:
    """Append `value` (a signed 64-bit integer; an `int32` has the same bytes)."""
    zigzag = (value << 1) ^ (value >> 63)
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)


def read_varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """A signed 32-bit integer at `position`."""
    return _read(data, position, MAX_VARINT_BYTES, 32)


def read_varlong(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """A signed 64-bit integer at `position`."""
    return _read(data, position, MAX_VARLONG_BYTES, 64)


def _read(data: bytes | memoryview, position: int, max_bytes: int, bits: int) -> tuple[int, int]:
    zigzag = 0
    end = len(data)
    for index in range(max_bytes):
        if position >= end:
            raise MalformedVarint("the bytes end inside a varint")
        byte = data[position]
        position += 1
        zigzag |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            # The last byte may carry bits beyond the type; Java drops them, a careful reader does not.
            if zigzag >> bits:
                raise MalformedVarint(f"a varint does not fit in {bits} bits")
            return (zigzag >> 1) ^ -(zigzag & 1), position
    raise MalformedVarint(f"a varint is longer than {max_bytes} bytes")
