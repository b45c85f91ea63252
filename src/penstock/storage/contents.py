"""What must hold of the records inside a producer's batch: whole, in order, with timestamps within bounds,
and keyed where the topic is compacted.

Records are walked by `penstock.records.walk`, without the GIL where the native walk is built; compressed ones
are unpacked for it, into a bounded buffer. Called by `penstock.storage.incoming` before the log's lock is
taken. The rules, codes and words are Kafka's (`LogValidator`), with three differences: offsets inside a batch
must be 0, 1, 2, … (Kafka numbers compressed records anew and does not look at others), a batch may unpack
to `MAX_DECODED_BYTES` at most, and one answer names `MOST_RECORD_ERRORS` records at most.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Final

from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records import walk
from penstock.records.batch import HEADER_SIZE, BatchHeader, CorruptBatch, assign_max_timestamp
from penstock.records.codecs import CodecError, TooLarge, decompress
from penstock.records.record import MAX_DECODED_BYTES
from penstock.settings.topic import TopicSettings

LOG_APPEND_TIME: Final = "LogAppendTime"
ROOM_BYTES: Final = 4 * 1024 * 1024
"""What nearly every batch unpacks to at most. Batches that unpack to more take turns: however many producers
send them, one at a time is in memory."""

MOST_ROOMS: Final = 4
"""How many batches are unpacked at once. Their buffers are kept for the next ones: new memory costs more than
to unpack a small batch."""

MOST_RECORD_ERRORS: Final = 20_000
"""Refused records that one answer names: twice what librdkafka puts into a batch. A small compressed batch
can hold millions, and each is a sentence of the answer. The message has their whole number."""

_INT64_MAX: Final = 2**63 - 1
_rooms: SimpleQueue[bytearray | None] = SimpleQueue()
for _ in range(MOST_ROOMS):
    _rooms.put(None)
_large_batches = threading.Lock()


class InvalidRecords(KafkaError):
    """A batch refused for what is inside it. `record_errors` names each refused record by its place in the
    batch, with the reason."""

    def __init__(self, code: ErrorCode, message: str, record_errors: tuple[tuple[int, str], ...]) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


def accept(batch: memoryview, settings: TopicSettings, now_ms: int) -> BatchHeader | None:
    """The header of a client's batch that is beyond doubt, CRC and all; None when it has to be looked at
    closer."""
    if settings.message_timestamp_type == LOG_APPEND_TIME:
        return None
    return walk.accept(
        batch,
        settings.max_message_bytes,
        "compact" in settings.cleanup_policy,
        now_ms,
        settings.message_timestamp_before_max_ms,
        settings.message_timestamp_after_max_ms,
    )


def check_records(
    batch: memoryview, header: BatchHeader, settings: TopicSettings, now_ms: int, name: str
) -> BatchHeader:
    """The header of a batch whose records may be appended to `name`; InvalidRecords otherwise.

    A maximum timestamp that is not that of the records is put right in `batch` and in the header, as Kafka
    does.
    """
    try:
        max_timestamp = _walk(batch[HEADER_SIZE:], header, settings, now_ms)
    except _Refused as refused:
        raise _refusal(refused, settings, now_ms, name) from None
    except walk.RefusedRecord as broken:
        raise _invalid(
            f"Invalid batch of {header.records_count} records in topic partition {name}: {broken}"
        ) from None
    except (CorruptBatch, CodecError) as error:
        raise _invalid(f"Invalid batch in topic partition {name}: {error}") from None
    if settings.message_timestamp_type != LOG_APPEND_TIME and max_timestamp != header.max_timestamp:
        return assign_max_timestamp(batch, 0, header, max_timestamp)
    return header


def _walk(body: memoryview, header: BatchHeader, settings: TopicSettings, now_ms: int) -> int:
    codec = header.codec
    if not codec:
        return _validate(body, header, settings, now_ms)
    with _room() as room:
        try:
            return _validate(decompress(codec, body, ROOM_BYTES, room), header, settings, now_ms)
        except TooLarge:
            pass
    with _large_batches:
        payload = decompress(codec, body, MAX_DECODED_BYTES, at_least=ROOM_BYTES + 1)
        return _validate(payload, header, settings, now_ms)


@contextmanager
def _room() -> Iterator[bytearray]:
    """A buffer of our own for a while; it is made when it is needed first. Waits for another batch to be
    unpacked if need be, which takes milliseconds."""
    room = _rooms.get()
    try:
        room = bytearray(ROOM_BYTES) if room is None else room
        yield room
    finally:
        _rooms.put(room)


def _validate(
    payload: bytes | bytearray | memoryview, header: BatchHeader, settings: TopicSettings, now_ms: int
) -> int:
    """The largest timestamp. The walk stops at the first record that is not right; a second one finds all
    that the topic refuses, so that the producer can be told which they are."""
    earliest, latest = _bounds(settings, now_ms)
    require_keys = "compact" in settings.cleanup_policy
    base, count = header.base_timestamp, header.records_count
    try:
        return walk.validate(
            payload, count, base_timestamp=base, require_keys=require_keys, earliest=earliest, latest=latest
        )
    except walk.RefusedRecord as refused:
        if refused.reason not in (walk.NULL_KEY, walk.TIMESTAMP_RANGE):
            raise
    raise _Refused(
        *walk.refusals(
            payload,
            count,
            MOST_RECORD_ERRORS,
            base_timestamp=base,
            require_keys=require_keys,
            earliest=earliest,
            latest=latest,
        )
    )


def _bounds(settings: TopicSettings, now_ms: int) -> tuple[int, int]:
    """The timestamps that records may have, both included."""
    if settings.message_timestamp_type == LOG_APPEND_TIME:
        return -_INT64_MAX - 1, _INT64_MAX
    latest = min(_INT64_MAX, now_ms + settings.message_timestamp_after_max_ms)
    return max(-_INT64_MAX - 1, now_ms - settings.message_timestamp_before_max_ms), latest


class _Refused(Exception):
    """Records that are whole and that the topic does not take: how many, and the first of them."""

    def __init__(self, total: int, found: list[tuple[int, int, int]]) -> None:
        self.total = total
        self.found = found


def _refusal(refused: _Refused, settings: TopicSettings, now_ms: int, name: str) -> InvalidRecords:
    """Kafka's answer. One wrong timestamp makes the whole answer INVALID_TIMESTAMP, but a record without a
    key is named for that first."""
    earliest, latest = _bounds(settings, now_ms)
    errors = []
    for index, reason, timestamp in refused.found:
        if reason == walk.NULL_KEY:
            told = f"Compacted topic cannot accept message without key in topic partition {name}"
        else:
            told = (
                f"Timestamp {timestamp} of message with offset {index} is out of range. The timestamp should "
                f"be within [{earliest}, {latest}]"
            )
        errors.append((index, told))
    if any(reason == walk.TIMESTAMP_RANGE for _, reason, _ in refused.found):
        message = "One or more records have been rejected due to invalid timestamp"
        return InvalidRecords(ErrorCode.INVALID_TIMESTAMP, message, tuple(errors))
    first = ", ".join(f"RecordError(batchIndex={index}, message='{told}')" for index, told in errors[:3])
    message = (
        f"One or more records have been rejected due to {refused.total} record errors in total, and only "
        f"showing the first three errors at most: [{first}]"
    )
    return InvalidRecords(ErrorCode.INVALID_RECORD, message, tuple(errors))


def _invalid(message: str) -> InvalidRecords:
    return InvalidRecords(ErrorCode.INVALID_RECORD, message, ())
