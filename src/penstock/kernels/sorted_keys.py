"""Keys in order, for stores that are scanned: inserts, removals and ranges without sorting anew.

A list of short sorted lists, split when they grow: an insert moves a thousand pointers at most.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

CHUNK = 1000


class SortedKeys:
    """A set of byte strings in lexicographic order. Invariant: no chunk is empty but for the only one."""

    __slots__ = ("_chunks", "_lasts")

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        ordered = sorted(keys)
        self._chunks = [ordered[at : at + CHUNK] for at in range(0, len(ordered), CHUNK)] or [[]]
        self._lasts = [chunk[-1] for chunk in self._chunks if chunk]

    def add(self, key: bytes) -> None:
        """Add a key that is not there."""
        if not self._lasts:
            self._chunks, self._lasts = [[key]], [key]
            return
        at = min(bisect_left(self._lasts, key), len(self._lasts) - 1)
        chunk = self._chunks[at]
        insort(chunk, key)
        self._lasts[at] = chunk[-1]
        if len(chunk) > 2 * CHUNK:
            self._chunks[at : at + 1] = [chunk[:CHUNK], chunk[CHUNK:]]
            self._lasts[at : at + 1] = [chunk[CHUNK - 1], chunk[-1]]

    def remove(self, key: bytes) -> None:
        """Remove a key that is there."""
        at = bisect_left(self._lasts, key)
        chunk = self._chunks[at]
        del chunk[bisect_left(chunk, key)]
        if chunk:
            self._lasts[at] = chunk[-1]
        else:
            del self._lasts[at]
            if len(self._chunks) > 1:
                del self._chunks[at]

    def first(self) -> bytes | None:
        return self._chunks[0][0] if self._lasts else None

    def between(self, low: bytes | None, high: bytes | None, *, reverse: bool = False) -> list[bytes]:
        """The keys from `low` to `high`, both included; a copy, so that the store may change meanwhile."""
        found: list[bytes] = []
        first = 0 if low is None else bisect_left(self._lasts, low)
        for chunk in self._chunks[first:]:
            start = 0 if low is None else bisect_left(chunk, low)
            end = len(chunk) if high is None else bisect_right(chunk, high)
            found += chunk[start:end]
            if end < len(chunk):
                break
        return found[::-1] if reverse else found

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.between(None, None))
