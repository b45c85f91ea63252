"""ListOffsets (key 2, v1-v11): offsets by time, and the special times that stand for the ends of the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.protocol.errors import ErrorCode
from penstock.protocol.primitives import Reader, Writer

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6

UNKNOWN: Final = -1


class OffsetQuery(NamedTuple):
    partition: int
    current_leader_epoch: int
    timestamp: int


class TopicQuery(NamedTuple):
    name: str
    partitions: list[OffsetQuery]


class ListOffsetsRequest(NamedTuple):
    replica_id: int
    isolation: int
    topics: list[TopicQuery]


class OffsetAnswer(NamedTuple):
    partition: int
    error: ErrorCode
    timestamp: int = UNKNOWN
    offset: int = UNKNOWN
    leader_epoch: int = UNKNOWN


class TopicOffsets(NamedTuple):
    name: str
    partitions: list[OffsetAnswer]


def read_request(reader: Reader, version: int) -> ListOffsetsRequest:
    replica_id = reader.int32()
    isolation = reader.int8() if version >= 2 else 0
    topics = []
    for _ in range(reader.array(4)):
        name = reader.string()
        partitions = []
        for _ in range(reader.array(12)):
            index = reader.int32()
            epoch = reader.int32() if version >= 4 else -1
            partitions.append(OffsetQuery(index, epoch, reader.int64()))
            reader.tags()
        reader.tags()
        topics.append(TopicQuery(name, partitions))
    return ListOffsetsRequest(replica_id, isolation, topics)


def encode_response(version: int, topics: Sequence[TopicOffsets], throttle_ms: int = 0) -> bytes:
    writer = Writer(flexible=version >= 6)
    if version >= 2:
        writer.int32(throttle_ms)
    writer.array(len(topics))
    for topic in topics:
        writer.string(topic.name)
        writer.array(len(topic.partitions))
        for answer in topic.partitions:
            writer.int32(answer.partition)
            writer.int16(answer.error)
            writer.int64(answer.timestamp)
            writer.int64(answer.offset)
            if version >= 4:
                writer.int32(answer.leader_epoch)
            writer.tags()
        writer.tags()
    writer.tags()
    return bytes(writer.data)
