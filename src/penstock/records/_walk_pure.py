"""The walk over a batch's records in plain Python: what runs where no compiler was found at installation.

It is also the specification of `_walk_native.pyx`: a property test holds the two equal on good and on
broken input, down to the words of the refusal. Nobody imports this module but its facades
(`penstock.records.walk`, `penstock.records.keys`), its neighbour `_keys_pure` and that test.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from penstock.records.batch import NO_TIMESTAMP, BatchHeader, Bytes, CorruptBatch
from penstock.records.varint import MAX_VARINT_BYTES, MAX_VARLONG_BYTES

INT64_MAX = (1 << 63) - 1
INT64_MIN = -(1 << 63)
# Arrow's binary columns count their bytes in 32 bits.
MAX_COLUMN_BYTES = (1 << 31) - 1
# Length, attributes, two deltas, two lengths and the number of headers, one byte each.
SMALLEST_RECORD_BYTES = 7

# The native twin answers with an index into this tuple.
REASONS = (
    "",
    "the bytes end inside a varint",
    "a varint does not fit in its type",
    "its size does not fit in the batch",
    "the bytes end before its attributes",
    "the size of a key or a value does not fit in it",
    "the number of headers does not fit in it",
    "a header without a key",
    "its size does not match its fields",
    "its timestamp does not fit in 64 bits",
    "its offset is negative or does not fit in 64 bits",
    "its offset does not follow the one before",
    "it has no key, and a compacted topic needs one",
    "its timestamp is out of range",
)
(
    _OK, VARINT_ENDS, VARINT_LARGE, RECORD_SIZE, NO_ATTRIBUTES, FIELD_SIZE, HEADER_COUNT, HEADER_KEY,
    RECORD_LENGTH, TIMESTAMP, OFFSET, OFFSET_ORDER, NULL_KEY, TIMESTAMP_RANGE,
) = range(len(REASONS))  # fmt: skip


class BinaryColumn(NamedTuple):
    """A nullable column of bytes in Arrow's layout."""

    offsets: Bytes
    """Row count + 1 positions in `data`, int32."""
    data: Bytes
    validity: Bytes | None
    """One bit a row, lowest bit first; None when no row is null."""


class HeaderColumns(NamedTuple):
    """A list of (key, value) for each row, never null. Keys are never null, and not checked to be UTF-8."""

    list_offsets: Bytes
    """Row count + 1 positions in the header arrays, int32."""
    header_count: int
    key: BinaryColumn
    value: BinaryColumn


class Columns(NamedTuple):
    """The records of one or several batches, field by field. A column that was not asked for is None."""

    rows: int
    offsets: Bytes
    timestamps_ms: Bytes
    timestamp_types: Bytes
    """int32: 0 for the producer's time, 1 for the time of appending."""
    key: BinaryColumn | None
    value: BinaryColumn | None
    headers: HeaderColumns | None


class RefusedRecord(CorruptBatch):
    """A record that is not right: its place in the batch, and which of REASONS."""

    def __init__(self, index: int, reason: int) -> None:
        super().__init__(f"record {index}: {REASONS[reason]}")
        self.index = index
        self.reason = reason


class _Refused(Exception):
    def __init__(self, reason: int) -> None:
        self.reason = reason


class WalkedRecord(NamedTuple):
    timestamp_delta: int
    offset_delta: int
    key: memoryview | None
    value: memoryview | None
    headers: list[tuple[memoryview, memoryview | None]]
    start: int
    """Where its length begins in the payload."""
    attributes: int
    """Where its attributes stand: behind its length, before its timestamp."""
    rest: int
    """Where what follows its timestamp begins."""
    end: int


def refusal(index: int, reason: int) -> RefusedRecord:
    """How both twins say that a record is not right."""
    return RefusedRecord(index, reason)


def check_count(count: int, size_bytes: int) -> None:
    """A count that the bytes cannot hold is refused before anything is allocated for it."""
    if not 0 <= count <= size_bytes // SMALLEST_RECORD_BYTES:
        raise CorruptBatch(f"{count} records do not fit in {size_bytes} bytes")


