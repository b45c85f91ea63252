"""The log of one replica: a row of segments, the last of which is active.

`Log` decides where batches go and what a reader gets. What may be appended is decided by
`penstock.storage.incoming`; what a log holds after a crash by `penstock.storage.recovery`; which logs exist
by `penstock.storage.logs`. A log is not thread-safe: whoever calls it holds `Log.lock`, which is also the
lock of the partition.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from random import Random
from typing import NamedTuple

from penstock.clock import Clock
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import NO_TIMESTAMP, BatchHeader, assign, assign_log_append_time
from penstock.records.record import decode_batch
from penstock.settings.topic import TopicSettings
from penstock.storage.disk import Disk
from penstock.storage.incoming import LOG_APPEND_TIME, Origin, examine
from penstock.storage.index import MAX_RELATIVE_OFFSET
from penstock.storage.recovery import load_segments
from penstock.storage.segment import RollLimits, Segment
from penstock.storage.slice import FileSlice


class Appended(NamedTuple):
    """Where batches went."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    """The timestamp the broker gave them, or NO_TIMESTAMP when the producer's stand."""
    log_start_offset: int
    duplicate: bool
    """They had been appended before, at these offsets; nothing was written."""


class Log:
    """Offsets from `log_start_offset` to below `log_end_offset`. Invariant: the last segment is active."""

    def __init__(
        self,
        disk: Disk,
        path: str,
        settings: TopicSettings,
        clock: Clock,
        segments: list[Segment],
        *,
        random: Random,
        log_start_offset: int,
        recovery_point: int,
    ) -> None:
        self.path = path
        self.settings = settings
        self.lock = threading.RLock()
        self._disk = disk
        self._clock = clock
        self._random = random
        self._segments = segments
        self._base_offsets = [segment.base_offset for segment in segments]
        self.log_end_offset = segments[-1].next_offset()
        self.log_start_offset = max(log_start_offset, segments[0].base_offset)
        # Everything below is durable.
        self.recovery_point = min(recovery_point, self.log_end_offset)
        self._names_unsynced = True
        self._limits = self._roll_limits()

    @classmethod
    def open(
        cls,
        disk: Disk,
        path: str,
        settings: TopicSettings,
        clock: Clock,
        *,
        clean: bool,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        random: Random | None = None,
    ) -> Log:
        """The log in directory `path`, made when there is none.

        Unless the last stop was `clean`, everything from `recovery_point` on is verified, and cut where it
        is torn.
        """
        disk.make_dir(path)
        segments = load_segments(
            disk,
            path,
            settings,
            clock.now_ms(),
            clean=clean,
            recovery_point=recovery_point,
            start=log_start_offset,
        )
        return cls(
            disk,
            path,
            settings,
            clock,
            segments,
            random=random or Random(),
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
        )

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._segments)

    def reconfigure(self, settings: TopicSettings) -> None:
        """Go on under other settings."""
        self.settings = settings
        self._limits = self._roll_limits()
        self._segments[-1].index_interval_bytes = settings.index_interval_bytes

    # Appending

    def append(self, batches: memoryview, *, leader_epoch: int, origin: Origin) -> Appended:
        """Append whole batches; offsets and `leader_epoch` are written into them, but not if from a leader."""
        now_ms = self._clock.now_ms()
        settings = self.settings
        examined = examine(batches, origin, settings, now_ms)
        if origin == "replica":
            return self._append_from_leader(batches, examined, now_ms)
        if len(batches) > settings.segment_bytes:
            message = f"{len(batches)} bytes of batches exceed segment.bytes {settings.segment_bytes}"
            raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, message)
        append_time = now_ms if settings.message_timestamp_type == LOG_APPEND_TIME else NO_TIMESTAMP
        first_offset = offset = self.log_end_offset
        placed: list[BatchHeader] = []
        for position, header in examined:
            assign(batches, position, offset, leader_epoch)
            if append_time >= 0:
                assign_log_append_time(batches, position, header, append_time)
                header = header._replace(max_timestamp=append_time)
            placed.append(header._replace(base_offset=offset, leader_epoch=leader_epoch))
            offset += header.records_count
        self._write(batches, placed, now_ms)
        return Appended(first_offset, offset - 1, append_time, self.log_start_offset, duplicate=False)

    def _append_from_leader(
        self, batches: memoryview, examined: list[tuple[int, BatchHeader]], now_ms: int
    ) -> Appended:
        first_offset = next_offset = self.log_end_offset
        for position, header in examined:
            if header.base_offset < next_offset or header.last_offset_delta < 0:
                message = f"batch {header.base_offset} at byte {position} where the log is at {next_offset}"
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, message)
            next_offset = header.next_offset
        if examined:
            first_offset = examined[0][1].base_offset
            whole = batches[: examined[-1][0] + examined[-1][1].size_bytes]
            if (
                len(whole) <= self.settings.segment_bytes
                and next_offset - first_offset <= MAX_RELATIVE_OFFSET
            ):
                self._write(whole, [header for _, header in examined], now_ms)
            else:
                # More than a segment may hold: the leader's settings differ, or the log has wide gaps.
                for position, header in examined:
                    self._write(batches[position : position + header.size_bytes], [header], now_ms)
        return Appended(first_offset, next_offset - 1, NO_TIMESTAMP, self.log_start_offset, duplicate=False)

    def _write(self, data: memoryview, headers: list[BatchHeader], now_ms: int) -> None:
        """Put batches with final offsets at the end: one write, into one segment."""
        first, last = headers[0], headers[-1]
        next_offset = last.base_offset + last.last_offset_delta + 1
        latest = last.max_timestamp if first is last else max(header.max_timestamp for header in headers)
        segment = self._segments[-1]
        if segment.should_roll(len(data), next_offset - 1, latest, now_ms, self._limits):
            segment = self.roll(first.base_offset)
        position = segment.append(data, first.base_offset)
        for header in headers:
            size_bytes = header.size_bytes
            segment.note(position, size_bytes, header.last_offset, header.max_timestamp)
            position += size_bytes
        self.log_end_offset = next_offset
        if next_offset - self.recovery_point >= self.settings.flush_messages:
            self.flush()

    def roll(self, base_offset: int | None = None) -> Segment:
        """Seal the active segment and begin another at `base_offset`, or where the log ends."""
        base = self.log_end_offset if base_offset is None else base_offset
        active = self._segments[-1]
        if active.size:
            active.write_indexes()
        else:
            if active.base_offset == base:
                return active
            # Nothing was ever written to it: it gives way rather than stay behind as an empty file.
            active.delete()
            del self._segments[-1], self._base_offsets[-1]
        segment = Segment.create(
            self._disk,
            self.path,
            base,
            index_interval_bytes=self.settings.index_interval_bytes,
            now_ms=self._clock.now_ms(),
        )
        self._names_unsynced = True
        self._segments.append(segment)
        self._base_offsets.append(base)
        self._limits = self._roll_limits()
        return segment

    def _roll_limits(self) -> RollLimits:
        settings = self.settings
        # Jitter keeps the partitions of a topic from rolling all at once.
        jitter = self._random.randrange(min(settings.segment_jitter_ms, settings.segment_ms) + 1)
        return RollLimits(settings.segment_bytes, settings.segment_ms - jitter, settings.segment_index_bytes)

    # Reading

    def read(
        self, offset: int, max_bytes: int, *, upto: int | None = None, at_least_one: bool = True
    ) -> FileSlice | None:
        """Batches from the one that holds `offset` on, out of one segment and below `upto`, or None.

        The last batch may be cut at `max_bytes`. A first batch that is larger comes whole, or not at all
        unless `at_least_one`.
        """
        end_offset = self.log_end_offset
        if not self.log_start_offset <= offset <= end_offset:
            message = f"offset {offset} is outside {self.log_start_offset} to {end_offset}"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        limit = end_offset if upto is None or upto > end_offset else upto
        if offset >= limit:
            return None
        index, position, header = self._find(offset)
        segment = self._segments[index]
        end = segment.size
        if limit < end_offset and (index + 1 == len(self._segments) or limit < self._base_offsets[index + 1]):
            found = segment.find(limit)
            end = found[0] if found else end
        size = min(max_bytes, end - position)
        if size < header.size_bytes:
            if not at_least_one or end - position < header.size_bytes:
                return None
            size = header.size_bytes
        return FileSlice(segment.file, position, size)

    def _find(self, offset: int) -> tuple[int, int, BatchHeader]:
        """Segment index, position and header of the batch that holds `offset`, or the next; there is one."""
        index = len(self._segments) - 1
        if offset < self._base_offsets[-1]:
            index = max(0, bisect_right(self._base_offsets, offset) - 1)
        found = self._segments[index].find(offset)
        while found is None:
            # Compaction leaves gaps between the end of a segment and the base of the next.
            index += 1
            found = self._segments[index].find(offset)
        return index, *found

    def offset_for_time(self, timestamp: int) -> tuple[int, int] | None:
        """(timestamp, offset) of the first record at `timestamp` or later."""
        for segment in self._segments:
            if segment.max_timestamp >= timestamp and (found := segment.find_time(timestamp)):
                position, header = found
                for record in decode_batch(segment.file.read(position, header.size_bytes)):
                    if record.timestamp_ms >= timestamp and record.offset >= self.log_start_offset:
                        return record.timestamp_ms, record.offset
        return None

    def max_timestamp(self) -> tuple[int, int] | None:
        """(timestamp, offset) of the record with the largest timestamp, the first of equals."""
        latest = max(self._segments, key=lambda segment: segment.max_timestamp)
        if latest.max_timestamp < 0:
            return None
        return self.offset_for_time(latest.max_timestamp)

    # Ending

    def truncate_to(self, offset: int) -> None:
        """Cut away every batch that ends at `offset` or later; nothing happens when the log ends before."""
        if offset >= self.log_end_offset:
            return
        while len(self._segments) > 1 and self._base_offsets[-1] >= offset:
            self._segments.pop().delete()
            self._base_offsets.pop()
        active = self._segments[-1]
        active.truncate_to(offset)
        self.log_end_offset = active.next_offset()
        self.recovery_point = min(self.recovery_point, self.log_end_offset)
        self.log_start_offset = min(self.log_start_offset, self.log_end_offset)

    def flush(self) -> None:
        """Make everything up to `log_end_offset` durable."""
        if self.recovery_point >= self.log_end_offset and not self._names_unsynced:
            return
        first = max(0, bisect_right(self._base_offsets, self.recovery_point) - 1)
        for segment in self._segments[first:]:
            segment.sync()
        if self._names_unsynced:
            self._disk.sync_dir(self.path)
            self._names_unsynced = False
        self.recovery_point = self.log_end_offset

    def close(self) -> None:
        """Leave everything as a clean start expects it: flushed, with indexes written."""
        self._segments[-1].write_indexes()
        self._names_unsynced = True
        self.flush()

    def delete(self) -> None:
        """Remove the log and its directory; slices already handed out stay readable."""
        for segment in self._segments:
            segment.delete()
        self._disk.remove_tree(self.path)
