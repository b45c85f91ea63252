"""Walking the batch headers of a log file, in chunks, without reading all that stands between them.

Used by segments to find an offset or a timestamp near an index entry, and to rebuild indexes. Nothing here
checks a CRC: that is recovery's work (`penstock.storage.recovery`).
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.records.batch import HEADER, HEADER_SIZE, LENGTH_OVERHEAD, MAGIC, BatchHeader
from penstock.storage.disk import File
from penstock.storage.errors import Corruption

# Two index intervals of the default size: an offset is mostly found within the first chunk.
CHUNK_BYTES = 8192


def scan_headers(file: File, path: str, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Every batch from `position` to `end`, which are boundaries; `Corruption` when they are not."""
    chunk = b""
    chunk_position = position
    while position < end:
        if position + HEADER_SIZE > chunk_position + len(chunk):
            chunk = file.read(position, min(CHUNK_BYTES, end - position))
            chunk_position = position
            if len(chunk) < HEADER_SIZE:
                raise Corruption(path, position, "the file ends inside a batch header")
        header = BatchHeader._make(HEADER.unpack_from(chunk, position - chunk_position))
        following = position + LENGTH_OVERHEAD + header.batch_length
        if header.magic != MAGIC or following < position + HEADER_SIZE or following > end:
            raise Corruption(path, position, "no batch begins here")
        yield position, header
        position = following