def trailing(size_bytes: int) -> CorruptBatch:
    return CorruptBatch(f"{size_bytes} bytes are left after the last record")


def accept(
    batch: Bytes, max_bytes: int, require_keys: bool, now_ms: int, before_ms: int, after_ms: int
) -> BatchHeader | None:
    """The header of a batch that is beyond doubt such as a client may send: with timestamps from `before_ms`
    ago to in `after_ms`. Here every one is looked at closer; the native twin knows the common ones at a
    glance."""
    return None


def validate(
    payload: Bytes,
    count: int,
    *,
    base_timestamp: int = 0,
    require_keys: bool = False,
    earliest: int = INT64_MIN,
    latest: int = INT64_MAX,
) -> int:
    """Raise `CorruptBatch` unless `payload` (decompressed) is `count` records such as a client may send.

    Timestamps are to be from `earliest` to `latest`, or NO_TIMESTAMP. Gives the largest of them.
    """
    if count == 0:
        raise CorruptBatch("a batch without records")
    max_timestamp = NO_TIMESTAMP
    for index, record in enumerate(walk_records(memoryview(payload), count)):
        if record.offset_delta != index:
            raise refusal(index, OFFSET_ORDER)
        timestamp = base_timestamp + record.timestamp_delta
        if not INT64_MIN <= timestamp <= INT64_MAX:
            raise refusal(index, TIMESTAMP)
        if require_keys and record.key is None:
            raise refusal(index, NULL_KEY)
        if timestamp != NO_TIMESTAMP and not earliest <= timestamp <= latest:
            raise refusal(index, TIMESTAMP_RANGE)
        max_timestamp = max(max_timestamp, timestamp)
    return max_timestamp


class ColumnBuilder:
    """Gathers the records of batch after batch into columns. A refused batch leaves nothing behind."""

    def __init__(self, *, keys: bool = True, values: bool = True, headers: bool = True) -> None:
        self._keys, self._values, self._headers = keys, values, headers
        self._clear()

    def _clear(self) -> None:
        self._rows: list[tuple[int, int, int, WalkedRecord]] = []
        self.size_bytes = 0

    @property
    def rows(self) -> int:
        return len(self._rows)

    def add(
        self,
        payload: Bytes,
        count: int,
        base_offset: int,
        base_timestamp: int,
        log_append_time: int | None = None,
        lower: int = 0,
        upper: int = INT64_MAX,
    ) -> None:
        """Add those of the `count` records in `payload` (decompressed) whose offset is at least `lower`
        and below `upper`.
        """
        view = memoryview(bytes(payload))
        if self.size_bytes + len(view) > MAX_COLUMN_BYTES:
            raise OverflowError("the columns would exceed what Arrow can address: take them first")
        added = []
        for index, record in enumerate(walk_records(view, count)):
            offset = base_offset + record.offset_delta
            if record.offset_delta < 0 or offset > INT64_MAX:
                raise refusal(index, OFFSET)
            timestamp = base_timestamp + record.timestamp_delta
            if log_append_time is not None:
                timestamp = log_append_time
            elif not INT64_MIN <= timestamp <= INT64_MAX:
                raise refusal(index, TIMESTAMP)
            if lower <= offset < upper:
                added.append((offset, timestamp, int(log_append_time is not None), record))
        self._rows += added
        self.size_bytes += len(view)

    def take(self) -> Columns:
        """What was gathered since the last time; the builder is empty afterwards."""
        rows = self._rows
        columns = Columns(
            rows=len(rows),
            offsets=array("q", [row[0] for row in rows]).tobytes(),
            timestamps_ms=array("q", [row[1] for row in rows]).tobytes(),
            timestamp_types=array("i", [row[2] for row in rows]).tobytes(),
            key=_binary([row[3].key for row in rows]) if self._keys else None,
            value=_binary([row[3].value for row in rows]) if self._values else None,
            headers=_header_columns([row[3].headers for row in rows]) if self._headers else None,
        )
        self._clear()
        return columns


