"""Produce (key 0, v3-v13): the request is read without copying the batches, the response is written by
hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.protocol.errors import ErrorCode
from penstock.protocol.leader_hints import CurrentLeader, leader_field, nodes_field
from penstock.protocol.metadata import Node
from penstock.protocol.primitives import NO_TAGS, ZERO_UUID, Reader, Writer

TOPIC_IDS_FROM: Final = 13
LEADERS_FROM: Final = 10
_LEADER_TAG: Final = 0
UNKNOWN_OFFSET: Final = -1
_ACKS_AND_TIMEOUT: Final = struct.Struct(">hi")
_RESULT: Final = struct.Struct(">ihqq")  # partition, error, base offset, log append time
_RESULT_FROM_V5: Final = struct.Struct(">ihqqq")  # and log start offset
# No records at fault and no message.
_NOTHING_WRONG: Final = b"\x00\x00\x00\x00\xff\xff"
_NOTHING_WRONG_FLEXIBLE: Final = b"\x01\x00"
_FLEXIBLE_FROM: Final = 9
_ONE_ITEM: Final = b"\x02"
_PLAIN_END: Final = _NOTHING_WRONG_FLEXIBLE + NO_TAGS + NO_TAGS  # of the partition, and of its topic
_SHORT_NAME: Final = 31  # characters, of four bytes at most: their length is written in one byte
_INT32: Final = struct.Struct(">i")


class PartitionData(NamedTuple):
    """The batches for one partition, a view into the request's own buffer."""

    partition: int
    records: memoryview | None


class TopicData(NamedTuple):
    """A topic by name, or from v13 on by id."""

    name: str
    topic_id: bytes
    partitions: list[PartitionData]


class ProduceRequest(NamedTuple):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: list[TopicData]


class PartitionResult(NamedTuple):
    """What became of the batches of one partition."""

    partition: int
    error: ErrorCode
    base_offset: int = UNKNOWN_OFFSET
    log_append_time_ms: int = -1
    log_start_offset: int = UNKNOWN_OFFSET
    message: str | None = None
    record_errors: Sequence[tuple[int, str]] = ()
    """Which records of the batch are at fault, and why. A batch is taken or refused whole."""
    current_leader: CurrentLeader | None = None
    """Who leads instead; it comes with a message."""


class TopicResult(NamedTuple):
    name: str
    topic_id: bytes
    partitions: list[PartitionResult]


def read_request(reader: Reader, version: int) -> ProduceRequest:
    transactional_id = reader.nullable_string()
    acks, timeout_ms = reader.unpack(_ACKS_AND_TIMEOUT)
    topics = []
    for _ in range(reader.array(4)):
        name, topic_id = ("", reader.uuid()) if version >= TOPIC_IDS_FROM else (reader.string(), ZERO_UUID)
        partitions = []
        for _ in range(reader.array(5)):
            partitions.append(PartitionData(reader.int32(), reader.nullable_bytes()))
            reader.tags()
        reader.tags()
        topics.append(TopicData(name, topic_id, partitions))
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)


def encode_response(
    version: int, topics: Sequence[TopicResult], throttle_ms: int = 0, nodes: Sequence[Node] = ()
) -> bytes:
    if version >= _FLEXIBLE_FROM and len(topics) == 1 and len(topics[0].partitions) == 1:
        (topic,) = topics
        (result,) = topic.partitions
        if result.message is None and not result.record_errors and len(topic.name) <= _SHORT_NAME:
            return _encode_plain(version, topic, result, throttle_ms)
    writer = Writer(flexible=version >= _FLEXIBLE_FROM)
    writer.array(len(topics))
    for topic in topics:
        if version >= TOPIC_IDS_FROM:
            writer.uuid(topic.topic_id)
        else:
            writer.string(topic.name)
        writer.array(len(topic.partitions))
        for result in topic.partitions:
            _write_partition(writer, version, result)
        writer.tags()
    writer.int32(throttle_ms)
    writer.tags(nodes_field(nodes) if version >= LEADERS_FROM else None)
    return bytes(writer.data)


def _encode_plain(version: int, topic: TopicResult, result: PartitionResult, throttle_ms: int) -> bytes:
    """One partition that took its batch: what nearly every answer says, written in one go."""
    if version >= TOPIC_IDS_FROM:
        name = topic.topic_id
    else:
        encoded = topic.name.encode()
        name = bytes((len(encoded) + 1,)) + encoded
    body = _RESULT_FROM_V5.pack(*result[:5])
    return b"".join((_ONE_ITEM, name, _ONE_ITEM, body, _PLAIN_END, _INT32.pack(throttle_ms), NO_TAGS))


def _write_partition(writer: Writer, version: int, result: PartitionResult) -> None:
    if version >= 5:
        writer.pack(_RESULT_FROM_V5, *result[:5])
    else:
        writer.pack(_RESULT, *result[:4])
    if version >= 8 and result.message is None and not result.record_errors:
        writer.data += _NOTHING_WRONG_FLEXIBLE if writer.flexible else _NOTHING_WRONG
    elif version >= 8:
        writer.array(len(result.record_errors))
        for index, told in result.record_errors:
            writer.int32(index)
            writer.nullable_string(told)
            writer.tags()
        writer.nullable_string(result.message)
    leader = result.current_leader if version >= LEADERS_FROM else None
    writer.tags(None if leader is None else {_LEADER_TAG: leader_field(leader)})
