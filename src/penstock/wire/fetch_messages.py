"""Fetch (key 1, v4-v17) from the client's side: the request, and the response read without copying its
records.

The broker's side of the same messages is `penstock.protocol.fetch`. Sessions (KIP-227) are not used: each
request names what it wants.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.protocol.apis import Api, is_flexible
from penstock.protocol.errors import ErrorCode
from penstock.protocol.fetch import CONSUMER, TOPIC_IDS_FROM, AbortedTransaction
from penstock.protocol.primitives import ZERO_UUID, MalformedMessage, Reader, Writer
from penstock.wire.errors import error_code

VERSIONS: Final = (4, 17)
_NO_SESSION: Final = (0, -1)
_NO_EPOCH: Final = -1
_NO_OFFSET: Final = -1
_SMALLEST_PARTITION_BYTES: Final = 16


class Wanted(NamedTuple):
    """One partition and where to read it from."""

    topic: str
    topic_id: bytes
    partition: int
    leader_epoch: int
    offset: int
    max_bytes: int


class FetchedPartition(NamedTuple):
    """What the broker sent for one partition; `records` is a view into the response."""

    partition: int
    error: ErrorCode
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    """-1 where the version does not say."""
    aborted: tuple[AbortedTransaction, ...]
    records: memoryview


def newest_version(topic_id: bytes) -> int:
    """From v13 on topics go by their id; a topic that has none is asked for by name."""
    return TOPIC_IDS_FROM - 1 if topic_id == ZERO_UUID else VERSIONS[1]


def encode_request(
    version: int, wanted: Wanted, *, max_wait_ms: int, max_bytes: int, isolation: int
) -> bytes:
    writer = Writer(flexible=is_flexible(Api.FETCH, version))
    if version <= 14:
        writer.int32(CONSUMER)
    writer.int32(max_wait_ms)
    writer.int32(1)  # answer as soon as there is anything
    writer.int32(max_bytes)
    writer.int8(isolation)
    if version >= 7:
        writer.int32(_NO_SESSION[0])
        writer.int32(_NO_SESSION[1])
    writer.array(1)
    if version >= TOPIC_IDS_FROM:
        writer.uuid(wanted.topic_id)
    else:
        writer.string(wanted.topic)
    writer.array(1)
    _write_partition(writer, version, wanted)
    writer.tags()
    if version >= 7:
        writer.array(0)  # nothing to forget of a session that there is not
    if version >= 11:
        writer.string("")  # no rack: always the leader
    writer.tags()
    return bytes(writer.data)


def _write_partition(writer: Writer, version: int, wanted: Wanted) -> None:
    writer.int32(wanted.partition)
    if version >= 9:
        writer.int32(wanted.leader_epoch)
    writer.int64(wanted.offset)
    if version >= 12:
        writer.int32(_NO_EPOCH)
    if version >= 5:
        writer.int64(_NO_OFFSET)
    writer.int32(wanted.max_bytes)
    writer.tags()


def read_response(version: int, body: memoryview) -> tuple[ErrorCode, list[FetchedPartition]]:
    """The error of the whole response, and its partitions; one topic is asked at a time."""
    reader = Reader(body, flexible=is_flexible(Api.FETCH, version))
    reader.int32()  # throttle time: the broker itself holds back what comes after
    error = ErrorCode.NONE
    if version >= 7:
        error = error_code(reader.int16())
        reader.int32()
    answers = []
    for _ in range(reader.array(2)):
        if version >= TOPIC_IDS_FROM:
            reader.uuid()
        else:
            reader.string()
        answers += [_read_partition(reader, version) for _ in range(reader.array(_SMALLEST_PARTITION_BYTES))]
        reader.tags()
    reader.tags()
    if reader.remaining:
        raise MalformedMessage(f"{reader.remaining} bytes are left after a fetch response")
    return error, answers


def _read_partition(reader: Reader, version: int) -> FetchedPartition:
    partition, error = reader.int32(), error_code(reader.int16())
    high_watermark, last_stable_offset = reader.int64(), reader.int64()
    log_start_offset = reader.int64() if version >= 5 else _NO_OFFSET
    aborted = []
    for _ in range(reader.array(16)):
        aborted.append(AbortedTransaction(reader.int64(), reader.int64()))
        reader.tags()
    if version >= 11:
        reader.int32()  # preferred replica: none, since no rack was given
    records = reader.nullable_bytes()
    reader.tags()
    return FetchedPartition(
        *(partition, error, high_watermark, last_stable_offset, log_start_offset, tuple(aborted)),
        memoryview(b"") if records is None else records,
    )
