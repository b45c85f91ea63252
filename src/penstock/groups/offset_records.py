"""The records of `__consumer_offsets` that hold committed offsets, in Kafka's own layout (key v1, value
v3)."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.groups.record_keys import KeyKind
from penstock.protocol.primitives import Reader, Writer
from penstock.records.record import Record

VALUE_VERSION: Final = 3
FIRST_FLEXIBLE: Final = 4


class OffsetKey(NamedTuple):
    """Whose position in which partition."""

    group: str
    topic: str
    partition: int


class CommittedOffset(NamedTuple):
    """A position and what the client wrote beside it."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = -1
    """Asked for by clients of OffsetCommit v2-v4 alone; -1 leaves it to `offsets.retention.minutes`."""


def offset_record(key: OffsetKey, committed: CommittedOffset) -> Record:
    return Record(encode_key(key), encode_value(committed), (), committed.commit_timestamp_ms)


def encode_key(key: OffsetKey) -> bytes:
    writer = Writer()
    writer.int16(KeyKind.OFFSET_COMMIT)
    writer.string(key.group)
    writer.string(key.topic)
    writer.int32(key.partition)
    return bytes(writer.data)


def decode_key(reader: Reader) -> OffsetKey:
    """The reader stands behind the kind."""
    return OffsetKey(reader.string(), reader.string(), reader.int32())


def encode_value(committed: CommittedOffset) -> bytes:
    """Version 3, or version 1 when the offset has an expiry of its own: later versions have no field for
    it."""
    expires = committed.expire_timestamp_ms >= 0
    writer = Writer()
    writer.int16(1 if expires else VALUE_VERSION)
    writer.int64(committed.offset)
    if not expires:
        writer.int32(committed.leader_epoch)
    writer.string(committed.metadata)
    writer.int64(committed.commit_timestamp_ms)
    if expires:
        writer.int64(committed.expire_timestamp_ms)
    return bytes(writer.data)


def decode_value(data: bytes) -> CommittedOffset:
    """Versions 0 to 4: older ones lack the epoch, version 1 has an expiry, version 4 is flexible."""
    reader = Reader(memoryview(data))
    version = reader.int16()
    reader.flexible = version >= FIRST_FLEXIBLE
    offset = reader.int64()
    leader_epoch = reader.int32() if version >= 3 else -1
    metadata = reader.string()
    committed_ms = reader.int64()
    return CommittedOffset(
        offset, leader_epoch, metadata, committed_ms, reader.int64() if version == 1 else -1
    )
