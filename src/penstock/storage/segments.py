"""The row of segments of one log, oldest first, the last one active. Finds which of them holds an offset.

Used by `Log` alone, under its lock. It opens and deletes nothing by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from penstock.records.batch import BatchHeader
from penstock.storage.scan import scan_headers
from penstock.storage.segment import Segment


def with_ends(segments: Sequence[Segment], end: int) -> list[tuple[Segment, int]]:
    """Neighbours, each with the offset at which the next one begins; `end` for the last."""
    bases = [segment.base_offset for segment in segments]
    return list(zip(segments, [*bases[1:], end], strict=False))


class Segments:
    """Never empty. Invariant: base offsets increase strictly."""

    def __init__(self, segments: list[Segment]) -> None:
        assert segments
        self._segments = segments
        self._bases = [segment.base_offset for segment in segments]

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    @property
    def active(self) -> Segment:
        return self._segments[-1]

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    def add(self, segment: Segment) -> None:
        """`segment` follows all the others and is active from now on."""
        self._segments.append(segment)
        self._bases.append(segment.base_offset)

    def pop_last(self) -> Segment:
        self._bases.pop()
        return self._segments.pop()

    def pop_first(self) -> Segment:
        self._bases.pop(0)
        return self._segments.pop(0)

    def has_sealed(self, neighbours: Sequence[Segment]) -> bool:
        """Whether these stand in the row, one after the other and before the active one."""
        start = bisect_right(self._bases, neighbours[0].base_offset) - 1
        end = start + len(neighbours)
        return start >= 0 and end < len(self) and self._segments[start:end] == list(neighbours)

    def replace(self, neighbours: Sequence[Segment], segment: Segment) -> None:
        """`segment` stands where these stood, and begins at the same offset."""
        assert segment.base_offset == neighbours[0].base_offset
        start = self._segments.index(neighbours[0])
        self._segments[start : start + len(neighbours)] = [segment]
        self._bases[start : start + len(neighbours)] = [segment.base_offset]

    def from_offset(self, offset: int) -> list[Segment]:
        """The segment that holds `offset`, and those after it."""
        return self._segments[max(0, bisect_right(self._bases, offset) - 1) :]

    def base_after(self, segment: Segment) -> int | None:
        """The base offset of the segment after this one; None for the active one."""
        following = bisect_right(self._bases, segment.base_offset)
        return self._bases[following] if following < len(self._bases) else None

    def find(self, offset: int) -> tuple[Segment, int, BatchHeader] | None:
        """The batch that holds `offset`, or the next one: its segment, position and header."""
        if offset >= self._bases[-1]:
            segment = self._segments[-1]
            found = segment.find(offset)
            return None if found is None else (segment, *found)
        # Compaction may leave nothing between an offset and the base of the next segment: then look there.
        for segment in self.from_offset(offset):
            if found := segment.find(offset):
                return segment, *found
        return None

    def scan(self, offset: int) -> Iterator[tuple[Segment, int, BatchHeader]]:
        """The headers of all batches from `offset` on, each with its segment and its position there."""
        for segment in self.from_offset(offset):
            found = segment.find(offset)
            start = found[0] if found else segment.size
            for position, header in scan_headers(segment.file, segment.path, start, segment.size):
                yield segment, position, header

    def headers_before(self, offset: int, size_bytes: int) -> Iterator[BatchHeader]:
        """The headers of batches before `offset` in their order: of the last `size_bytes`, or a little
        more."""
        stretches: list[tuple[Segment, int, int]] = []
        for segment in reversed(self._segments):
            if size_bytes > 0 and segment.base_offset < offset:
                found = segment.find(offset)
                end = found[0] if found else segment.size
                start = segment.position_before(end - size_bytes)
                stretches.append((segment, start, end))
                size_bytes -= end - start
        for segment, start, end in reversed(stretches):
            for _, header in scan_headers(segment.file, segment.path, start, end):
                yield header
