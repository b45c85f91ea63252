"""What a reader of a log gets: a slice of one segment's file, and the aborted transactions in it.

Looks through segments and changes nothing. Called by `Log`, under its lock.
"""

from __future__ import annotations

from penstock.storage.aborted import Aborted
from penstock.storage.segment import Segment
from penstock.storage.segments import Segments
from penstock.storage.slice import FileSlice


def find_slice(
    segments: Segments, offset: int, limit: int | None, max_bytes: int, *, at_least_one: bool
) -> tuple[Segment, FileSlice] | None:
    """Batches from the one that holds `offset` on, out of one segment and below offset `limit`, or None.

    The last batch may be cut at `max_bytes`. A first batch that is larger comes whole, or not at all unless
    `at_least_one`.
    """
    found = segments.find(offset)
    if found is None:
        return None
    segment, position, header = found
    end = segment.size if limit is None else _end_position(segments, segment, limit)
    size = min(max_bytes, end - position)
    if size < header.size_bytes:
        if not at_least_one or end - position < header.size_bytes:
            return None
        size = header.size_bytes
    return segment, FileSlice(segment.file, position, size)


def _end_position(segments: Segments, segment: Segment, limit: int) -> int:
    """Where the batches of `segment` that end below offset `limit` end."""
    following = segments.base_after(segment)
    if following is not None and following <= limit:
        return segment.size
    found = segment.find(limit)
    return found[0] if found else segment.size


def aborted_in(
    segments: Segments, segment: Segment, piece: FileSlice, offset: int, end: int
) -> list[Aborted]:
    """The aborted transactions that have something in a slice, which begins at `offset` and ends below
    `end`."""
    bound = segment.offset_bound(piece.position + piece.size)
    return aborted_between(segments, offset, end if bound is None else min(bound, end))


def aborted_between(segments: Segments, start: int, end: int) -> list[Aborted]:
    """Those with something from offset `start` to below `end`. Their markers may stand segments later."""
    aborted: list[Aborted] = []
    for segment in segments.from_offset(start):
        if segment.has_aborted():
            found, is_complete = segment.aborted.overlapping(start, end)
            aborted += found
            if is_complete:
                break
    return aborted
