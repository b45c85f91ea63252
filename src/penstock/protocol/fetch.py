"""Fetch (key 1, v4-v18): the request, and a response whose record bytes are left out to be sent from the
file.

`encode_response` gives a list of parts: bytes for what stands between, and the caller's own slices where
records go.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

from penstock.protocol.errors import ErrorCode
from penstock.protocol.leader_hints import CurrentLeader, leader_field, nodes_field
from penstock.protocol.metadata import Node
from penstock.protocol.primitives import NO_TAGS, ZERO_UUID, Reader, Writer

FLEXIBLE_FROM: Final = 12
TOPIC_IDS_FROM: Final = 13
NODES_FROM: Final = 16
_DIVERGING_TAG: Final = 0
_LEADER_TAG: Final = 1
READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1
CONSUMER: Final = -1  # the replica id of whoever is not a broker
UNKNOWN_OFFSET: Final = -1
_NO_SESSION: Final = (0, -1)
_HEAD: Final = struct.Struct(">iiib")  # max wait, min bytes, max bytes, isolation
_HEAD_FROM_V7: Final = struct.Struct(">iiibii")  # and the session's id and epoch
_PARTITION_FROM_V12: Final = struct.Struct(">iiqiqi")
_ANSWER: Final = struct.Struct(">ihqq")  # partition, error, high watermark, last stable offset
_EPOCH_END: Final = struct.Struct(">iq")
_ANSWER_FROM_V5: Final = struct.Struct(">ihqqq")  # and log start offset
_PLAIN_ANSWER: Final = struct.Struct(">ihqqqBi")  # and no aborted transactions, and the preferred replica
_COMPACT_NULL: Final = 0
_RESPONSE_FROM_V7: Final = struct.Struct(">ihi")  # throttle time, error, session id


class Sized(Protocol):
    """Record bytes that somebody else will send: a slice of a file."""

    @property
    def size(self) -> int: ...


Records = TypeVar("Records", bound=Sized)


class FetchPartition(NamedTuple):
    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    max_bytes: int


class FetchTopic(NamedTuple):
    """A topic by name, or from v13 on by id."""

    name: str
    topic_id: bytes
    partitions: list[FetchPartition]


class ForgottenTopic(NamedTuple):
    """Partitions that leave the client's fetch session (KIP-227)."""

    name: str
    topic_id: bytes
    partitions: list[int]


class FetchRequest(NamedTuple):
    replica_id: int
    replica_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation: int
    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]
    rack_id: str


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int


NO_REPLICA: Final = -1


class PartitionAnswer(NamedTuple):
    """One partition's part of the response; `records` is None when there is nothing to send."""

    partition: int
    error: ErrorCode
    high_watermark: int = UNKNOWN_OFFSET
    last_stable_offset: int = UNKNOWN_OFFSET
    log_start_offset: int = UNKNOWN_OFFSET
    records: Sized | None = None
    aborted: tuple[AbortedTransaction, ...] | None = None
    preferred_replica: int = NO_REPLICA
    """From whom the consumer should rather read (KIP-392)."""
    current_leader: CurrentLeader | None = None
    diverging: tuple[int, int] | None = None
    """The largest epoch up to the reader's last one, and where it ended: the logs have parted there
    (KIP-595)."""


class TopicAnswer(NamedTuple):
    name: str
    topic_id: bytes
    partitions: list[PartitionAnswer]


def read_request(reader: Reader, version: int) -> FetchRequest:
    replica_id = reader.int32() if version <= 14 else CONSUMER
    head = reader.unpack(_HEAD_FROM_V7) if version >= 7 else (*reader.unpack(_HEAD), *_NO_SESSION)
    max_wait_ms, min_bytes, max_bytes, isolation, session_id, session_epoch = head
    topics = []
    for _ in range(reader.array(4)):
        topics.append(FetchTopic(*_read_name(reader, version), _read_partitions(reader, version)))
        reader.tags()
    forgotten = []
    for _ in range(reader.array(4) if version >= 7 else 0):
        forgotten.append(ForgottenTopic(*_read_name(reader, version), reader.int32_array()))
        reader.tags()
    rack_id = reader.string() if version >= 11 else ""
    replica_epoch = -1
    tags = reader.tags()
    if 1 in tags and version >= 15:  # ReplicaState: who fetches, if it is a broker
        state = Reader(tags[1], flexible=True)
        replica_id, replica_epoch = state.int32(), state.int64()
    return FetchRequest(
        replica_id, replica_epoch, max_wait_ms, min_bytes, max_bytes, isolation, session_id, session_epoch,
        topics, forgotten, rack_id,
    )  # fmt: skip


