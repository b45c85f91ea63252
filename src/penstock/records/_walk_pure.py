"""The walk over a batch's records in plain Python: what runs where no compiler was found at installation.

It is also the specification of `_walk_native.pyx` and `_records.pxd`: a property test holds the twins equal
on good and on broken input, down to the words of the refusal. Nobody imports this module but its facade
`penstock.records.walk`, its neighbours `_columns_pure` and `_keys_pure`, the native twins and that test.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.records.batch import NO_TIMESTAMP, BatchHeader, Bytes, CorruptBatch
from penstock.records.varint import MAX_VARINT_BYTES, MAX_VARLONG_BYTES

INT64_MAX = (1 << 63) - 1
INT64_MIN = -(1 << 63)
# Length, attributes, two deltas, two lengths and the number of headers, one byte each.
SMALLEST_RECORD_BYTES = 7

# The native twins answer with an index into this tuple, or that there was no memory.
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
_NO_MEMORY = 100


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


def check_end(reason: int, index: int, left_bytes: int) -> None:
    """How a native twin ends: with a reason and the record it is about, or with bytes that are left."""
    if reason == _NO_MEMORY:
        raise MemoryError
    if reason != _OK:
        raise refusal(index, reason)
    if left_bytes:
        raise CorruptBatch(f"{left_bytes} bytes are left after the last record")


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


def refusals(
    payload: Bytes,
    count: int,
    most: int,
    *,
    base_timestamp: int = 0,
    require_keys: bool = False,
    earliest: int = INT64_MIN,
    latest: int = INT64_MAX,
) -> tuple[int, list[tuple[int, int, int]]]:
    """Every record that a topic refuses for want of a key or for its timestamp: how many there are, and of
    the first `most` the index, the reason and the timestamp. Raises `CorruptBatch` as `validate` does when
    the payload is not `count` whole records."""
    total = 0
    found: list[tuple[int, int, int]] = []
    for index, record in enumerate(walk_records(memoryview(payload), count)):
        if record.offset_delta != index:
            raise refusal(index, OFFSET_ORDER)
        timestamp = base_timestamp + record.timestamp_delta
        if not INT64_MIN <= timestamp <= INT64_MAX:
            raise refusal(index, TIMESTAMP)
        if require_keys and record.key is None:
            reason = NULL_KEY
        elif timestamp != NO_TIMESTAMP and not earliest <= timestamp <= latest:
            reason = TIMESTAMP_RANGE
        else:
            continue
        total += 1
        if len(found) < most:
            found.append((index, reason, timestamp))
    return total, found


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
    check_end(_OK, count, len(payload) - position)


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
