"""Walking the batch headers of a log file, in chunks, without reading all that stands between them.

Used by segments to find an offset or a timestamp near an index entry, and to rebuild indexes. Nothing here
checks a CRC: that is recovery's work (`penstock.storage.recovery`).
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from penstock.records.batch import HEADER, HEADER_SIZE, LENGTH_OVERHEAD, MAGIC, BatchHeader
from penstock.storage.disk import File
from penstock.storage.errors import Corruption

# Two index intervals of the default size: an offset is mostly found within the first chunk.
CHUNK_BYTES = 8192
# Base offset, length, magic and last offset delta: all that it takes to step over a batch.
_STEP = Struct(">qi4xb6xi")


def scan_headers(file: File, path: str, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Every batch from `position` to `end`, which are boundaries; `Corruption` when they are not."""
    chunk = b""
    chunk_position = position
    while position < end:
        if position + HEADER_SIZE > chunk_position + len(chunk):
            chunk = _read_chunk(file, path, position, end)
            chunk_position = position
        header = BatchHeader._make(HEADER.unpack_from(chunk, position - chunk_position))
        following = position + LENGTH_OVERHEAD + header.batch_length
        if header.magic != MAGIC or following < position + HEADER_SIZE or following > end:
            raise Corruption(path, position, "no batch begins here")
        yield position, header
        position = following


def find_ending_at(
    file: File, path: str, position: int, end: int, offset: int
) -> tuple[int, BatchHeader] | None:
    """The first batch from `position` on that ends at `offset` or later: what every fetch begins with."""
    chunk = b""
    chunk_position = position
    while position < end:
        start = position - chunk_position
        if start + HEADER_SIZE > len(chunk):
            chunk = _read_chunk(file, path, position, end)
            chunk_position = position
            start = 0
        base_offset, length, magic, last_offset_delta = _STEP.unpack_from(chunk, start)
        following = position + LENGTH_OVERHEAD + length
        if magic != MAGIC or length < HEADER_SIZE - LENGTH_OVERHEAD or following > end:
            raise Corruption(path, position, "no batch begins here")
        if base_offset + last_offset_delta >= offset:
            return position, BatchHeader._make(HEADER.unpack_from(chunk, start))
        position = following
    return None


def _read_chunk(file: File, path: str, position: int, end: int) -> bytes:
    chunk = file.read(position, min(CHUNK_BYTES, end - position))
    if len(chunk) < HEADER_SIZE:
        raise Corruption(path, position, "the file ends inside a batch header")
    return chunk