def _read_name(reader: Reader, version: int) -> tuple[str, bytes]:
    return ("", reader.uuid()) if version >= TOPIC_IDS_FROM else (reader.string(), ZERO_UUID)


def _read_partitions(reader: Reader, version: int) -> list[FetchPartition]:
    if version >= FLEXIBLE_FROM:
        return reader.structures(_PARTITION_FROM_V12, FetchPartition._make)
    return [
        FetchPartition(
            partition=reader.int32(),
            current_leader_epoch=reader.int32() if version >= 9 else -1,
            fetch_offset=reader.int64(),
            last_fetched_epoch=-1,
            log_start_offset=reader.int64() if version >= 5 else -1,
            max_bytes=reader.int32(),
        )
        for _ in range(reader.array(16))
    ]


def encode_response(
    version: int,
    topics: Sequence[TopicAnswer],
    *,
    error: ErrorCode = ErrorCode.NONE,
    session_id: int = 0,
    throttle_ms: int = 0,
    nodes: Sequence[Node] = (),
) -> list[bytes | Sized]:
    """The response in parts: what is written here, and between it the record slices as they were given."""
    parts: list[bytes | Sized] = []
    writer = Writer(flexible=version >= FLEXIBLE_FROM)
    if version >= 7:
        writer.pack(_RESPONSE_FROM_V7, throttle_ms, error, session_id)
    else:
        writer.int32(throttle_ms)
    writer.array(len(topics))
    for topic in topics:
        if version >= TOPIC_IDS_FROM:
            writer.data += topic.topic_id
        else:
            writer.string(topic.name)
        writer.array(len(topic.partitions))
        for answer in topic.partitions:
            _write_partition(writer, version, answer)
            if answer.records is not None:
                parts += (bytes(writer.data), answer.records)
                writer.data.clear()
            writer.tags(None if answer.diverging is answer.current_leader is None else _tagged(answer))
        writer.tags()
    writer.tags(nodes_field(nodes) if nodes and version >= NODES_FROM else None)
    parts.append(bytes(writer.data))
    return parts


def _tagged(answer: PartitionAnswer) -> dict[int, bytes]:
    fields = {}
    if answer.diverging is not None:
        fields[_DIVERGING_TAG] = _EPOCH_END.pack(*answer.diverging) + NO_TAGS
    if answer.current_leader is not None:
        fields[_LEADER_TAG] = leader_field(answer.current_leader)
    return fields


def _write_partition(writer: Writer, version: int, answer: PartitionAnswer) -> None:
    """Everything up to the records themselves."""
    records = answer.records
    if version >= FLEXIBLE_FROM and answer.aborted is None:  # as nearly all are
        writer.pack(_PLAIN_ANSWER, *answer[:5], _COMPACT_NULL, answer.preferred_replica)
    else:
        writer.pack(_ANSWER_FROM_V5, *answer[:5]) if version >= 5 else writer.pack(_ANSWER, *answer[:4])
        _write_aborted(writer, answer.aborted)
        if version >= 11:
            writer.int32(answer.preferred_replica)
    # No records are zero bytes, never null: old clients do not expect null here.
    writer.length(0 if records is None else records.size)


def _write_aborted(writer: Writer, aborted: Sequence[AbortedTransaction] | None) -> None:
    if aborted is None:
        writer.length(-1)
        return
    writer.array(len(aborted))
    for transaction in aborted:
        writer.int64(transaction.producer_id)
        writer.int64(transaction.first_offset)
        writer.tags()
