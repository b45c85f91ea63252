"""The part of a log that only looks: slices for readers, offsets by time, where epochs ended.

`penstock.storage.log.Log` adds everything that writes; the same lock holds for both.
"""

from __future__ import annotations

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.storage.aborted import Aborted
from penstock.storage.directory import LogDirectory
from penstock.storage.epochs import LeaderEpochs
from penstock.storage.errors import Corruption
from penstock.storage.reading import aborted_between, aborted_in, find_slice
from penstock.storage.segment import Segment
from penstock.storage.segments import Segments
from penstock.storage.slice import FileSlice
from penstock.storage.times import first_at, latest


class ReadableLog:
    """Offsets from `log_start_offset` to below `log_end_offset`."""

    directory: LogDirectory
    log_start_offset: int
    log_end_offset: int
    epochs: LeaderEpochs
    _segments: Segments

    @property
    def last_stable_offset(self) -> int:
        """Records below are committed, and so are the transactions that wrote them, or aborted."""
        raise NotImplementedError

    @property
    def size_bytes(self) -> int:
        return self._segments.size_bytes

    def read(
        self, offset: int, max_bytes: int, *, upto: int | None = None, at_least_one: bool = True
    ) -> FileSlice | None:
        """Batches from the one that holds `offset` on, out of one segment and below `upto`, or None.

        The last batch may be cut at `max_bytes`. A first batch that is larger comes whole, or not at all
        unless `at_least_one`.
        """
        found = self._find_slice(offset, max_bytes, upto, at_least_one=at_least_one)
        return None if found is None else found[1]

    def read_committed(
        self, offset: int, max_bytes: int, *, at_least_one: bool = True
    ) -> tuple[FileSlice | None, list[Aborted]]:
        """Likewise, below the last stable offset; and the aborted transactions that have something there."""
        stable = self.last_stable_offset
        found = self._find_slice(offset, max_bytes, stable, at_least_one=at_least_one)
        if found is None:
            return None, []
        segment, piece = found
        try:
            return piece, aborted_in(self._segments, segment, piece, offset, stable)
        except (OSError, Corruption) as error:
            raise self.directory.refused(error) from error

    def aborted_between(self, start: int, end: int) -> list[Aborted]:
        """The aborted transactions with something from offset `start` to below `end`."""
        return aborted_between(self._segments, start, end)

    def _find_slice(
        self, offset: int, max_bytes: int, upto: int | None, *, at_least_one: bool
    ) -> tuple[Segment, FileSlice] | None:
        end_offset = self.log_end_offset
        if not self.log_start_offset <= offset <= end_offset:
            message = f"offset {offset} is outside {self.log_start_offset} to {end_offset}"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        limit = None if upto is None or upto >= end_offset else upto
        if offset >= (end_offset if limit is None else limit):
            return None
        if self.directory.failure is not None:
            raise self.directory.failure.again()
        try:
            return find_slice(self._segments, offset, limit, max_bytes, at_least_one=at_least_one)
        except (OSError, Corruption) as error:
            raise self.directory.refused(error) from error

    def offset_for_time(self, timestamp: int) -> tuple[int, int] | None:
        """(timestamp, offset) of the first record at `timestamp` or later."""
        with self.directory.guard(may_be_full=True):
            return first_at(self._segments, timestamp, self.log_start_offset)

    def max_timestamp(self) -> tuple[int, int] | None:
        """(timestamp, offset) of the record with the largest timestamp, the first of equals."""
        with self.directory.guard(may_be_full=True):
            return latest(self._segments, self.log_start_offset)

    def epoch_end_offset(self, leader_epoch: int) -> tuple[int, int]:
        """The largest known epoch up to `leader_epoch`, and the offset at which it ended."""
        return self.epochs.end_offset(leader_epoch, self.log_end_offset)
