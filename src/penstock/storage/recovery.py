"""Opening the segments of a log, and finding the last whole batch after an unclean stop.

Below the recovery point everything was flushed and is taken as it stands; the segment that holds it, and all
after it, are verified batch by batch. The first one that is torn, damaged or out of order ends the log, and
whatever follows is cut away. A bad batch below the recovery point is no torn write: it is `Corruption`.
Called by `Log.open` only.
"""

from __future__ import annotations

import os
from itertools import pairwise

from penstock.records.batch import HEADER_SIZE, MAGIC, BatchHeader, CorruptBatch, check_crc, read_header
from penstock.settings.topic import TopicSettings
from penstock.storage.disk import Disk, File
from penstock.storage.epochs import NO_EPOCH, LeaderEpochs
from penstock.storage.errors import Corruption
from penstock.storage.index import MAX_RELATIVE_OFFSET
from penstock.storage.segment import INDEX_SUFFIXES, OFFSET_DIGITS, Place, Segment, file_name
from penstock.storage.swap import complete_swaps, segment_bases

CHUNK_BYTES = 1024 * 1024


def sweep(disk: Disk, path: str) -> list[int]:
    """Finish or remove what an earlier process left half-done; the bases of the segments, ascending."""
    complete_swaps(disk, path)
    names = disk.list_dir(path)
    bases = segment_bases(names)
    logs = {file_name(base, "") for base in bases}
    for name in names:
        orphan = name.endswith(INDEX_SUFFIXES) and name[:OFFSET_DIGITS] not in logs
        if orphan or name.endswith(".tmp"):
            disk.remove(os.path.join(path, name))
    return bases


class Recovery:
    """One opening of one log: its segments, and what is known of the order in which they were written."""

    def __init__(
        self, place: Place, settings: TopicSettings, epochs: LeaderEpochs, now_ms: int, *, sparse: bool
    ) -> None:
        self._place = place
        self._interval = settings.index_interval_bytes
        self._now_ms = now_ms
        self._epochs = epochs
        # Every epoch was durable before its first batch was. Without the file there is nothing to hold
        # batches against.
        self._epochs_known = epochs.latest != NO_EPOCH
        # Only compaction leaves gaps between offsets. Settings may have changed since, or not be known yet.
        self._dense = not sparse and "compact" not in settings.cleanup_policy
        # The first segment whose aborted transactions have to be found in the log once more.
        self.aborted_unknown_from: int | None = None

    def open_segments(self, log_start_offset: int, recovery_point: int | None) -> list[Segment]:
        """The segments, the last one active; verified from `recovery_point` on, which a clean stop lacks."""
        bases = sweep(self._place.disk, self._place.path)
        segments = self._load(bases) if recovery_point is None else self._recover(bases, recovery_point)
        if segments and segments[-1].next_offset() < log_start_offset:
            # Records were deleted up to an offset that the disk never saw: the log begins anew there.
            while segments:
                segments.pop().delete()
        self.aborted_unknown_from = self._first_without_aborted(segments, recovery_point)
        if segments:
            segments[-1].unseal()
        else:
            segments.append(Segment.create(self._place, log_start_offset, self._interval, self._now_ms))
        return segments

    def _first_without_aborted(self, segments: list[Segment], recovery_point: int | None) -> int | None:
        """The first segment that was verified anew, or whose index of aborted transactions is damaged."""
        for segment, following in pairwise([*segments, None]):
            verified = recovery_point is not None and (
                following is None or following.base_offset > recovery_point
            )
            if segment is not None and (verified or not segment.is_aborted_sound()):
                return segment.base_offset
        return None

    def _load(self, bases: list[int]) -> list[Segment]:
        return [Segment.load(self._place, base, self._interval, self._now_ms) for base in bases]

    def _recover(self, bases: list[int], recovery_point: int) -> list[Segment]:
        trusted = [base for base, following in pairwise(bases) if following <= recovery_point]
        segments = self._load(trusted)
        expected: int | None = None
        torn = False
        for base in bases[len(trusted) :]:
            segment = Segment(self._place, base, self._interval, self._now_ms)
            if expected is not None and (base < expected or (self._dense and base != expected)):
                torn = True
            if torn:
                # What is behind a tear was written after what is missing there: it cannot stay.
                segment.delete()
                continue
            was_empty = segment.file.size == 0
            expected, whole = self._verify(segment, recovery_point)
            torn = not whole
            if was_empty:
                segment.seal()
            else:
                segment.write_indexes()
                segment.seal()
                segment.sync()
            segments.append(segment)
        return segments

    def _verify(self, segment: Segment, recovery_point: int) -> tuple[int, bool]:
        """Verify every batch and rebuild the indexes: the next offset, and whether nothing had to be cut."""
        file = segment.file
        segment.begin_rebuild()
        next_offset = segment.base_offset
        position = 0
        batches = _Batches(file)
        while position < file.size:
            try:
                header = batches.read(position)
                self._check_place(header, segment.base_offset, next_offset)
            except CorruptBatch as error:
                if next_offset < recovery_point:
                    raise Corruption(segment.path, position, str(error)) from error
                file.truncate(position)
                segment.size = position
                return next_offset, False
            segment.note(position, header.size_bytes, header.last_offset, header.max_timestamp)
            if not self._epochs_known:
                self._epochs.assign(header.leader_epoch, header.base_offset)
            next_offset = header.next_offset
            position += header.size_bytes
        segment.size = position
        return next_offset, True

    def _check_place(self, header: BatchHeader, base_offset: int, next_offset: int) -> None:
        """What the CRC does not cover: magic, offsets and leader epoch."""
        if header.magic != MAGIC:
            raise CorruptBatch(f"magic {header.magic} is not {MAGIC}")
        if header.base_offset < next_offset or (self._dense and header.base_offset != next_offset):
            raise CorruptBatch(f"offset {header.base_offset} where {next_offset} was expected")
        if header.last_offset_delta < 0 or header.last_offset - base_offset > MAX_RELATIVE_OFFSET:
            raise CorruptBatch(f"last offset delta {header.last_offset_delta} is impossible")
        epoch = self._epochs.epoch_of(header.base_offset) if self._epochs_known else self._epochs.latest
        if epoch != NO_EPOCH and (
            header.leader_epoch < epoch or (self._epochs_known and header.leader_epoch != epoch)
        ):
            raise CorruptBatch(f"leader epoch {header.leader_epoch} where {epoch} was expected")


class _Batches:
    """Whole batches with sound CRCs, read from a file in large chunks."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._chunk = b""
        self._chunk_position = 0

    def read(self, position: int) -> BatchHeader:
        """The header of the batch at `position`; CorruptBatch unless the batch is whole."""
        self._need(position, HEADER_SIZE)
        header = read_header(self._chunk, position - self._chunk_position)
        if position + header.size_bytes > self._file.size:
            raise CorruptBatch("the file ends inside the batch")
        self._need(position, header.size_bytes)
        check_crc(self._chunk, position - self._chunk_position, header)
        return header

    def _need(self, position: int, size: int) -> None:
        if position + size > self._chunk_position + len(self._chunk):
            self._chunk = self._file.read(position, max(CHUNK_BYTES, size))
            self._chunk_position = position
