"""Whether both sides hold the same records: counts and checksums by partition.

A checksum goes over keys, values, headers and times in the order of the log. Offsets and the way in which
records are batched do not count, because they differ. Records that one side has deleted already, because its
retention was faster, are left out on the other. A compacted topic is cleaned at another time on each side, so
there the last value of each key counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from penstock.mirror.sides import Side
from penstock.protocol.topic_partition import TopicPartition
from penstock.records.batch import HEADER_SIZE
from penstock.records.codecs import decompress
from penstock.records.record import MAX_DECODED_BYTES, decode_batch
from penstock.records.walk import BinaryColumn, ColumnBuilder, Columns
from penstock.wire.fetch import Batch, FetchOptions, fetch

THREADS = 4
_CHUNK_ROWS = 50_000
_OPTIONS = FetchOptions(read_committed=True)


class Difference(NamedTuple):
    """A partition as both sides have it."""

    topic: str
    partition: int
    source_records: int
    target_records: int
    same: bool


def compare(
    source: Side, target: Side, pairs: Iterable[tuple[TopicPartition, TopicPartition, bool]]
) -> list[Difference]:
    """Each partition of the source with that of the target; the flag says whether its topic is compacted."""
    wanted = list(pairs)
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(lambda pair: _compared(source, target, *pair), wanted))


def _compared(
    source: Side, target: Side, one: TopicPartition, other: TopicPartition, compacted: bool
) -> Difference:
    if compacted:
        ours, theirs = _latest(source, one), _latest(target, other)
        return Difference(*one, len(ours), len(theirs), ours == theirs)
    counts = _count(source, one), _count(target, other)
    skipped = [count - min(counts) for count in counts]
    # Only retention may have made one side shorter: then its log does not begin at its first record.
    cut = [source.starts([one])[one] > 0, target.starts([other])[other] > 0]
    if (skipped[0] and not cut[1]) or (skipped[1] and not cut[0]):
        return Difference(*one, *counts, same=False)
    same = _digest(source, one, skipped[0]) == _digest(target, other, skipped[1])
    return Difference(*one, *counts, same)


def _batches(side: Side, place: TopicPartition) -> Iterator[tuple[Batch, int, int]]:
    start, end = side.starts([place])[place], side.ends([place])[place]
    for batch in fetch(side.cluster, place, start, end, _OPTIONS):
        yield batch, start, end


def _count(side: Side, place: TopicPartition) -> int:
    """Records that a reader sees. Only batches at the edges are looked into."""
    found = 0
    for batch, start, end in _batches(side, place):
        header = batch.header
        if header.base_offset >= start and header.next_offset <= end:
            found += header.records_count
        else:
            found += sum(start <= record.offset < end for record in decode_batch(batch.data))
    return found


def _digest(side: Side, place: TopicPartition, skipped: int) -> str:
    """Of all records but the first `skipped`."""
    streams = _Streams(skipped)
    builder = ColumnBuilder()
    for batch, start, end in _batches(side, place):
        header = batch.header
        payload = decompress(header.codec, batch.data[HEADER_SIZE:], MAX_DECODED_BYTES)
        stamped = header.max_timestamp if header.is_log_append_time else None
        builder.add(
            payload, header.records_count, header.base_offset, header.base_timestamp, stamped, start, end
        )
        if builder.rows >= _CHUNK_ROWS:
            streams.take(builder.take())
    if builder.rows:
        streams.take(builder.take())
    return streams.result()


class _Streams:
    """One running hash for each field: what is hashed is the same however records come in chunks."""

    def __init__(self, skipped: int) -> None:
        self._skipped = skipped
        self._hashes = [hashlib.sha256() for _ in range(8)]

    def take(self, columns: Columns) -> None:
        first = min(self._skipped, columns.rows)
        self._skipped -= first
        assert columns.key is not None
        assert columns.value is not None
        assert columns.headers is not None
        times = np.frombuffer(columns.timestamps_ms, dtype=np.int64)[first:]
        self._hashes[0].update(times.tobytes())
        self._binary(1, columns.key, columns.rows, first)
        self._binary(3, columns.value, columns.rows, first)
        lists = np.frombuffer(columns.headers.list_offsets, dtype=np.int32)
        self._hashes[5].update(np.diff(lists)[first:].tobytes())
        header = int(lists[first])
        count = columns.headers.header_count
        self._binary(6, columns.headers.key, count, header)
        self._binary(6, columns.headers.value, count, header)

    def _binary(self, at: int, column: BinaryColumn, rows: int, first: int) -> None:
        offsets = np.frombuffer(column.offsets, dtype=np.int32)[: rows + 1]
        sizes = np.diff(offsets)
        if column.validity is not None:
            bits = np.unpackbits(np.frombuffer(column.validity, dtype=np.uint8), bitorder="little")[:rows]
            sizes = np.where(bits == 1, sizes, -1)
        self._hashes[at].update(sizes[first:].astype(np.int32).tobytes())
        if rows:
            self._hashes[at + 1].update(memoryview(column.data)[int(offsets[first]) : int(offsets[rows])])

    def result(self) -> str:
        return ":".join(each.hexdigest() for each in self._hashes)


def _latest(side: Side, place: TopicPartition) -> dict[bytes, bytes]:
    """A digest of the last record of each key; keys that were deleted are not there."""
    found: dict[bytes, bytes] = {}
    for batch, start, end in _batches(side, place):
        for record in decode_batch(batch.data):
            if not start <= record.offset < end or record.key is None:
                continue
            if record.value is None:
                found.pop(record.key, None)
                continue
            shown = repr((record.value, record.headers, record.timestamp_ms)).encode()
            found[record.key] = hashlib.sha256(shown).digest()
    return found
