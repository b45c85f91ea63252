"""The records of `__consumer_offsets` that hold committed offsets, in Kafka's own layout (key v1, value
v3)."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.protocol.primitives import Reader, Writer

KEY_VERSION: Final = 1
VALUE_VERSION: Final = 3


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


def encode_key(key: OffsetKey) -> bytes:
    writer = Writer()
    writer.int16(KEY_VERSION)
    writer.string(key.group)
    writer.string(key.topic)
    writer.int32(key.partition)
    return bytes(writer.data)


def decode_key(data: bytes) -> OffsetKey | None:
    """None for a key of another kind (a group's own record)."""
    reader = Reader(memoryview(data))
    if reader.int16() > KEY_VERSION:
        return None
    return OffsetKey(reader.string(), reader.string(), reader.int32())


def encode_value(committed: CommittedOffset) -> bytes:
    writer = Writer()
    writer.int16(VALUE_VERSION)
    writer.int64(committed.offset)
    writer.int32(committed.leader_epoch)
    writer.string(committed.metadata)
    writer.int64(committed.commit_timestamp_ms)
    return bytes(writer.data)


def decode_value(data: bytes) -> CommittedOffset:
    """Versions 0 to 3: older ones lack the epoch, version 1 has an expiry that nobody uses any more."""
    reader = Reader(memoryview(data))
    version = reader.int16()
    offset = reader.int64()
    leader_epoch = reader.int32() if version >= 3 else -1
    metadata = reader.string()
    return CommittedOffset(offset, leader_epoch, metadata, reader.int64())
