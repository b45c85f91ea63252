"""What consumers put into the opaque bytes of the classic protocol: subscriptions and assignments of the
"consumer" protocol type, versions 0 to 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock.protocol.primitives import MalformedMessage, Reader, Writer

CONSUMER: Final = "consumer"  # the protocol type of consumers; Connect and others bring their own
LATEST_VERSION: Final = 3


class Subscription(NamedTuple):
    """What a member wants, and what it had before."""

    version: int
    topics: tuple[str, ...]
    owned: Mapping[str, tuple[int, ...]]
    generation_id: int = -1
    rack_id: str | None = None


def decode_subscription(data: bytes) -> Subscription:
    """MalformedMessage for bytes that are no subscription."""
    reader = Reader(memoryview(data))
    version = reader.int16()
    if version < 0:
        raise MalformedMessage(f"a subscription of version {version}")
    topics = tuple(reader.string() for _ in range(reader.array(2)))
    reader.nullable_bytes()
    owned = _read_partitions(reader) if version >= 1 else {}
    generation_id = reader.int32() if version >= 2 else -1
    rack_id = reader.nullable_string() if version >= 3 else None
    return Subscription(version, topics, owned, generation_id, rack_id)


def decode_assignment(data: bytes) -> Mapping[str, tuple[int, ...]]:
    """Partitions by topic; a member that was given nothing has no bytes at all."""
    if not data:
        return {}
    reader = Reader(memoryview(data))
    reader.int16()
    return _read_partitions(reader)


def encode_assignment(partitions: Mapping[str, tuple[int, ...]], version: int) -> bytes:
    writer = Writer()
    writer.int16(min(version, LATEST_VERSION))
    writer.array(len(partitions))
    for topic, indexes in partitions.items():
        writer.string(topic)
        writer.int32_array(indexes)
    writer.length(-1)
    return bytes(writer.data)


def _read_partitions(reader: Reader) -> dict[str, tuple[int, ...]]:
    return {reader.string(): tuple(reader.int32_array()) for _ in range(reader.array(6))}
