"""The two sparse indexes of a segment, in Kafka's on-disk formats.

`.index` maps offsets to positions: entries of eight bytes, the offset relative to the segment's base and the
position. `.timeindex` maps timestamps to offsets: entries of twelve bytes, the timestamp and the relative
offset. In memory they are arrays that bisect searches at the speed of C. Which batches get an entry is
decided by `penstock.storage.segment`; a file that is not sane raises `ValueError`, and the segment rebuilds
it from the log.
"""

from __future__ import annotations

import operator
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

OFFSET_ENTRY_BYTES = 8
TIME_ENTRY_BYTES = 12
MAX_RELATIVE_OFFSET = 2**31 - 1


class OffsetIndex:
    """(last offset of a batch, position of that batch), both strictly increasing."""

    __slots__ = ("_base_offset", "_offsets", "_positions")

    def __init__(self, base_offset: int) -> None:
        self._base_offset = base_offset
        self._offsets = array("i")  # relative to the base
        self._positions = array("i")

    def __len__(self) -> int:
        return len(self._offsets)

    def append(self, offset: int, position: int) -> None:
        self._offsets.append(offset - self._base_offset)
        self._positions.append(position)

    def position_for(self, offset: int) -> int:
        """Where to begin looking for `offset`: no batch before this position holds it."""
        found = bisect_right(self._offsets, offset - self._base_offset)
        return self._positions[found - 1] if found else 0

    def offset_from(self, position: int) -> int | None:
        """The last offset of the first indexed batch that begins at `position` or later."""
        found = bisect_left(self._positions, position)
        return self._base_offset + self._offsets[found] if found < len(self._offsets) else None

    def position_before(self, position: int) -> int:
        """Where the last indexed batch begins that begins at `position` or earlier."""
        found = bisect_right(self._positions, position)
        return self._positions[found - 1] if found else 0

    def last_position(self) -> int:
        """Where the last indexed batch begins."""
        return self._positions[-1] if self._positions else 0

    def truncate_to(self, size_bytes: int) -> None:
        """Forget batches that begin at `size_bytes` or later."""
        keep = bisect_right(self._positions, size_bytes - 1)
        del self._offsets[keep:]
        del self._positions[keep:]

    def to_bytes(self) -> bytes:
        words = array("i", bytes(len(self) * OFFSET_ENTRY_BYTES))
        words[0::2] = self._offsets
        words[1::2] = self._positions
        return _big_endian(words)

    @classmethod
    def from_bytes(cls, base_offset: int, data: bytes, log_bytes: int) -> OffsetIndex:
        """The index of a segment of `log_bytes`; ValueError when it cannot be one."""
        if len(data) % OFFSET_ENTRY_BYTES:
            raise ValueError(f"{len(data)} bytes are not a whole number of entries")
        words = _from_big_endian("i", data)
        index = cls(base_offset)
        index._offsets = words[0::2]
        index._positions = words[1::2]
        if not (_increasing(index._offsets) and _increasing(index._positions)):
            raise ValueError("entries do not increase")
        if index._positions and index._positions[-1] >= log_bytes:
            raise ValueError("an entry points behind the end of the log")
        return index


class TimeIndex:
    """(largest timestamp so far, last offset of the batch that brought it), both strictly increasing."""

    __slots__ = ("_base_offset", "_offsets", "_timestamps")

    def __init__(self, base_offset: int) -> None:
        self._base_offset = base_offset
        self._timestamps = array("q")
        self._offsets = array("i")  # relative to the base

    def __len__(self) -> int:
        return len(self._timestamps)

    def append_if_later(self, timestamp: int, offset: int) -> None:
        """Add an entry unless an earlier one already has this timestamp or a later one."""
        if timestamp >= 0 and (not self._timestamps or timestamp > self._timestamps[-1]):
            self._timestamps.append(timestamp)
            self._offsets.append(offset - self._base_offset)

    def entry_before(self, timestamp: int) -> tuple[int, int] | None:
        """The last entry older than `timestamp`: up to its offset, every record is older too."""
        found = bisect_right(self._timestamps, timestamp - 1)
        return (self._timestamps[found - 1], self._base_offset + self._offsets[found - 1]) if found else None

    def last_entry(self) -> tuple[int, int] | None:
        """The largest timestamp of the segment and the offset it stands at, as far as the index knows."""
        if not self._timestamps:
            return None
        return self._timestamps[-1], self._base_offset + self._offsets[-1]

    def truncate_to(self, next_offset: int) -> None:
        """Forget entries at `next_offset` or later."""
        keep = bisect_right(self._offsets, next_offset - 1 - self._base_offset)
        del self._timestamps[keep:]
        del self._offsets[keep:]

    def to_bytes(self) -> bytes:
        timestamps = _big_endian(self._timestamps)
        offsets = _big_endian(self._offsets)
        data = bytearray(len(self) * TIME_ENTRY_BYTES)
        for byte in range(8):
            data[byte::TIME_ENTRY_BYTES] = timestamps[byte::8]
        for byte in range(4):
            data[8 + byte :: TIME_ENTRY_BYTES] = offsets[byte::4]
        return bytes(data)

    @classmethod
    def from_bytes(cls, base_offset: int, data: bytes) -> TimeIndex:
        """The index from its file; ValueError when it cannot be one."""
        count, rest = divmod(len(data), TIME_ENTRY_BYTES)
        if rest:
            raise ValueError(f"{len(data)} bytes are not a whole number of entries")
        timestamps = bytearray(count * 8)
        offsets = bytearray(count * 4)
        for byte in range(8):
            timestamps[byte::8] = data[byte::TIME_ENTRY_BYTES]
        for byte in range(4):
            offsets[byte::4] = data[8 + byte :: TIME_ENTRY_BYTES]
        index = cls(base_offset)
        index._timestamps = _from_big_endian("q", timestamps)
        index._offsets = _from_big_endian("i", offsets)
        if not (_increasing(index._timestamps) and _increasing(index._offsets)):
            raise ValueError("entries do not increase")
        return index


class Indexes(NamedTuple):
    """Both indexes of a segment: they are loaded, written and let go of together."""

    offsets: OffsetIndex
    times: TimeIndex

    @property
    def size_bytes(self) -> int:
        return len(self.offsets) * OFFSET_ENTRY_BYTES + len(self.times) * TIME_ENTRY_BYTES


def _increasing(values: Sequence[int]) -> bool:
    if not values:
        return True
    return values[0] >= 0 and all(map(operator.lt, values, islice(values, 1, None)))


def _big_endian(values: array[int]) -> bytes:
    if sys.byteorder == "big":
        return values.tobytes()
    swapped = values[:]
    swapped.byteswap()
    return swapped.tobytes()


def _from_big_endian(typecode: str, data: bytes | bytearray) -> array[int]:
    values: array[int] = array(typecode)
    values.frombytes(data)
    if sys.byteorder == "little":
        values.byteswap()
    return values