def _binary(items: list[memoryview | None]) -> BinaryColumn:
    offsets, end = array("i", [0]), 0
    validity = bytearray((len(items) + 7) // 8)
    nulls = 0
    for index, item in enumerate(items):
        if item is None:
            nulls += 1
        else:
            end += len(item)
            validity[index >> 3] |= 1 << (index & 7)
        offsets.append(end)
    data = b"".join(item for item in items if item is not None)
    return BinaryColumn(offsets.tobytes(), data, bytes(validity) if nulls else None)


def _header_columns(rows: list[list[tuple[memoryview, memoryview | None]]]) -> HeaderColumns:
    list_offsets = array("i", [0])
    for headers in rows:
        list_offsets.append(list_offsets[-1] + len(headers))
    flat = [header for headers in rows for header in headers]
    return HeaderColumns(
        list_offsets.tobytes(),
        len(flat),
        _binary([key for key, _ in flat]),
        _binary([value for _, value in flat]),
    )


def walk_records(payload: memoryview, count: int) -> Iterator[WalkedRecord]:
    """Each of exactly `count` records; `CorruptBatch` where one is not whole."""
    check_count(count, len(payload))
    position = 0
    for index in range(count):
        try:
            record, position = _read_record(payload, position)
        except _Refused as refused:
            raise refusal(index, refused.reason) from None
        yield record
    if position != len(payload):
        raise trailing(len(payload) - position)


def _read_record(payload: memoryview, start: int) -> tuple[WalkedRecord, int]:
    size, position = _varint(payload, start, len(payload), MAX_VARINT_BYTES)
    if size < 0 or size > len(payload) - position:
        raise _Refused(RECORD_SIZE)
    attributes, end = position, position + size
    if size == 0:
        raise _Refused(NO_ATTRIBUTES)
    timestamp_delta, rest = _varint(payload, attributes + 1, end, MAX_VARLONG_BYTES)
    offset_delta, position = _varint(payload, rest, end, MAX_VARINT_BYTES)
    key, position = _field(payload, position, end)
    value, position = _field(payload, position, end)
    headers, position = _read_headers(payload, position, end)
    if position != end:
        raise _Refused(RECORD_LENGTH)
    record = WalkedRecord(timestamp_delta, offset_delta, key, value, headers, start, attributes, rest, end)
    return record, end


def _read_headers(
    payload: memoryview, position: int, end: int
) -> tuple[list[tuple[memoryview, memoryview | None]], int]:
    count, position = _varint(payload, position, end, MAX_VARINT_BYTES)
    if not 0 <= count <= end - position:
        raise _Refused(HEADER_COUNT)
    headers = []
    for _ in range(count):
        key, position = _field(payload, position, end)
        if key is None:
            raise _Refused(HEADER_KEY)
        value, position = _field(payload, position, end)
        headers.append((key, value))
    return headers, position


def _field(payload: memoryview, position: int, end: int) -> tuple[memoryview | None, int]:
    size, position = _varint(payload, position, end, MAX_VARINT_BYTES)
    if size == -1:
        return None, position
    if size < 0 or size > end - position:
        raise _Refused(FIELD_SIZE)
    return payload[position : position + size], position + size


def _varint(payload: memoryview, position: int, end: int, max_bytes: int) -> tuple[int, int]:
    """A zigzag varint; of 32 bits when it may have five bytes, of 64 when ten."""
    zigzag = 0
    for index in range(max_bytes):
        if position >= end:
            raise _Refused(VARINT_ENDS)
        byte = payload[position]
        position += 1
        zigzag |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if zigzag >> (32 if max_bytes == MAX_VARINT_BYTES else 64):
                break
            return (zigzag >> 1) ^ -(zigzag & 1), position
    raise _Refused(VARINT_LARGE)
