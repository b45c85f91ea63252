"""The log of one replica: a row of segments, the last of which is active.

`Log` decides where batches go and what a reader gets. What may be appended is decided by
`penstock.storage.incoming` and `penstock.storage.producers`; what a log holds after a crash by
`penstock.storage.recovery`; which logs exist by `penstock.storage.logs`. A log is not thread-safe: the caller
holds `Log.lock`, which is also the partition's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from random import Random

from penstock.clock import Clock
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.batch import (
    LENGTH_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    assign,
    read_header,
)
from penstock.records.control import EndMarker
from penstock.settings.topic import TopicSettings
from penstock.storage.contents import LOG_APPEND_TIME, accept
from penstock.storage.directory import LogDirectory
from penstock.storage.disk import Disk, is_full
from penstock.storage.epochs import FILE_NAME as EPOCHS_FILE
from penstock.storage.epochs import LeaderEpochs
from penstock.storage.incoming import ExaminedBatches, examine_produced
from penstock.storage.index import MAX_RELATIVE_OFFSET
from penstock.storage.outcomes import Appended, Unflushed
from penstock.storage.placing import Placed, place_from_leader, place_own, read_markers
from penstock.storage.producers import Producers
from penstock.storage.recovery import Recovery
from penstock.storage.retention import Bounds, count_expired
from penstock.storage.segment import Place, RollLimits, Segment
from penstock.storage.segments import Segments
from penstock.storage.snapshots import Snapshots
from penstock.storage.swap import DELETED, discard_swaps
from penstock.storage.tailed import TailedLog
from penstock.storage.verification import Guard
from penstock.storage.warm import WarmSegments

PRODUCER_EXPIRATION_MS = 24 * 60 * 60 * 1000


class Log(TailedLog):
    """Offsets from `log_start_offset` to below `log_end_offset`. Invariant: the last segment is active."""

    def __init__(
        self,
        place: Place,
        directory: LogDirectory,
        settings: TopicSettings,
        clock: Clock,
        random: Random,
        segments: Segments,
        epochs: LeaderEpochs,
        producers: Producers,
    ) -> None:
        self._make_tail(place.disk)
        self.path = place.path
        self._name = os.path.basename(place.path)
        self.directory = directory
        self.settings = settings
        # Called after every cut, still under the lock: a recovery point on disk must not stay above the end.
        self.on_cut: Callable[[], None] = lambda: None
        # Called before offsets are skipped, still under the lock: a start takes a gap for damage otherwise.
        self.on_gap: Callable[[], None] = lambda: None
        self.log_start_offset = segments.first.base_offset
        self._log_end_offset = segments.active.next_offset()
        self._high_watermark: int | None = None
        self.flushed_at_ms = clock.now_ms()
        # Everything below is durable.
        self.recovery_point = self.log_end_offset
        self.epochs = epochs
        self._place = place
        self._disk = place.disk
        self._clock = clock
        self._random = random
        self._segments = segments
        self.producers = producers
        self._snapshots = Snapshots(place.disk, place.path)
        self._truncations = 0
        # Whether a clean start would miss anything if this log were left as it is: indexes, producers, syncs.
        self._touched = True
        self._closed = False
        self.gone = False
        """Whether it was moved away or deleted: then nothing of it is kept."""
        self._expired: list[Segment] = []
        self._limits = RollLimits.of(self.settings, self._random)

    @classmethod
    def open(
        cls,
        disk: Disk,
        path: str,
        topic_settings: TopicSettings,
        clock: Clock,
        *,
        clean: bool,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        random: Random | None = None,
        directory: LogDirectory | None = None,
        warm: WarmSegments | None = None,
        producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
        verifying: bool = True,
        sparse: bool = False,
    ) -> Log:
        """The log in directory `path`, made when there is none. One that is `sparse` may lack offsets.

        Unless the last stop was `clean`, everything from `recovery_point` on is verified, cut where it is
        torn, and synced (KAFKA-10101).
        """
        disk.make_dir(path)
        now_ms = clock.now_ms()
        place = Place(disk, path, WarmSegments() if warm is None else warm)
        epochs = LeaderEpochs.load(disk, os.path.join(path, EPOCHS_FILE))
        recovery = Recovery(place, topic_settings, epochs, now_ms, sparse=sparse)
        log = cls(
            place,
            directory or LogDirectory(disk, os.path.dirname(path)),
            topic_settings,
            clock,
            random or Random(path),
            Segments(recovery.open_segments(log_start_offset, None if clean else recovery_point)),
            epochs,
            Producers(producer_expiration_ms, verifying=verifying),
        )
        log._restore(log_start_offset, now_ms, recovery.aborted_unknown_from)
        log._touched = not clean and log.log_end_offset > log._segments.first.base_offset
        if not clean:
            epochs.sync()
            disk.sync_dir(path)
        return log

    def _restore(self, log_start_offset: int, now_ms: int, aborted_unknown_from: int | None) -> None:
        """Bring into line what stands beside the segments."""
        self.log_start_offset = max(self.log_start_offset, log_start_offset)
        self.epochs.truncate_to(self.log_end_offset)
        self.epochs.advance_start(self.log_start_offset)
        self._snapshots.restore(
            self.producers,
            self._segments,
            self.log_end_offset,
            now_ms,
            aborted_unknown_from=aborted_unknown_from,
        )

    @property
    def last_stable_offset(self) -> int:
        """Records below are committed, and so are the transactions that wrote them, or aborted."""
        high_watermark = self.high_watermark
        self.producers.commit(high_watermark)
        first = self.producers.first_unstable()
        return high_watermark if first is None else min(max(first, self.log_start_offset), high_watermark)

    def reconfigure(self, settings: TopicSettings) -> None:
        """Go on under other settings."""
        self.settings = settings
        self._limits = RollLimits.of(self.settings, self._random)
        self._segments.active.index_interval_bytes = settings.index_interval_bytes

    def now_ms(self) -> int:
        return self._clock.now_ms()

    # Appending

    def examine(self, batches: memoryview) -> ExaminedBatches:
        """Do the slow part of appending what a producer sent: look at every byte. It needs no lock."""
        now_ms = self._clock.now_ms()
        if (header := accept(batches, self.settings, now_ms)) is not None:
            return ExaminedBatches(batches, ((0, header),))
        return examine_produced(batches, self.settings, now_ms, self._name)

    def append_produced(
        self, examined: ExaminedBatches, *, leader_epoch: int, guard: Guard | None = None
    ) -> Appended:
        """Append a producer's batch, which `examine` has looked at; its offset and `leader_epoch` are written
        into it. The first batch of a transaction comes with the `guard` that `begin_verification` gave."""
        # Before any look at sequences: a copy of a batch whose flush failed is not acknowledged, and what
        # follows a batch that was not written is not out of order.
        self._check_writable()
        header = examined.headers[0][1]
        if header.producer_id >= 0:
            first_copy = self.producers.check(header, guard)
            if first_copy is not None:
                append_time = first_copy.timestamp if self._stamps else NO_TIMESTAMP
                offsets = first_copy.base_offset, first_copy.last_offset
                return Appended(*offsets, append_time, self.log_start_offset, duplicate=True)
        self._check_fits_a_segment(examined)
        if self.settings.message_timestamp_type != LOG_APPEND_TIME:
            return self._append_one(examined.data, header, leader_epoch)
        return self._append_own(examined, leader_epoch)

    def append_internal(
        self, examined: ExaminedBatches, *, leader_epoch: int, guard: Guard | None = None
    ) -> Appended:
        """Append batches that this broker made itself: a coordinator, or the metadata quorum."""
        self._check_writable()
        header = examined.headers[0][1]
        if header.producer_id >= 0:
            self.producers.check_coordinated(header, guard)
        self._check_fits_a_segment(examined)
        return self._append_own(examined, leader_epoch)

    def append_marker(
        self, batch: memoryview, *, leader_epoch: int, coordinator_epoch: int, transaction_version: int
    ) -> Appended:
        """Append the batch that ends a transaction; KafkaError when its coordinator or its epoch is not the
        present one any more."""
        header = read_header(batch)
        self.producers.check_marker(
            header.producer_id, header.producer_epoch, coordinator_epoch, transaction_version
        )
        return self._append_own(ExaminedBatches(batch, ((0, header),)), leader_epoch)

    def append_fetched(self, examined: ExaminedBatches) -> Appended:
        """Append what the leader sent; offsets and epochs stand as the leader wrote them."""
        try:
            return self._append_from_leader(examined)
        except OSError as error:
            raise self._append_failed(error) from error

    def _check_fits_a_segment(self, examined: ExaminedBatches) -> None:
        size_bytes, limit = len(examined.data), self.settings.segment_bytes
        if size_bytes > limit:
            message = f"{size_bytes} bytes of batches exceed segment.bytes {limit}"
            raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, message)

    @property
    def _stamps(self) -> bool:
        return self.settings.message_timestamp_type == LOG_APPEND_TIME

    def _append_one(self, batch: memoryview, header: BatchHeader, leader_epoch: int) -> Appended:
        """What nearly every append is, in fewer steps than `_append_own`: one batch of data whose timestamps
        stand."""
        base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        size_bytes, max_timestamp = len(batch), header.max_timestamp
        assign(batch, 0, base_offset, leader_epoch)
        try:
            segment = self._segments.active
            if segment.should_roll(size_bytes, last_offset, max_timestamp, self.now_ms, self._limits):
                segment = self.roll(base_offset)
            if leader_epoch != self.epochs.latest:
                self._begin_epoch(leader_epoch, base_offset)
            self._touched = True
            segment.note(segment.append(batch, base_offset), size_bytes, last_offset, max_timestamp)
            if header.producer_id >= 0:
                self.producers.replay(header, base_offset, max_timestamp)
            self._end_at(last_offset + 1)
        except OSError as error:
            raise self._append_failed(error) from error
        return Appended(base_offset, last_offset, NO_TIMESTAMP, self.log_start_offset, False)

    def _append_own(self, examined: ExaminedBatches, leader_epoch: int) -> Appended:
        """Write batches that get their offsets here."""
        base_offset = self.log_end_offset
        append_time = self.now_ms() if self._stamps else NO_TIMESTAMP
        placed = place_own(
            examined,
            log_end_offset=base_offset,
            leader_epoch=leader_epoch,
            append_time_ms=append_time,
        )
        self._write(examined.data, placed)
        return Appended(
            base_offset, self.log_end_offset - 1, append_time, self.log_start_offset, duplicate=False
        )

    def _append_from_leader(self, examined: ExaminedBatches) -> Appended:
        placed = place_from_leader(examined, log_end_offset=self.log_end_offset)
        base_offset = placed[0].base_offset if placed else self.log_end_offset
        if placed:
            ends = [self.log_end_offset, *(batch.next_offset for batch in placed)]
            if any(end != batch.base_offset for end, batch in zip(ends, placed, strict=False)):
                self.on_gap()
            whole = examined.data[: examined.size_bytes]
            offsets = placed[-1].next_offset - base_offset
            if len(whole) <= self.settings.segment_bytes and offsets <= MAX_RELATIVE_OFFSET:
                self._write(whole, placed)
            else:
                # More than a segment may hold: the leader's settings differ, or the log has wide gaps.
                for (position, header), batch in zip(examined.headers, placed, strict=True):
                    self._write(examined.data[position : position + header.size_bytes], [batch])
        return Appended(
            base_offset, self.log_end_offset - 1, NO_TIMESTAMP, self.log_start_offset, duplicate=False
        )

    def _write(self, data: memoryview, placed: list[Placed]) -> None:
        """Put batches at the end: one write, into one segment, and every state that follows from it."""
        self._check_writable()
        markers = read_markers(data, placed)
        try:
            self._write_placed(data, placed, markers)
        except OSError as error:
            raise self._append_failed(error) from error

    def _write_placed(
        self, data: memoryview, placed: list[Placed], markers: dict[int, EndMarker | None]
    ) -> None:
        first_offset = placed[0].base_offset
        next_offset = placed[-1].next_offset
        max_timestamp = placed[0].max_timestamp
        if len(placed) > 1:
            max_timestamp = max(batch.max_timestamp for batch in placed)
        segment = self._segments.active
        if segment.should_roll(len(data), next_offset - 1, max_timestamp, self.now_ms, self._limits):
            segment = self.roll(first_offset)
        for _, base_offset, leader_epoch, _ in placed:
            if leader_epoch != self.epochs.latest:
                self._begin_epoch(leader_epoch, base_offset)
        self._touched = True
        position = segment.append(data, first_offset)
        for header, base_offset, _, max_timestamp in placed:
            size_bytes = header.batch_length + LENGTH_OVERHEAD
            segment.note(position, size_bytes, base_offset + header.last_offset_delta, max_timestamp)
            position += size_bytes
            if base_offset in markers:
                marker = markers[base_offset]
                aborted = self.producers.replay_marker(header, marker, base_offset, max_timestamp)
                if aborted is not None:
                    segment.aborted.append(aborted)
            elif header.producer_id >= 0:
                self.producers.replay(header, base_offset, max_timestamp)
        self._end_at(next_offset)

    def _check_writable(self) -> None:
        if self._closed or self.gone:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.path} is closed")
        if self.directory.failure is not None:
            raise self.directory.failure.again()

    def _end_at(self, next_offset: int) -> None:
        self._log_end_offset = next_offset
        if self._high_watermark is None:
            self.producers.commit(next_offset)
        if next_offset - self.recovery_point >= self.settings.flush_messages:
            self.flush()

    def _begin_epoch(self, leader_epoch: int, base_offset: int) -> None:
        if leader_epoch < self.epochs.latest:
            message = f"leader epoch {leader_epoch} after {self.epochs.latest}"
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH, message)
        self.epochs.assign(leader_epoch, base_offset)

    def _append_failed(self, error: OSError) -> Exception:
        """A full disk is waited out; any other refusal of the disk takes the directory offline."""
        if is_full(error):
            message = f"no space is left in {self.directory.path}"
            return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, message)
        return self.directory.fail(error)

    def roll(self, base_offset: int | None = None) -> Segment:
        """Seal the active segment and begin another at `base_offset`, or where the log ends."""
        base = self.log_end_offset if base_offset is None else base_offset
        active = self._segments.active
        if active.base_offset == base:
            return active
        self._touched = True
        if active.size:
            active.write_indexes()
            self._snapshots.write(base, self.producers)
            if self.recovery_point >= base:
                # Its batches were flushed before it was full: no later flush will come back for its indexes.
                active.sync_indexes()
                self._snapshots.sync(base)
                self._disk.sync_dir(self.path)
        segment = Segment.create(self._place, base, self.settings.index_interval_bytes, self._clock.now_ms())
        if active.size:
            active.seal()
        else:
            # Nothing was ever written to it: it gives way rather than stay behind as an empty file.
            self._segments.pop_last().delete()
        self._segments.add(segment)
        self._limits = RollLimits.of(self.settings, self._random)
        return segment

    # Flushing

    def flush(self) -> None:
        """Make everything up to `log_end_offset` durable."""
        self.flushed(self.sync(self.unflushed()))

    def unflushed(self, *, active: bool = True) -> Unflushed:
        """What is not durable yet; without the active segment, what rolling has left behind."""
        segments = [] if self.gone else self._segments.from_offset(self.recovery_point)
        if not active:
            segments = segments[:-1]
        upto = self.log_end_offset if active else self._segments.active.base_offset
        return Unflushed(segments, upto, self._truncations)

    def sync(self, unflushed: Unflushed) -> Unflushed:
        """Do the slow part of a flush. It touches nothing that appends change: it needs no lock."""
        began = self._clock.monotonic()
        try:
            self.epochs.sync()
            for segment in unflushed.segments:
                segment.sync()
                self._snapshots.sync(segment.base_offset)
            self._disk.sync_dir(self.path)
        except FileNotFoundError as error:
            # Cut or deleted meanwhile, under the lock: then there is nothing to make durable.
            if unflushed.truncations == self._truncations and not self.gone:
                raise self.directory.fail(error) from error
        except OSError as error:
            raise self.directory.fail(error) from error
        self.directory.flushes.record(self._clock.monotonic() - began)
        return unflushed

    def flushed(self, unflushed: Unflushed) -> None:
        """`unflushed` is durable now; says nothing when the log was cut in the meantime."""
        if unflushed.truncations == self._truncations:
            self.recovery_point = max(self.recovery_point, unflushed.upto)
            self.flushed_at_ms = self._clock.now_ms()

    # Cutting

    def truncate_to(self, offset: int, *, anew: bool = False) -> None:
        """Cut away every batch that ends at `offset` or later; with `anew` all, and the log begins there."""
        if self.gone or (offset >= self.log_end_offset and not anew):
            return
        self._truncations += 1
        with self.directory.guard():
            discard_swaps(self._disk, self.path)
            if anew or offset <= self._segments.first.base_offset:
                self._start_anew(offset)
            else:
                self._cut(offset)
            self._after_cut()

    def _cut(self, offset: int) -> None:
        while self._segments.active.base_offset >= offset:
            self._segments.pop_last().delete()
        active = self._segments.active
        active.unseal()
        active.truncate_to(offset)

    def _start_anew(self, offset: int) -> None:
        for segment in list(self._segments):
            segment.delete()
        self.log_start_offset = offset
        self.epochs.truncate_to(0)
        interval, now_ms = self.settings.index_interval_bytes, self._clock.now_ms()
        self._segments = Segments([Segment.create(self._place, offset, interval, now_ms)])

    def _after_cut(self) -> None:
        self._touched = True
        # What was cut must not come back after a crash, least of all below a recovery point.
        self._segments.active.sync()
        self._disk.sync_dir(self.path)
        self._log_end_offset = self._segments.active.next_offset()
        self.log_start_offset = min(self.log_start_offset, self.log_end_offset)
        if self._high_watermark is not None:
            self._high_watermark = min(self._high_watermark, self.log_end_offset)
        self.recovery_point = min(self.recovery_point, self.log_end_offset)
        self._limits = RollLimits.of(self.settings, self._random)
        self.epochs.truncate_to(self.log_end_offset)
        self._snapshots.restore(self.producers, self._segments, self.log_end_offset, self._clock.now_ms())
        self.producers.commit(self.high_watermark)
        self.on_cut()

    # Retention

    def delete_records_before(self, offset: int) -> None:
        """Move `log_start_offset` up to `offset`; segments that end before it go with the next `expire`."""
        if offset > self.high_watermark:
            message = f"offset {offset} is above the high watermark {self.high_watermark}"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            try:
                self.epochs.advance_start(offset)
            except OSError as error:
                # Epochs from before the start do no harm, and deleting is how a full disk gets space.
                if not is_full(error):
                    raise

    def expire(self) -> int:
        """Leave out segments that retention no longer keeps, for `remove_expired` to delete; how many?"""
        if self.gone:
            return 0
        now_ms = self._clock.now_ms()
        self.producers.expire(now_ms)
        bounds = Bounds(self.log_start_offset, self.high_watermark, self.log_end_offset)
        count = count_expired(self._segments, self.settings, now_ms, bounds)
        with self.directory.guard(may_be_full=True):
            if count == len(self._segments):
                self.roll()
            for _ in range(count):
                self._expired.append(self._segments.pop_first())
            if count:
                self.delete_records_before(max(self.log_start_offset, self._segments.first.base_offset))
        return count

    def sync_names(self) -> None:
        """Make durable which segments there are."""
        with self.directory.guard():
            self._disk.sync_dir(self.path)

    def remove_expired(self) -> None:
        """Delete the files of expired segments, once a log start offset without them is durable."""
        expired, self._expired = self._expired, []
        for segment in expired:
            segment.delete()
            self._snapshots.remove(segment.base_offset)

    # Compaction

    @property
    def place(self) -> Place:
        """Where a compacted segment is to be written."""
        return self._place

    @property
    def active_base_offset(self) -> int:
        return self._segments.active.base_offset

    def sealed_segments(self) -> list[Segment]:
        """All segments but the active one, oldest first."""
        return list(self._segments)[:-1]

    def swap_in(self, old: Sequence[Segment], new: Segment) -> bool:
        """Let `new`, durable under its name for swaps, take the place of `old`, neighbours that it was made
        from. False when the log has changed too much for that."""
        ended = self._closed or self.gone
        if ended or not self._segments.has_sealed(old) or not self._disk.exists(new.path):
            return False
        self._truncations += 1
        with self.directory.guard():
            for segment in old[1:]:
                segment.rename(DELETED)
                self._snapshots.remove(segment.base_offset)
            for segment in old:
                segment.retire()
            new.rename("")
        self._segments.replace(old, new)
        return True

    # Ending

    def close(self) -> None:
        """Leave everything as a clean start expects it: flushed, with indexes and producer state written."""
        self._closed = True
        self._close_tail()
        with self.directory.guard():
            self.remove_expired()
            if self._touched:
                self._segments.active.write_indexes()
                self._segments.active.seal()
                self._snapshots.write(self.log_end_offset, self.producers)
                self._snapshots.sync(self.log_end_offset)
                self.flush()
        for segment in self._segments:  # the descriptors go back now, whoever still knows this log
            segment.cool()

    def move(self, path: str) -> None:
        """Rename the directory, on the way to being deleted; slices already handed out stay readable."""
        self._close_tail()
        self._truncations += 1
        self.gone = True
        self._disk.rename(self.path, path)
        self.path = path
        for segment in [*self._expired, *self._segments]:  # descriptors go back now, not when memory does
            segment.let_go()

    def delete(self) -> None:
        """Remove the log and its directory; slices already handed out stay readable."""
        self._close_tail()
        self._truncations += 1
        self.gone = True
        for segment in [*self._expired, *self._segments]:
            segment.delete()
        self._disk.remove_tree(self.path)
