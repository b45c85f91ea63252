"""A segment: one file of batches with its offset index, its time index, and its aborted transactions.

The active segment of a log keeps its indexes in memory and writes them when it is sealed (rolled, or closed
cleanly); after an unclean stop they are rebuilt. A sealed segment opens its file and loads its indexes when
they are needed, and lets go of them when others need them more (`penstock.storage.warm`). The log decides
when to roll, what to append and which transactions were aborted; recovery decides what survives a crash.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import NamedTuple

from penstock.records.batch import NO_TIMESTAMP, BatchHeader
from penstock.settings.topic import TopicSettings
from penstock.storage.aborted import ABORTED_SUFFIX, AbortedIndex
from penstock.storage.disk import Bytes, Disk, File
from penstock.storage.errors import Corruption
from penstock.storage.index import (
    MAX_RELATIVE_OFFSET,
    OFFSET_ENTRY_BYTES,
    TIME_ENTRY_BYTES,
    Indexes,
    OffsetIndex,
    TimeIndex,
)
from penstock.storage.scan import find_ending_at, scan_headers
from penstock.storage.warm import WarmSegments

LOG_SUFFIX = ".log"
OFFSET_INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
INDEX_SUFFIXES = (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, ABORTED_SUFFIX)
OFFSET_DIGITS = 20
_NOWHERE = 2**63 - 1


class Place(NamedTuple):
    """Where the segments of one log live."""

    disk: Disk
    path: str
    warm: WarmSegments


class RollLimits(NamedTuple):
    """When a segment is full: from the topic's settings, less this segment's share of jitter."""

    segment_bytes: int
    segment_ms: int
    offset_entries: int
    time_entries: int

    @classmethod
    def of(cls, settings: TopicSettings, random: Random) -> RollLimits:
        # Jitter keeps the partitions of a topic from rolling all at once.
        jitter = random.randrange(min(settings.segment_jitter_ms, settings.segment_ms) + 1)
        segment_ms = settings.segment_ms - jitter
        if "compact" in settings.cleanup_policy:
            # Nothing is compacted before it is rolled.
            segment_ms = min(segment_ms, settings.max_compaction_lag_ms)
        return cls(
            settings.segment_bytes,
            segment_ms,
            settings.segment_index_bytes // OFFSET_ENTRY_BYTES,
            settings.segment_index_bytes // TIME_ENTRY_BYTES - 1,
        )


def file_name(base_offset: int, suffix: str) -> str:
    return f"{base_offset:0{OFFSET_DIGITS}d}{suffix}"


class Segment:
    """Batches from `base_offset` on. Invariant: every offset, relative to the base, fits in 31 bits."""

    __slots__ = (
        "_aborted",
        "_bytes_since_index",
        "_disk",
        "_file",
        "_has_aborted_file",
        "_indexes",
        "_place",
        "_rolling_timestamp",
        "_suffix",
        "_tail_offset",
        "_tail_position",
        "_timestamp_known",
        "base_offset",
        "created_ms",
        "index_interval_bytes",
        "max_timestamp",
        "offset_of_max_timestamp",
        "path",
        "sealed",
        "size",
    )

    def __init__(
        self, place: Place, base_offset: int, index_interval_bytes: int, now_ms: int, suffix: str = ""
    ) -> None:
        self._place = place
        self._disk = place.disk
        self.base_offset = base_offset
        # Behind the names of all its files, while it comes or goes (`penstock.storage.swap`).
        self._suffix = suffix
        self.path = self._sibling(LOG_SUFFIX)
        self.index_interval_bytes = index_interval_bytes
        # When this object was made; batches without timestamps roll and expire by it.
        self.created_ms = now_ms
        self.size = 0
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        # False in a segment loaded from disk until it is first needed; then the two above say nothing.
        self._timestamp_known = True
        # The timestamp of the first batch, from which `segment.ms` counts; None until it is first needed.
        self._rolling_timestamp: int | None = None
        self._bytes_since_index = 0
        # The batches appended last: consumers at the tail ask for them most of all.
        self._tail_offset = _NOWHERE
        self._tail_position = 0
        # A sealed segment is not appended to, and its indexes are on disk.
        self.sealed = True
        self._file: File | None = None
        self._indexes: Indexes | None = None
        self._aborted: AbortedIndex | None = None
        self._has_aborted_file: bool | None = None  # None until it is first needed

    @classmethod
    def create(
        cls, place: Place, base_offset: int, index_interval_bytes: int, now_ms: int, suffix: str = ""
    ) -> Segment:
        """A new, empty segment, ready to be appended to."""
        segment = cls(place, base_offset, index_interval_bytes, now_ms, suffix)
        segment._file = place.disk.create(segment.path)
        segment.begin_rebuild()
        return segment

    @classmethod
    def load(cls, place: Place, base_offset: int, index_interval_bytes: int, now_ms: int) -> Segment:
        """A sealed segment on disk. Missing or cut indexes are rebuilt, the others loaded when needed."""
        segment = cls(place, base_offset, index_interval_bytes, now_ms)
        segment.size = place.disk.size(segment.path)
        segment._timestamp_known = False
        if not segment._has_indexes():
            segment.reindex()
        return segment

    # Files

    @property
    def file(self) -> File:
        """The log file, opened when it is asked for."""
        file = self._file
        if file is None:
            file = self._file = self._disk.open(self.path)
        if self.sealed:
            self._touch()
        return file

    @property
    def indexes(self) -> Indexes:
        """Both indexes, loaded when they are asked for."""
        indexes = self._indexes
        if indexes is None:
            indexes = self._indexes = self._load_indexes()
            self._touch()
        return indexes

    @property
    def aborted(self) -> AbortedIndex:
        """The transactions whose abort markers stand here; `Corruption` when their file is damaged."""
        aborted = self._aborted
        if aborted is None:
            if not self.has_aborted():
                return AbortedIndex()
            name = self._sibling(ABORTED_SUFFIX)
            try:
                aborted = self._aborted = AbortedIndex(self._disk.read_bytes(name))
            except ValueError as error:
                raise Corruption(name, 0, str(error)) from error
            self._touch()
        return aborted

    def has_aborted(self) -> bool:
        """Whether there may be any, without loading them."""
        if self._aborted is not None:
            return len(self._aborted) > 0
        if self._has_aborted_file is None:
            self._has_aborted_file = self._disk.exists(self._sibling(ABORTED_SUFFIX))
        return self._has_aborted_file

    def is_aborted_sound(self) -> bool:
        """Whether the file of aborted transactions, if there is one, can be read."""
        try:
            return len(self.aborted) >= 0
        except Corruption:
            return False

    def replace_aborted(self, aborted: AbortedIndex) -> None:
        """These and no others were aborted; durable when the segment is sealed."""
        self._aborted = aborted
        if self.sealed:
            self._write_aborted()
            if self._has_aborted_file:
                self._disk.open(self._sibling(ABORTED_SUFFIX)).sync()
            self._touch()

    def _touch(self) -> None:
        indexes, aborted = self._indexes, self._aborted  # another log's thread may cool us at any moment
        size = (0 if indexes is None else indexes.size_bytes) + (0 if aborted is None else aborted.size_bytes)
        self._place.warm.touch(self, size)

    def cool(self) -> None:
        """Let go of file and indexes; they are opened and loaded again when they are asked for."""
        self._file = None
        self._indexes = None
        self._aborted = None

    def _sibling(self, suffix: str) -> str:
        return os.path.join(self._place.path, file_name(self.base_offset, suffix) + self._suffix)

    def rename(self, suffix: str) -> None:
        """Put `suffix` behind the names of all files, or take it away. The log comes last: it decides."""
        for kind in (*INDEX_SUFFIXES, LOG_SUFFIX):
            if self._disk.exists(self._sibling(kind)):
                self._disk.rename(
                    self._sibling(kind),
                    os.path.join(self._place.path, file_name(self.base_offset, kind) + suffix),
                )
        self._suffix = suffix
        self.path = self._sibling(LOG_SUFFIX)

    def retire(self) -> None:
        """Another segment takes over: let go of everything. Slices already handed out stay readable."""
        self._place.warm.forget(self)
        self.cool()

    def index_bytes(self) -> int:
        """The size of the larger one of the two indexes on disk; 0 when they wait to be rebuilt."""
        names = self._sibling(OFFSET_INDEX_SUFFIX), self._sibling(TIME_INDEX_SUFFIX)
        return max((self._disk.size(name) for name in names if self._disk.exists(name)), default=0)

    def _has_indexes(self) -> bool:
        """Whether both indexes are there and hold whole entries; what they say is checked when it is used.
        Without batches there is nothing for them to say."""
        if not self.size:
            return True
        try:
            offset_bytes = self._disk.size(self._sibling(OFFSET_INDEX_SUFFIX))
            time_bytes = self._disk.size(self._sibling(TIME_INDEX_SUFFIX))
        except FileNotFoundError:
            return False
        return not (offset_bytes % OFFSET_ENTRY_BYTES or time_bytes % TIME_ENTRY_BYTES)

    def _load_indexes(self) -> Indexes:
        if not self.size:
            return Indexes(OffsetIndex(self.base_offset), TimeIndex(self.base_offset))
        try:
            offsets = self._disk.read_bytes(self._sibling(OFFSET_INDEX_SUFFIX))
            times = self._disk.read_bytes(self._sibling(TIME_INDEX_SUFFIX))
            return Indexes(
                OffsetIndex.from_bytes(self.base_offset, offsets, self.size),
                TimeIndex.from_bytes(self.base_offset, times),
            )
        except (FileNotFoundError, ValueError):
            return self.reindex()

    def reindex(self) -> Indexes:
        """Make offset and time index anew from the batches of the log. `Corruption` when these are at
        fault."""
        sealed = self.sealed
        aborted = self._aborted  # stays: batches alone do not tell how transactions ended
        indexes = self.begin_rebuild()
        self._aborted = aborted
        for position, header in scan_headers(self.file, self.path, 0, self.size):
            self.note(position, header.size_bytes, header.last_offset, header.max_timestamp)
        if sealed:
            self._write_sparse_indexes()
            self.seal()
        return indexes

    def begin_rebuild(self) -> Indexes:
        """Forget what the indexes say and unseal; `note` every batch afterwards, and every abort."""
        self._place.warm.forget(self)
        self.sealed = False
        indexes = self._indexes = Indexes(OffsetIndex(self.base_offset), TimeIndex(self.base_offset))
        self._aborted = AbortedIndex()
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = self.base_offset
        self._timestamp_known = True
        self._rolling_timestamp = None
        self._bytes_since_index = 0
        return indexes

    def write_indexes(self) -> None:
        """Write all indexes to their files."""
        self._write_sparse_indexes()
        self._write_aborted()

    def _write_sparse_indexes(self) -> None:
        """Offsets and times, with the largest timestamp as the time index's last entry."""
        offsets, times = self.indexes
        times.append_if_later(self.max_timestamp, self.offset_of_max_timestamp)
        for suffix, data in (
            (OFFSET_INDEX_SUFFIX, offsets.to_bytes()),
            (TIME_INDEX_SUFFIX, times.to_bytes()),
        ):
            self._disk.create(self._sibling(suffix)).append(data)

    def _write_aborted(self) -> None:
        """Without any there is no file, unless an old one has to be overwritten: that of this segment, or of
        the one whose place it takes."""
        aborted = self.aborted
        final = os.path.join(self._place.path, file_name(self.base_offset, ABORTED_SUFFIX))
        self._has_aborted_file = len(aborted) > 0 or self._disk.exists(final)
        if self._has_aborted_file:
            self._disk.create(self._sibling(ABORTED_SUFFIX)).append(aborted.to_bytes())

    def seal(self) -> None:
        """The indexes are written and appends have ended."""
        self.sealed = True
        self._touch()

    def unseal(self) -> None:
        """Become active: indexes stay in memory from here on."""
        self.latest_timestamp()
        indexes = self.indexes
        # One that cannot be read is made anew by recovery.
        aborted = self.aborted if self.is_aborted_sound() else AbortedIndex()
        self._place.warm.forget(self)
        self._indexes, self._aborted = indexes, aborted
        self.sealed = False

    # Appending

    def should_roll(
        self,
        size_bytes: int,
        last_offset: int,
        max_timestamp: int,
        now_ms: Callable[[], int],
        limits: RollLimits,
    ) -> bool:
        """Whether batches of this size and end belong into the next segment, by Kafka's rules."""
        if last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
            return True
        if not self.size:
            return False
        first = self._rolling_timestamp
        if first is None:
            first = self._rolling_timestamp = self.first_timestamp()
        waited_ms = max_timestamp - first if first >= 0 else now_ms() - self.created_ms
        offsets, times = self._indexes or self.indexes
        return (
            self.size > limits.segment_bytes - size_bytes
            or waited_ms > limits.segment_ms
            or len(offsets) >= limits.offset_entries
            or len(times) >= limits.time_entries
        )

    def first_timestamp(self) -> int:
        """The largest timestamp of the first batch; NO_TIMESTAMP without batches."""
        for _, header in scan_headers(self.file, self.path, 0, self.size):
            return header.max_timestamp
        return NO_TIMESTAMP

    def append(self, data: Bytes, first_offset: int) -> int:
        """Write whole batches with one write and return their position; `note` each of them afterwards."""
        file = self._file
        position = (self.file if file is None or self.sealed else file).append(data)
        self._tail_offset = first_offset
        self._tail_position = position
        self.size = position + len(data)
        return position

    @property
    def active_file(self) -> File | None:
        """The file of a segment that is appended to."""
        return None if self.sealed else self._file

    @property
    def rolling_timestamp(self) -> int:
        """From which `segment.ms` counts; NO_TIMESTAMP when it counts from the segment's making."""
        if self._rolling_timestamp is None:
            self._rolling_timestamp = self.first_timestamp()
        return self._rolling_timestamp

    def entries_left(self, limits: RollLimits) -> int:
        """How many batches there may be at least before the indexes are full."""
        offsets, times = self.indexes
        return min(limits.offset_entries - len(offsets), limits.time_entries - len(times))

    def extended(self, headers: Iterable[BatchHeader]) -> None:
        """Account for batches that the log's tail has written behind the others (`penstock.storage.tail`)."""
        assert self._file is not None
        assert not self.sealed
        for header in headers:
            self._tail_offset, self._tail_position = header.base_offset, self.size
            self.note(self.size, header.size_bytes, header.last_offset, header.max_timestamp)
            self.size += header.size_bytes
        self._file.extended(self.size)

    def note(self, position: int, size_bytes: int, last_offset: int, max_timestamp: int) -> None:
        """Account for a batch at the end: its timestamp, and an index entry where one is due."""
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if self._bytes_since_index > self.index_interval_bytes:
            offsets, times = self._indexes or self.indexes
            offsets.append(last_offset, position)
            times.append_if_later(self.max_timestamp, self.offset_of_max_timestamp)
            self._bytes_since_index = 0
        self._bytes_since_index += size_bytes

    # Finding. Indexes carry no checksum: what they say is held against the batch they point to, and an index
    # that is wrong is made anew.

    def find(self, offset: int) -> tuple[int, BatchHeader] | None:
        """The first batch that ends at `offset` or later, with its position; None when there is none."""
        try:
            return self._find(offset)
        except Corruption:
            self.reindex()
            return self._find(offset)

    def _find(self, offset: int) -> tuple[int, BatchHeader] | None:
        if offset >= self._tail_offset:
            start = self._tail_position
        else:
            start = self.indexes.offsets.position_for(offset)
        found = find_ending_at(self.file, self.path, start, self.size, offset)
        if found is not None and found[0] == start and start and found[1].base_offset > offset:
            raise Corruption(self.path, start, f"the index points here for offset {offset}")
        return found

    def batches_at(self, timestamp: int) -> Iterator[tuple[int, BatchHeader]]:
        """Every batch with a record at `timestamp` or later, with its position."""
        entry = self.indexes.times.entry_before(timestamp)
        if entry is not None and not self._brings(*entry):
            self.reindex()
            entry = self.indexes.times.entry_before(timestamp)
        found = None if entry is None else self.find(entry[1])
        start = 0 if found is None else found[0]
        for position, header in scan_headers(self.file, self.path, start, self.size):
            if header.max_timestamp >= timestamp:
                yield position, header

    def latest_timestamp(self) -> int:
        """The largest timestamp in the segment, as its time index says when it was loaded from disk."""
        if not self._timestamp_known:
            last = self.indexes.times.last_entry() or (NO_TIMESTAMP, self.base_offset)
            if self._brings(*last):
                self.max_timestamp, self.offset_of_max_timestamp = last
                self._timestamp_known = True
            else:
                self.reindex()
        return self.max_timestamp

    def _brings(self, timestamp: int, offset: int) -> bool:
        """Whether an entry of the time index is true: the batch that ends at `offset` brought it."""
        if timestamp == NO_TIMESTAMP:
            return self.first_timestamp() == NO_TIMESTAMP
        found = self.find(offset)
        return found is not None and (found[1].max_timestamp, found[1].last_offset) == (timestamp, offset)

    def position_before(self, position: int) -> int:
        """Where an indexed batch begins, at `position` or the next one before it."""
        return self.indexes.offsets.position_before(position)

    def offset_bound(self, position: int) -> int | None:
        """An offset that no batch before `position` reaches, as near as the index knows one."""
        return self.indexes.offsets.offset_from(position)

    def next_offset(self) -> int:
        """The offset after the last batch; the base offset when there is none."""
        try:
            return self._next_offset()
        except Corruption:
            self.reindex()
            return self._next_offset()

    def _next_offset(self) -> int:
        offset = self.base_offset
        start = self.indexes.offsets.last_position()
        for _, header in scan_headers(self.file, self.path, start, self.size):
            offset = header.next_offset
        return offset

    # Ending

    def truncate_to(self, offset: int) -> None:
        """Cut away every batch that ends at `offset` or later. The segment is active."""
        found = self.find(offset)
        if found is None:
            return
        size, _ = found
        self.file.truncate(size)
        self.size = size
        self._tail_offset = _NOWHERE
        offsets, times = self.indexes
        offsets.truncate_to(size)
        times.truncate_to(offset)
        self.aborted.truncate_to(offset)
        self._restore_after_cut(offsets.last_position(), times.last_entry())

    def _restore_after_cut(self, indexed_position: int, last: tuple[int, int] | None) -> None:
        self.max_timestamp, self.offset_of_max_timestamp = last or (NO_TIMESTAMP, self.base_offset)
        # The time index knows everything up to the last indexed batch; what came after it is read again.
        for _, header in scan_headers(self.file, self.path, indexed_position, self.size):
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp = header.max_timestamp
                self.offset_of_max_timestamp = header.last_offset
        self._bytes_since_index = self.size - indexed_position
        if not self.size:
            self._rolling_timestamp = None

    def sync(self) -> None:
        """Make the batches durable, and the indexes of a sealed segment."""
        self.file.sync()
        if self.sealed:
            self.sync_indexes()

    def sync_indexes(self) -> None:
        """Make the indexes durable as they were last written."""
        for suffix in INDEX_SUFFIXES:
            if suffix != ABORTED_SUFFIX or self._disk.exists(self._sibling(suffix)):
                self._disk.open(self._sibling(suffix)).sync()

    def let_go(self) -> None:
        """Close file and indexes for good; slices already handed out stay readable."""
        self._place.warm.forget(self)
        self.cool()

    def delete(self) -> None:
        """Remove the files; slices already handed out stay readable."""
        self._place.warm.forget(self)
        # The log goes first: an index without a log is swept away at the next start.
        for suffix in (LOG_SUFFIX, *INDEX_SUFFIXES):
            self._disk.remove(self._sibling(suffix))
        self.cool()
