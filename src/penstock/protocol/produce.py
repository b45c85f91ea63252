"""Produce (key 0, v3-v13): the request is read without copying the batches, the response is written by
hand.

The request is read by one of two twins: `_reader_native` (Cython) where it was built, `_produce_pure`
otherwise.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.protocol import _produce_pure
from penstock.protocol._produce_pure import TOPIC_IDS_FROM, PartitionData, ProduceRequest, TopicData
from penstock.protocol.errors import ErrorCode
from penstock.protocol.leader_hints import CurrentLeader, leader_field, nodes_field
from penstock.protocol.metadata import Node
from penstock.protocol.primitives import NO_TAGS, Reader, Writer

__all__ = [
    "LEADERS_FROM",
    "MOST_NAMES",
    "TOPIC_IDS_FROM",
    "UNKNOWN_OFFSET",
    "PartitionData",
    "PartitionResult",
    "ProduceRequest",
    "TopicData",
    "TopicResult",
    "encode_plain_response",
    "encode_response",
    "read_request",
]

LEADERS_FROM: Final = 10
_LEADER_TAG: Final = 0
UNKNOWN_OFFSET: Final = -1
_RESULT: Final = struct.Struct(">ihqq")  # partition, error, base offset, log append time
_RESULT_FROM_V5: Final = struct.Struct(">ihqqq")  # and log start offset
# No records at fault and no message.
_NOTHING_WRONG: Final = b"\x00\x00\x00\x00\xff\xff"
_NOTHING_WRONG_FLEXIBLE: Final = b"\x01\x00"
_FLEXIBLE_FROM: Final = 9
_ONE_ITEM: Final = b"\x02"
_PLAIN_END: Final = _NOTHING_WRONG_FLEXIBLE + NO_TAGS + NO_TAGS  # of the partition, and of its topic
_PLAIN: Final = struct.Struct(">ihqqq4sic")  # a result from v5 on, its end, throttle time, no tags
MOST_NAMES: Final = 1_000
"""Of topics that are remembered as they are written."""

if TYPE_CHECKING:
    from penstock.protocol._produce_pure import read_produce_request as read_request
else:
    _native = import_module(Reader.__module__)  # if it is; the pure twin reads with either kind of `Reader`
    read_request = getattr(_native, "read_produce_request", _produce_pure.read_produce_request)


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


def encode_response(
    version: int, topics: Sequence[TopicResult], throttle_ms: int = 0, nodes: Sequence[Node] = ()
) -> bytes:
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


def encode_plain_response(version: int, topics: Sequence[TopicResult], throttle_ms: int) -> bytes | None:
    """The response to nearly every request, written in one go: one partition has taken its batch. None when
    there is more to say, and for old versions."""
    if version < _FLEXIBLE_FROM or len(topics) != 1 or len(topics[0].partitions) != 1:
        return None
    name, topic_id, (result,) = topics[0]
    if result.error is not ErrorCode.NONE:
        return None
    topic = topic_id if version >= TOPIC_IDS_FROM else _name_field(name)
    rest = _PLAIN.pack(*result[:5], _PLAIN_END, throttle_ms, NO_TAGS)
    return b"".join((_ONE_ITEM, topic, _ONE_ITEM, rest))


@lru_cache(maxsize=MOST_NAMES)
def _name_field(name: str) -> bytes:
    """A topic's name as it is written: a producer names the same few again and again."""
    writer = Writer(flexible=True)
    writer.string(name)
    return bytes(writer.data)


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
