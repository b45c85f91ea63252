"""Heartbeat (key 12, v0-v4) and ConsumerGroupHeartbeat (key 68, v0-v1): what members of groups say every few
seconds, by the thousand, read and written by hand."""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from penstock.protocol.errors import ErrorCode
from penstock.protocol.primitives import Reader, Writer

_UUID_AND_LENGTH: Final = 17
_NOTHING: Final = -1  # a structure that is not there
_SOMETHING: Final = 1
_EPOCH_AND_INTERVAL: Final = struct.Struct(">ii")


class Heartbeat(NamedTuple):
    """A member of the classic protocol is alive."""

    group_id: str
    generation_id: int
    member_id: str
    instance_id: str | None


class ConsumerHeartbeat(NamedTuple):
    """A member of the consumer protocol; None stands for "as I said before"."""

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    topic_names: tuple[str, ...] | None
    topic_regex: str | None
    server_assignor: str | None
    owned: dict[bytes, frozenset[int]] | None


class ConsumerAnswer(NamedTuple):
    error: ErrorCode
    message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Mapping[bytes, Collection[int]] | None = None


def read_heartbeat(reader: Reader, version: int) -> Heartbeat:
    group_id, generation_id, member_id = reader.string(), reader.int32(), reader.string()
    instance_id = reader.nullable_string() if version >= 3 else None
    reader.tags()
    return Heartbeat(group_id, generation_id, member_id, instance_id)


def encode_heartbeat_response(version: int, error: ErrorCode) -> bytes:
    writer = Writer(flexible=version >= 4)
    if version >= 1:
        writer.int32(0)  # throttle time
    writer.int16(error)
    writer.tags()
    return bytes(writer.data)


def read_consumer_heartbeat(reader: Reader, version: int) -> ConsumerHeartbeat:
    heartbeat = ConsumerHeartbeat(
        group_id=reader.string(),
        member_id=reader.string(),
        member_epoch=reader.int32(),
        instance_id=reader.nullable_string(),
        rack_id=reader.nullable_string(),
        rebalance_timeout_ms=reader.int32(),
        topic_names=_read_names(reader),
        topic_regex=reader.nullable_string() if version >= 1 else None,
        server_assignor=reader.nullable_string(),
        owned=_read_owned(reader),
    )
    reader.tags()
    return heartbeat


def _read_names(reader: Reader) -> tuple[str, ...] | None:
    count = reader.nullable_array()
    return None if count < 0 else tuple([reader.string() for _ in range(count)])


def _read_owned(reader: Reader) -> dict[bytes, frozenset[int]] | None:
    count = reader.nullable_array(_UUID_AND_LENGTH)
    if count < 0:
        return None
    owned = {}
    for _ in range(count):
        topic_id = reader.uuid()
        owned[topic_id] = frozenset(reader.int32_array())
        reader.tags()
    return owned


def encode_consumer_response(answer: ConsumerAnswer) -> bytes:
    """The same in both versions."""
    writer = Writer(flexible=True)
    writer.int32(0)  # throttle time
    writer.int16(answer.error)
    writer.nullable_string(answer.message)
    writer.nullable_string(answer.member_id)
    writer.pack(_EPOCH_AND_INTERVAL, answer.member_epoch, answer.heartbeat_interval_ms)
    if answer.assignment is None:
        writer.int8(_NOTHING)
    else:
        writer.int8(_SOMETHING)
        writer.array(len(answer.assignment))
        for topic_id, partitions in answer.assignment.items():
            writer.uuid(topic_id)
            writer.int32_array(sorted(partitions))
            writer.tags()
        writer.tags()
    writer.tags()
    return bytes(writer.data)
