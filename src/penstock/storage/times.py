"""Finding records by timestamp, through the time indexes: what ListOffsets asks of a log.

Walks segments, decodes at most the batches that may hold the answer, changes nothing.
"""

from __future__ import annotations

from penstock.records.batch import BatchHeader, CorruptBatch, check_crc
from penstock.records.record import decode_batch
from penstock.storage.errors import Corruption
from penstock.storage.segment import Segment
from penstock.storage.segments import Segments


def first_at(segments: Segments, timestamp: int, log_start_offset: int) -> tuple[int, int] | None:
    """(timestamp, offset) of the first record at `timestamp` or later."""
    for segment in segments:
        if segment.latest_timestamp() < timestamp:
            continue
        for position, header in segment.batches_at(timestamp):
            found = _first_in_batch(segment, position, header, timestamp, log_start_offset)
            if found is not None:
                return found
    return None


def latest(segments: Segments, log_start_offset: int) -> tuple[int, int] | None:
    """(timestamp, offset) of the record with the largest timestamp, the first of equals."""
    timestamp = max(segment.latest_timestamp() for segment in segments)
    return first_at(segments, timestamp, log_start_offset) if timestamp >= 0 else None


def _first_in_batch(
    segment: Segment, position: int, header: BatchHeader, timestamp: int, log_start_offset: int
) -> tuple[int, int] | None:
    if header.last_offset < log_start_offset:
        return None
    batch = segment.file.read(position, header.size_bytes)
    try:
        check_crc(batch, 0, header)
    except CorruptBatch as error:
        raise Corruption(segment.path, position, str(error)) from error
    try:
        records = decode_batch(batch)
    except CorruptBatch:
        # A producer wrote nonsense, or more than we care to unpack: the batch itself is the best answer.
        return header.max_timestamp, max(header.base_offset, log_start_offset)
    for record in records:
        if record.timestamp_ms >= timestamp and record.offset >= log_start_offset:
            return record.timestamp_ms, record.offset
    return None
