"""Ranges of partitions from one cluster to another: batches pass as they were stored.

A batch goes on with its compressed records untouched: only its header is written anew. Records are unpacked
only where they must be: at the edges of a range, where compaction has left gaps, where the source stamped its
own time, where another codec is wanted, and where many tiny batches follow each other. Keys, values, headers,
times and the order of each partition stay.

A mirror's tasks call `relay` inside a transaction of the target (`penstock.spark.mirroring`).
"""

from __future__ import annotations

import struct
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from penstock.protocol.topic_partition import TopicPartition
from penstock.records.batch import DELETE_HORIZON_FLAG, HEADER_SIZE, CorruptBatch
from penstock.records.codecs import Codec, CodecError, compress, decompress
from penstock.records.record import MAX_DECODED_BYTES
from penstock.records.walk import ColumnBuilder, Columns
from penstock.wire import offsets
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import Malformed, OffsetOutOfRange
from penstock.wire.fetch import IDLE_SECONDS, Batch, FetchOptions, fetch
from penstock.wire.pack import BinaryInput, HeaderInput, Packed, Packer, RecordColumns, Stored
from penstock.wire.produce import BATCH_BYTES, UNKNOWN_OFFSET, Producer, ProducerOptions

AT_ONCE: Final = 8
"""Ranges that are read side by side; each holds a connection to the source."""
TINY_BYTES: Final = 4096
"""Batches below this are packed together when several follow each other."""
GATHERED_BYTES: Final = 1_000_000
MOST_RUNS: Final = 64
"""Runs of offsets that are told apart in one batch that compaction has thinned out."""


class Range(NamedTuple):
    """Offsets of a partition of the source from `start` and before `end`, and where they go."""

    source: TopicPartition
    target: TopicPartition
    start: int
    end: int


class Piece(NamedTuple):
    """Records that stand behind each other on both sides."""

    upstream: int
    """The offset of the first on the source."""
    last_upstream: int
    downstream: int
    """The offset of the first on the target."""
    records: int

    @property
    def is_dense(self) -> bool:
        return self.last_upstream - self.upstream + 1 == self.records


class Relayed(NamedTuple):
    """What became of a range."""

    source: TopicPartition
    next_offset: int
    records: int
    size_bytes: int
    missed: int
    """Offsets at the start of the range that retention had deleted before they were read."""
    last_timestamp_ms: int
    """Of the newest batch; -1 when there was none."""
    pieces: tuple[Piece, ...]


class RelayOptions(NamedTuple):
    codec: Codec | None = None
    """The codec that batches must have on the target; None to keep what they have."""
    read_committed: bool = True
    idle_seconds: float = IDLE_SECONDS


def relay(
    source: Cluster,
    target: Cluster,
    ranges: Sequence[Range],
    producing: ProducerOptions,
    options: RelayOptions | None = None,
) -> list[Relayed]:
    """Copy the ranges; on return everything is acknowledged by the target. One writer for each partition."""
    chosen = options or RelayOptions()
    journeys = {each.target: _Journey(source, each, chosen) for each in ranges}

    def acknowledged(place: TopicPartition, offset: int, count: int) -> None:
        journeys[place].acknowledged(offset, count)

    producer = Producer(target, producing._replace(on_acknowledged=acknowledged))
    waiting = deque(journeys.values())
    reading: deque[tuple[_Journey, Iterator[_Unit]]] = deque()
    while waiting or reading:
        while waiting and len(reading) < AT_ONCE:
            journey = waiting.popleft()
            reading.append((journey, journey.units()))
        journey, units = reading.popleft()
        unit = next(units, None)
        if unit is None:
            continue
        journey.sent.append(unit)
        producer.send(journey.wanted.target, unit.packed)
        reading.append((journey, units))
    producer.flush()
    return [journey.result() for journey in journeys.values()]


class _Unit(NamedTuple):
    """One batch for the target, and where its records stood."""

    packed: Packed | Stored
    upstream: int
    last_upstream: int
    offsets: Sequence[int] | None
    """The offset of each record, where they have gaps."""


