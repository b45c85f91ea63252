"""A segment: one file of batches with its offset index and its time index.

The active segment keeps its indexes in memory and writes them when it is sealed (rolled or closed cleanly);
after an unclean stop they are rebuilt. A sealed segment opens its file and loads its indexes when first
needed. The log decides when to roll and what to append; recovery decides what survives a crash.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from penstock.records.batch import NO_TIMESTAMP, BatchHeader
from penstock.storage.disk import Bytes, Disk, File
from penstock.storage.index import (
    MAX_RELATIVE_OFFSET,
    OFFSET_ENTRY_BYTES,
    TIME_ENTRY_BYTES,
    OffsetIndex,
    TimeIndex,
)
from penstock.storage.scan import scan_headers

LOG_SUFFIX = ".log"
OFFSET_INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
OFFSET_DIGITS = 20
_NOWHERE = 2**63 - 1


def file_name(base_offset: int, suffix: str) -> str:
    return f"{base_offset:0{OFFSET_DIGITS}d}{suffix}"


class Segment:
    """Batches from `base_offset` on. Invariant: every offset, relative to the base, fits in 31 bits."""

    __slots__ = (
        "_bytes_since_index",
        "_disk",
        "_file",
        "_offset_index",
        "_rolling_timestamp",
        "_tail_offset",
        "_tail_position",
        "_time_index",
        "base_offset",
        "created_ms",
        "directory",
        "index_interval_bytes",
        "max_timestamp",
        "offset_of_max_timestamp",
        "path",
        "size",
    )

    def __init__(
        self, disk: Disk, directory: str, base_offset: int, *, index_interval_bytes: int, now_ms: int
    ) -> None:
        self._disk = disk
        self.directory = directory
        self.base_offset = base_offset
        self.path = os.path.join(directory, file_name(base_offset, LOG_SUFFIX))
        self.index_interval_bytes = index_interval_bytes
        # When this object was made; segments without timestamps roll by it, as Kafka's do.
        self.created_ms = now_ms
        self.size = 0
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        # The timestamp of the first batch, from which `segment.ms` counts; None until it is known.
        self._rolling_timestamp: int | None = None
        self._bytes_since_index = 0
        # The batch appended last: consumers at the tail ask for it most of all.
        self._tail_offset = _NOWHERE
        self._tail_position = 0
        self._file: File | None = None
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None

    @classmethod
    def create(
        cls, disk: Disk, directory: str, base_offset: int, *, index_interval_bytes: int, now_ms: int
    ) -> Segment:
        """A new, empty segment, ready to be appended to."""
        segment = cls(disk, directory, base_offset, index_interval_bytes=index_interval_bytes, now_ms=now_ms)
        segment._file = disk.create(segment.path)
        segment._offset_index = OffsetIndex(base_offset)
        segment._time_index = TimeIndex(base_offset)
        return segment

    @classmethod
    def load(
        cls, disk: Disk, directory: str, base_offset: int, *, index_interval_bytes: int, now_ms: int
    ) -> Segment:
        """A segment that is on disk. Missing or cut indexes are rebuilt, the others loaded when needed."""
        segment = cls(disk, directory, base_offset, index_interval_bytes=index_interval_bytes, now_ms=now_ms)
        segment.size = disk.size(segment.path)
        if not segment._load_max_timestamp():
            segment.rebuild_indexes()
        return segment

    # Files

    @property
    def file(self) -> File:
        """The log file, opened when first asked for."""
        file = self._file
        if file is None:
            file = self._file = self._disk.open(self.path)
        return file

    @property
    def offset_index(self) -> OffsetIndex:
        index = self._offset_index
        if index is None:
            self._load_indexes()
            index = self._offset_index
            assert index is not None
        return index

    @property
    def time_index(self) -> TimeIndex:
        index = self._time_index
        if index is None:
            self._load_indexes()
            index = self._time_index
            assert index is not None
        return index

    def _sibling(self, suffix: str) -> str:
        return os.path.join(self.directory, file_name(self.base_offset, suffix))

    def _load_max_timestamp(self) -> bool:
        """Read the last entry of the time index only; False when an index is missing or cut."""
        offset_path, time_path = self._sibling(OFFSET_INDEX_SUFFIX), self._sibling(TIME_INDEX_SUFFIX)
        if not (self._disk.exists(offset_path) and self._disk.exists(time_path)):
            return False
        time_bytes = self._disk.size(time_path)
        if self._disk.size(offset_path) % OFFSET_ENTRY_BYTES or time_bytes % TIME_ENTRY_BYTES:
            return False
        if time_bytes:
            file = self._disk.open(time_path)
            try:
                data = file.read(time_bytes - TIME_ENTRY_BYTES, TIME_ENTRY_BYTES)
                last = TimeIndex.from_bytes(self.base_offset, data).last_entry()
            except ValueError:
                return False
            finally:
                file.close()
            assert last is not None
            self.max_timestamp, self.offset_of_max_timestamp = last
        return True

    def _load_indexes(self) -> None:
        try:
            offsets = self._disk.read_bytes(self._sibling(OFFSET_INDEX_SUFFIX))
            times = self._disk.read_bytes(self._sibling(TIME_INDEX_SUFFIX))
            self._offset_index = OffsetIndex.from_bytes(self.base_offset, offsets, self.size)
            self._time_index = TimeIndex.from_bytes(self.base_offset, times)
        except (FileNotFoundError, ValueError):
            self.rebuild_indexes()

    def rebuild_indexes(self) -> None:
        """Make both indexes anew from the batches of the log, and write them."""
        self.begin_rebuild()
        for position, header in scan_headers(self.file, self.path, 0, self.size):
            self.note(position, header.size_bytes, header.last_offset, header.max_timestamp)
        self.write_indexes()

    def begin_rebuild(self) -> None:
        """Forget what the indexes say; `note` every batch afterwards."""
        self._offset_index = OffsetIndex(self.base_offset)
        self._time_index = TimeIndex(self.base_offset)
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = self.base_offset
        self._rolling_timestamp = None
        self._bytes_since_index = 0

    def write_indexes(self) -> None:
        """Write both indexes, with the largest timestamp as the time index's last entry."""
        self.time_index.append_if_later(self.max_timestamp, self.offset_of_max_timestamp)
        for suffix, data in (
            (OFFSET_INDEX_SUFFIX, self.offset_index.to_bytes()),
            (TIME_INDEX_SUFFIX, self.time_index.to_bytes()),
        ):
            file = self._disk.create(self._sibling(suffix))
            try:
                file.append(data)
            finally:
                file.close()

    # Appending

    def should_roll(
        self, size_bytes: int, last_offset: int, max_timestamp: int, now_ms: int, limits: RollLimits
    ) -> bool:
        """Whether these batches belong into the next segment, by Kafka's rules."""
        if self.size > limits.segment_bytes - size_bytes:
            return self.size > 0
        if last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
            return True
        if not self.size:
            return False
        if self._waited_ms(max_timestamp, now_ms) > limits.segment_ms:
            return True
        return (
            len(self.offset_index) >= limits.index_bytes // OFFSET_ENTRY_BYTES
            or len(self.time_index) >= limits.index_bytes // TIME_ENTRY_BYTES - 1
        )

    def _waited_ms(self, max_timestamp: int, now_ms: int) -> int:
        first = self._rolling_timestamp
        if first is None:
            first = self._rolling_timestamp = self._first_timestamp()
        return max_timestamp - first if first >= 0 else now_ms - self.created_ms

    def _first_timestamp(self) -> int:
        for _, header in scan_headers(self.file, self.path, 0, self.size):
            return header.max_timestamp
        return NO_TIMESTAMP

    def append(self, data: Bytes, first_offset: int) -> int:
        """Write whole batches with one write and return their position; `note` each of them afterwards."""
        position = self.file.append(data)
        self._tail_offset = first_offset
        self._tail_position = position
        self.size = position + len(data)
        return position

    def note(self, position: int, size_bytes: int, last_offset: int, max_timestamp: int) -> None:
        """Account for a batch at the end: its timestamp, and an index entry where one is due."""
        if self._rolling_timestamp is None:
            self._rolling_timestamp = max_timestamp
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if self._bytes_since_index > self.index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.append_if_later(self.max_timestamp, self.offset_of_max_timestamp)
            self._bytes_since_index = 0
        self._bytes_since_index += size_bytes

    # Finding

    def find(self, offset: int) -> tuple[int, BatchHeader] | None:
        """The first batch that ends at `offset` or later, with its position; None when there is none."""
        start = self._tail_position if offset >= self._tail_offset else self.offset_index.position_for(offset)
        for position, header in scan_headers(self.file, self.path, start, self.size):
            if header.base_offset + header.last_offset_delta >= offset:
                return position, header
        return None

    def find_time(self, timestamp: int) -> tuple[int, BatchHeader] | None:
        """The first batch with a record at `timestamp` or later, with its position."""
        start = self.offset_index.position_for(self.time_index.offset_for(timestamp))
        for position, header in scan_headers(self.file, self.path, start, self.size):
            if header.max_timestamp >= timestamp:
                return position, header
        return None

    def next_offset(self) -> int:
        """The offset after the last batch; the base offset when there is none."""
        offset = self.base_offset
        start = self.offset_index.last_position()
        for _, header in scan_headers(self.file, self.path, start, self.size):
            offset = header.next_offset
        return offset

    # Ending

    def truncate_to(self, offset: int) -> None:
        """Cut away every batch that ends at `offset` or later."""
        found = self.find(offset)
        if found is None:
            return
        size, _ = found
        self.file.truncate(size)
        self.size = size
        self._tail_offset = _NOWHERE
        self.offset_index.truncate_to(size)
        self.time_index.truncate_to(offset)
        self._restore_after_cut()

    def _restore_after_cut(self) -> None:
        last = self.time_index.last_entry()
        self.max_timestamp, self.offset_of_max_timestamp = last or (NO_TIMESTAMP, self.base_offset)
        # The time index knows everything up to the last indexed batch; what came after it is read again.
        start = self.offset_index.last_position()
        for _, header in scan_headers(self.file, self.path, start, self.size):
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp = header.max_timestamp
                self.offset_of_max_timestamp = header.last_offset
        self._bytes_since_index = self.size - start
        if not self.size:
            self._rolling_timestamp = None

    def sync(self) -> None:
        """Make the batches durable."""
        self.file.sync()

    def delete(self) -> None:
        """Remove the files; slices already handed out stay readable."""
        for suffix in (LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX):
            self._disk.remove(self._sibling(suffix))
        self._file = None


class RollLimits(NamedTuple):
    """When a segment is full: from the topic's settings, and this segment's share of jitter."""

    segment_bytes: int
    segment_ms: int
    index_bytes: int
