"""Giving batches their place in a log: offsets, leader epoch and, where the topic wants it, append time.

Works on the bytes that are about to be written and on headers already examined
(`penstock.storage.incoming`); knows no files. Called by `Log`'s appends.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import (
    CONTROL_FLAG,
    LENGTH_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptBatch,
    assign,
    assign_log_append_time,
)
from penstock.records.control import EndMarker, read_marker
from penstock.storage.incoming import ExaminedBatches


class Placed(NamedTuple):
    """A batch with its place in the log."""

    header: BatchHeader
    """As it came: its offset, epoch and timestamp may since have been written over."""
    base_offset: int
    leader_epoch: int
    max_timestamp: int

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.header.last_offset_delta + 1


def place_own(
    examined: ExaminedBatches,
    *,
    log_end_offset: int,
    leader_epoch: int,
    append_time_ms: int,
) -> list[Placed]:
    """Write offsets and leader epoch into new batches, and `append_time_ms` unless it is NO_TIMESTAMP."""
    offset = log_end_offset
    placed = []
    for position, header in examined.headers:
        assign(examined.data, position, offset, leader_epoch)
        timestamp = header.max_timestamp
        if append_time_ms != NO_TIMESTAMP:
            timestamp = append_time_ms
            assign_log_append_time(examined.data, position, header, append_time_ms)
        placed.append(Placed(header, offset, leader_epoch, timestamp))
        offset += header.records_count
    return placed


def place_from_leader(examined: ExaminedBatches, *, log_end_offset: int) -> list[Placed]:
    """Batches with offsets from the partition's leader; KafkaError when they do not follow this log."""
    offset = log_end_offset
    placed = []
    for position, header in examined.headers:
        if header.base_offset < offset or header.last_offset_delta < 0:
            message = f"batch {header.base_offset} at byte {position} where the log is at {offset}"
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, message)
        placed.append(Placed(header, header.base_offset, header.leader_epoch, header.max_timestamp))
        offset = header.next_offset
    return placed


def read_markers(data: memoryview, placed: list[Placed]) -> dict[int, EndMarker | None]:
    """What the control batches among these say, by offset; known before anything is written."""
    markers: dict[int, EndMarker | None] = {}
    position = 0
    for header, base_offset, _, _ in placed:
        if header.attributes & CONTROL_FLAG and header.producer_id >= 0:
            try:
                markers[base_offset] = read_marker(data, position)
            except CorruptBatch as error:
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"batch {base_offset}: {error}") from None
        position += header.batch_length + LENGTH_OVERHEAD
    return markers
