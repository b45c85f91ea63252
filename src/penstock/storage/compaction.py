"""One round of compaction of one log: keys gathered from what is new, everything before them written anew.

Segments are taken in groups that fit into one segment; each group is written beside the log and swapped in
(`penstock.storage.swap`), oldest first, so that a tombstone never goes before what it deletes. The log's lock
is taken to look and to swap, never while records are read or written: appends and reads go on. What stays of
a batch is decided by `penstock.storage.sieve`, which log is compacted by `penstock.storage.cleaner`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from penstock.records.batch import HEADER_SIZE, MAGIC, BatchHeader, CorruptBatch, check_crc, read_header
from penstock.records.control import read_marker
from penstock.records.keys import OffsetMap
from penstock.storage.cleanable import Cleanable
from penstock.storage.cleaned_transactions import CleanedTransactions
from penstock.storage.disk import File
from penstock.storage.errors import Corruption
from penstock.storage.index import MAX_RELATIVE_OFFSET
from penstock.storage.log import Log
from penstock.storage.segment import Segment
from penstock.storage.segments import with_ends
from penstock.storage.sieve import Round, leave, unpack
from penstock.storage.swap import CLEANED, SWAP

CHUNK_BYTES: Final = 1024 * 1024
LARGEST_SEGMENT_BYTES: Final = 2**31 - 1
_ROOM: Final = 1.3  # slots for a key, so that the map is not full


class Aborted(Exception):
    """The log changed under the compaction, or the broker stops: nothing happened, and it is tried again."""


class Resources(NamedTuple):
    """What a round may use."""

    slots: int
    """Bound of the map of keys."""
    secret: bytes
    step: Callable[[int], None]
    """Called with the bytes read or written; waits, and raises `Aborted` when it is time to stop."""


class Done(NamedTuple):
    """What a round did."""

    cleaned_to: int
    """Where the next one begins."""
    bytes_before: int
    bytes_after: int


class Compaction:
    """A round, from the first dirty offset of a log as far as the map of keys reaches."""

    def __init__(self, log: Log, cleanable: Cleanable, resources: Resources, now_ms: int) -> None:
        self._log = log
        self._cleanable = cleanable
        self._resources = resources
        self._now_ms = now_ms

    def run(self) -> Done:
        """Compact. Aborted, Corruption and OSError leave the log as it was, or some groups further."""
        with self._log.lock:
            segments = [
                segment
                for segment in self._log.sealed_segments()
                if segment.base_offset < self._cleanable.end
            ]
        keys, cleaned_to = self._gather_keys(segments)
        with self._log.lock:
            settings = self._log.settings
            producers = {producer.producer_id: producer for producer in self._log.producers.active()}
        now = Round(
            cleaned_to - 1,
            self._cleanable.end,
            self._now_ms,
            settings.delete_retention_ms,
            producers,
            self._transactions(0),
        )
        before = after = 0
        reached = [segment for segment in segments if segment.base_offset < cleaned_to]
        for group in self._groups(reached, settings.segment_bytes, settings.segment_index_bytes):
            before += sum(segment.size for segment in group)
            after += self._clean(group, keys, now)
        return Done(cleaned_to, before, after)

    # Keys

    def _gather_keys(self, segments: list[Segment]) -> tuple[OffsetMap, int]:
        """The last offset of each key from the first dirty offset on, and where the map ends."""
        start = cleaned_to = self._cleanable.first_dirty
        keys = self._map(self._cleanable.end - start)
        transactions = self._transactions(start)
        for segment, upto in with_ends(segments, self._cleanable.end):
            if upto <= start:
                continue
            for header, batch in self._batches(segment, start):
                if self._is_without_keys(header, batch, segment, transactions):
                    cleaned_to = header.next_offset
                    continue
                records = unpack_in(segment, batch, header)
                if not self._take(keys, records, header, segment):
                    if cleaned_to > start:
                        return keys, cleaned_to
                    # One batch with more keys than the bound has room for: without it nothing would move.
                    keys = OffsetMap(int(header.records_count * _ROOM) + 2, self._resources.secret)
                    self._take(keys, records, header, segment)
                cleaned_to = header.next_offset
            cleaned_to = max(cleaned_to, upto)
        return keys, cleaned_to

    def _transactions(self, start: int) -> CleanedTransactions:
        with self._log.lock:
            return CleanedTransactions(self._log.aborted_between(start, self._cleanable.end))

    def _is_without_keys(
        self, header: BatchHeader, batch: memoryview, segment: Segment, transactions: CleanedTransactions
    ) -> bool:
        """Whether a batch has no key that counts: a marker, or data of an aborted transaction."""
        if not header.is_control:
            return transactions.is_aborted(header)
        try:
            transactions.is_over(header, read_marker(batch))
        except CorruptBatch as error:
            raise Corruption(segment.path, 0, f"batch {header.base_offset}: {error}") from error
        return True

    def _map(self, most_records: int) -> OffsetMap:
        slots = max(2, min(self._resources.slots, int(most_records * _ROOM) + 2))
        return OffsetMap(slots, self._resources.secret)

    def _take(
        self,
        keys: OffsetMap,
        records: bytes | bytearray | memoryview,
        header: BatchHeader,
        segment: Segment,
    ) -> bool:
        try:
            return keys.add(records, header.records_count, header.base_offset, self._cleanable.first_dirty)
        except CorruptBatch as error:
            raise Corruption(segment.path, 0, f"batch {header.base_offset}: {error}") from error

    # Writing anew

    def _groups(
        self, segments: list[Segment], segment_bytes: int, index_bytes: int
    ) -> Iterator[list[Segment]]:
        """Neighbours that fit into one segment together."""
        group: list[Segment] = []
        sizes = (0, 0)
        for segment, upto in with_ends(segments, self._cleanable.end):
            index = segment.index_bytes()
            if group and (
                sizes[0] + segment.size > segment_bytes
                or sizes[1] + index > index_bytes
                or upto - 1 - group[0].base_offset > MAX_RELATIVE_OFFSET
            ):
                yield group
                group, sizes = [], (0, 0)
            group.append(segment)
            sizes = sizes[0] + segment.size, sizes[1] + index
        if group:
            yield group

    def _clean(self, group: list[Segment], keys: OffsetMap, now: Round) -> int:
        """Write what stays of a group, and swap it in. Its size afterwards."""
        log = self._log
        sizes = [segment.size for segment in group]
        first, last = group[0], group[-1]
        cleaned = Segment.create(
            log.place, first.base_offset, log.settings.index_interval_bytes, last.created_ms, CLEANED
        )
        try:
            now.transactions.index = cleaned.aborted
            self._fill(cleaned, group, keys, now)
            cleaned.write_indexes()
            cleaned.seal()
            cleaned.sync()
            cleaned.rename(SWAP)
            log.place.disk.sync_dir(log.place.path)
        except BaseException:
            cleaned.delete()
            raise
        # From here on the swap may be half-way: only its own refusal says that nothing happened.
        with log.lock:
            swapped = [segment.size for segment in group] == sizes and log.swap_in(group, cleaned)
        if not swapped:
            cleaned.delete()
            raise Aborted("the log changed meanwhile")
        log.place.disk.sync_dir(log.place.path)
        for segment in group[1:]:
            segment.delete()
        return cleaned.size

    def _fill(self, cleaned: Segment, group: list[Segment], keys: OffsetMap, now: Round) -> None:
        waiting: list[tuple[BatchHeader, bytes | memoryview]] = []
        waiting_bytes = 0
        for segment in group:
            for header, batch in self._batches(segment, segment.base_offset):
                try:
                    left = leave(batch, header, keys, now)
                except CorruptBatch as error:
                    raise Corruption(segment.path, 0, f"batch {header.base_offset}: {error}") from error
                if left is None:
                    continue
                waiting.append((read_header(left), bytes(left)))
                waiting_bytes += len(left)
                if waiting_bytes >= CHUNK_BYTES:
                    self._write(cleaned, waiting)
                    waiting, waiting_bytes = [], 0
        self._write(cleaned, waiting)

    def _write(self, cleaned: Segment, batches: list[tuple[BatchHeader, bytes | memoryview]]) -> None:
        if not batches:
            return
        data = b"".join(batch for _, batch in batches)
        if cleaned.size + len(data) > LARGEST_SEGMENT_BYTES:
            raise Corruption(cleaned.path, cleaned.size, "the compacted segment grows beyond 2 GiB")
        position = cleaned.append(data, batches[0][0].base_offset)
        for header, batch in batches:
            cleaned.note(position, len(batch), header.last_offset, header.max_timestamp)
            position += len(batch)
        self._resources.step(len(data))

    # Reading

    def _batches(self, segment: Segment, start_offset: int) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Every batch of a sealed segment that ends at `start_offset` or later, its CRC checked."""
        with self._log.lock:
            found = segment.find(start_offset)
            file = segment.file
        position = found[0] if found else segment.size
        chunk, chunk_start = memoryview(b""), position
        while position < segment.size:
            header = _header_at(chunk, position - chunk_start)
            if header is None:
                wanted = max(CHUNK_BYTES, _batch_bytes(file, position))
                if wanted > CHUNK_BYTES and wanted > segment.size - position:
                    raise Corruption(segment.path, position, "the batch is longer than the file")
                chunk, chunk_start = memoryview(file.read(position, wanted)), position
                self._resources.step(len(chunk))
                header = _header_at(chunk, 0)
            if header is None or header.magic != MAGIC:
                raise Corruption(segment.path, position, "no whole batch begins here")
            batch = chunk[position - chunk_start : position - chunk_start + header.size_bytes]
            try:
                check_crc(batch, 0, header)
            except CorruptBatch as error:
                raise Corruption(segment.path, position, str(error)) from error
            yield header, batch
            position += header.size_bytes


def unpack_in(segment: Segment, batch: memoryview, header: BatchHeader) -> bytes | bytearray | memoryview:
    """The records of a batch of this segment; `Corruption` when they cannot be had."""
    try:
        return unpack(batch, header)
    except CorruptBatch as error:
        raise Corruption(segment.path, 0, f"batch {header.base_offset}: {error}") from error


def _header_at(chunk: memoryview, position: int) -> BatchHeader | None:
    """The header of the batch there; None unless the chunk has all of the batch."""
    if len(chunk) - position < HEADER_SIZE:
        return None
    try:
        header = read_header(chunk, position)
    except CorruptBatch:
        return None
    return header if position + header.size_bytes <= len(chunk) else None


def _batch_bytes(file: File, position: int) -> int:
    try:
        return read_header(file.read(position, HEADER_SIZE)).size_bytes
    except CorruptBatch:
        return HEADER_SIZE