class _Journey:
    """One range on its way."""

    def __init__(self, source: Cluster, wanted: Range, options: RelayOptions) -> None:
        self.wanted = wanted
        self.sent: deque[_Unit] = deque()
        """Units whose records are not all acknowledged; the first may be acknowledged in part."""
        self._source = source
        self._options = options
        self._start = wanted.start
        """Where the range begins; later than wanted where retention was faster."""
        self._done = 0
        """Acknowledged records of the first unit, which a broker that found it too large got in parts."""
        self._pieces: list[Piece] = []
        self._records = 0
        self._size_bytes = 0
        self._missed = 0
        self._last_timestamp_ms = -1

    def units(self) -> Iterator[_Unit]:
        tiny: list[Batch] = []
        gathered = 0
        for batch in self._batches():
            self._size_bytes += len(batch.data)
            self._last_timestamp_ms = max(self._last_timestamp_ms, batch.header.max_timestamp)
            if self._passes(batch) and len(batch.data) >= TINY_BYTES:
                yield from self._together(tiny)
                tiny, gathered = [], 0
                yield _as_stored(batch)
                continue
            tiny.append(batch)
            gathered += len(batch.data)
            if gathered >= GATHERED_BYTES:
                yield from self._together(tiny)
                tiny, gathered = [], 0
        yield from self._together(tiny)

    def _passes(self, batch: Batch) -> bool:
        """Whether a batch may go on as it is."""
        header = batch.header
        return (
            header.records_count == header.last_offset_delta + 1
            and header.base_offset >= self._start
            and header.next_offset <= self.wanted.end
            and not header.is_log_append_time
            and not header.attributes & DELETE_HORIZON_FLAG
            and (self._options.codec is None or header.codec is self._options.codec)
        )

    def _together(self, batches: list[Batch]) -> Iterator[_Unit]:
        if len(batches) == 1 and self._passes(batches[0]):
            yield _as_stored(batches[0])
            return
        builder = ColumnBuilder()
        for batch in batches:
            self._unpack(batch, builder)
        if builder.rows:
            codec = batches[-1].header.codec if self._options.codec is None else self._options.codec
            yield from _packed(builder.take(), codec)

    def _unpack(self, batch: Batch, builder: ColumnBuilder) -> None:
        header = batch.header
        try:
            payload = decompress(header.codec, batch.data[HEADER_SIZE:], MAX_DECODED_BYTES)
            stamped = header.max_timestamp if header.is_log_append_time else None
            builder.add(
                payload,
                header.records_count,
                header.base_offset,
                header.base_timestamp,
                stamped,
                self._start,
                self.wanted.end,
            )
        except (CorruptBatch, CodecError) as error:
            raise Malformed(
                f"the batch at offsets {header.base_offset} to {header.last_offset} of {self.wanted.source} "
                f"is broken: {error}"
            ) from error

    def _batches(self) -> Iterator[Batch]:
        """The stored batches; where retention was faster, from what is left."""
        place, position, end = self.wanted.source, self.wanted.start, self.wanted.end
        options = FetchOptions(
            read_committed=self._options.read_committed, idle_seconds=self._options.idle_seconds
        )
        while position < end:
            try:
                for batch in fetch(self._source, place, position, end, options):
                    position = batch.header.next_offset
                    yield batch
                return
            except OffsetOutOfRange:
                first = offsets.earliest(self._source, [place], Deadline(self._options.idle_seconds))[place]
                if first <= position:  # the log ends before what was to be read: it was truncated
                    return
                self._missed += min(first, end) - position
                # A stored batch may begin before the log does; what it holds from before counts as deleted.
                position = self._start = first

    def acknowledged(self, offset: int, count: int) -> None:
        self._records += count
        while count:
            unit = self.sent[0]
            size = min(count, unit.packed.record_count - self._done)
            if offset != UNKNOWN_OFFSET:
                self._pieces += _pieces(unit, self._done, size, offset)
                offset += size
            self._done += size
            count -= size
            if self._done == unit.packed.record_count:
                self.sent.popleft()
                self._done = 0

    def result(self) -> Relayed:
        return Relayed(
            self.wanted.source,
            self.wanted.end,
            self._records,
            self._size_bytes,
            self._missed,
            self._last_timestamp_ms,
            tuple(joined(self._pieces)),
        )


def _pieces(unit: _Unit, start: int, size: int, downstream: int) -> list[Piece]:
    """Some records of a unit: one piece for each run of offsets, or one in all when there are many runs."""
    if unit.offsets is None:
        return [Piece(unit.upstream + start, unit.upstream + start + size - 1, downstream, size)]
    at = unit.offsets[start : start + size]
    edges = [0, *(n for n in range(1, size) if at[n] != at[n - 1] + 1), size]
    if len(edges) > MOST_RUNS:
        edges = [0, size]
    return [Piece(at[one], at[two - 1], downstream + one, two - one) for one, two in pairwise(edges)]


def _as_stored(batch: Batch) -> _Unit:
    header = batch.header
    stored = Stored(
        batch.data[HEADER_SIZE:],
        header.records_count,
        header.base_timestamp,
        header.max_timestamp,
        header.codec,
    )
    return _Unit(stored, header.base_offset, header.last_offset, None)


def _packed(columns: Columns, codec: Codec) -> Iterator[_Unit]:
    """Records packed anew, in batches of at most `BATCH_BYTES` before compression."""
    at = memoryview(columns.offsets).cast("B").cast("q")
    rows = array("i", range(columns.rows)).tobytes()
    fields, packer, position = _fields(columns), Packer(BATCH_BYTES), 0
    while position < columns.rows:
        start, position = position, packer.add(fields, rows, position)
        made = packer.take()
        stored = Stored(_compressed(codec, made), made.record_count, *made[2:], codec)
        yield _Unit(stored, at[start], at[position - 1], at[start:position].tolist())


def _compressed(codec: Codec, packed: Packed) -> bytes:
    return bytes(packed.payload) if codec is Codec.NONE else compress(codec, packed.payload)


def _fields(columns: Columns) -> RecordColumns:
    key, value, headers = columns.key, columns.value, columns.headers
    assert key is not None
    assert value is not None
    assert headers is not None
    lists = HeaderInput(headers.list_offsets, None, BinaryInput(*headers.key), BinaryInput(*headers.value))
    return RecordColumns(columns.rows, columns.timestamps_ms, BinaryInput(*key), BinaryInput(*value), lists)


def joined(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The same with neighbours made one where both sides go on without a gap."""
    last: Piece | None = None
    for piece in pieces:
        if (
            last is not None
            and last.is_dense
            and piece.is_dense
            and piece.upstream == last.last_upstream + 1
            and piece.downstream == last.downstream + last.records
        ):
            last = Piece(last.upstream, piece.last_upstream, last.downstream, last.records + piece.records)
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last


PIECE: Final = struct.Struct(">qqqq")


def to_bytes(pieces: Sequence[Piece]) -> bytes:
    return b"".join(PIECE.pack(*piece) for piece in pieces)


def from_bytes(data: bytes) -> tuple[Piece, ...]:
    return tuple(Piece(*numbers) for numbers in PIECE.iter_unpack(data))
