"""The aborted transactions of a segment: `.txnindex`, in Kafka's format of 34 bytes for each.

An entry stands in the index of the segment that holds the transaction's marker; the transaction may have
begun segments before. Readers of committed records are told of those that overlap what they fetch. Entries
are packed, in memory as on disk. Segments own it (`penstock.storage.segment`); which transactions were
aborted is known by `penstock.storage.producers`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

ABORTED_SUFFIX = ".txnindex"
_VERSION = 0
_ENTRY = Struct(">hqqqq")
ENTRY_BYTES = _ENTRY.size


class Aborted(NamedTuple):
    """A transaction that never was."""

    producer_id: int
    first_offset: int
    last_offset: int
    """The offset of its marker."""
    last_stable_offset: int
    """When it was aborted: no transaction whose marker comes later begins below."""


class AbortedIndex:
    """In the order of their markers."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes = b"") -> None:
        """ValueError when these cannot be the bytes of such an index."""
        if len(data) % ENTRY_BYTES:
            raise ValueError(f"{len(data)} bytes are not a whole number of entries")
        self._data = bytearray(data)
        last = -1
        for version, _, first_offset, last_offset, _ in _ENTRY.iter_unpack(data):
            if version != _VERSION or not first_offset <= last_offset or last_offset <= last:
                raise ValueError(f"the entry that ends at {last_offset} cannot be")
            last = last_offset

    def __len__(self) -> int:
        return len(self._data) // ENTRY_BYTES

    def __getitem__(self, index: int) -> Aborted:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return Aborted._make(_ENTRY.unpack_from(self._data, index * ENTRY_BYTES)[1:])

    def __iter__(self) -> Iterator[Aborted]:
        return (Aborted._make(fields[1:]) for fields in _ENTRY.iter_unpack(bytes(self._data)))

    @property
    def size_bytes(self) -> int:
        return len(self._data)

    def to_bytes(self) -> bytes:
        return bytes(self._data)

    def append(self, aborted: Aborted) -> None:
        self._data += _ENTRY.pack(_VERSION, *aborted)

    def truncate_to(self, offset: int) -> None:
        """Forget transactions whose markers stand at `offset` or later."""
        del self._data[self._first_ending_at(offset) * ENTRY_BYTES :]

    def overlapping(self, start: int, end: int) -> tuple[list[Aborted], bool]:
        """Those with something from offset `start` to below `end`, and whether no later segment can have
        more of them."""
        found: list[Aborted] = []
        for index in range(self._first_ending_at(start), len(self)):
            aborted = self[index]
            if aborted.first_offset < end:
                found.append(aborted)
            if aborted.last_stable_offset >= end:
                return found, True
        return found, False

    def _first_ending_at(self, offset: int) -> int:
        return bisect_left(self, offset, key=_last_offset)


def _last_offset(aborted: Aborted) -> int:
    return aborted.last_offset
