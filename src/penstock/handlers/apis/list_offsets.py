"""ListOffsets, v1-v11: the ends of a log, and the first offset at or after a time."""

from __future__ import annotations

from typing import Final

from penstock.handlers.parts import DataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol import list_offsets
from penstock.protocol.apis import NEVER
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.fetch import READ_COMMITTED
from penstock.protocol.list_offsets import ListOffsetsRequest, OffsetAnswer, OffsetQuery, TopicOffsets
from penstock.replication.partition import Partition
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.storage.errors import StorageError

VERSIONS: Final = (1, 11)
ACCESS: Final = (Access(Operation.DESCRIBE, ResourceType.TOPIC, Refusal.EACH),)
OFFSET_NOT_AVAILABLE_FROM: Final = 5
SPECIAL_FROM: Final = {
    list_offsets.LATEST: 0,
    list_offsets.EARLIEST: 0,
    list_offsets.MAX_TIMESTAMP: 7,
    list_offsets.EARLIEST_LOCAL: 8,
    list_offsets.LATEST_TIERED: 9,
    list_offsets.EARLIEST_PENDING_UPLOAD: 11,
}
"""The first version in which each special timestamp has a meaning."""


def handle(request: Request, broker: DataParts) -> Reply:
    wanted = list_offsets.read_request(request.reader, request.version)
    topics = []
    for topic in wanted.topics:
        allowed = request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
        answers = [
            _answer(broker, topic.name, query, request.version, wanted)
            if allowed
            else OffsetAnswer(query.partition, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            for query in topic.partitions
        ]
        topics.append(TopicOffsets(topic.name, answers))
    return Reply([list_offsets.encode_response(request.version, topics)])


def _answer(
    broker: DataParts, topic: str, query: OffsetQuery, version: int, wanted: ListOffsetsRequest
) -> OffsetAnswer:
    try:
        partition = broker.partitions.get(topic, query.partition)
        with partition.to_read:
            partition.check_leads()
            partition.check_epoch(query.current_leader_epoch)
            end = _end(partition, wanted, query.timestamp)
            timestamp, offset = _find(partition, query.timestamp, version, end)
            epoch = _epoch(partition, query.timestamp, offset)
    except KafkaError as error:
        code = error.code
        if code is ErrorCode.OFFSET_NOT_AVAILABLE and version < OFFSET_NOT_AVAILABLE_FROM:
            code = ErrorCode.LEADER_NOT_AVAILABLE
        return OffsetAnswer(query.partition, code)
    except (OSError, StorageError):
        return OffsetAnswer(query.partition, ErrorCode.KAFKA_STORAGE_ERROR)
    return OffsetAnswer(query.partition, ErrorCode.NONE, timestamp, offset, epoch)


def _end(partition: Partition, wanted: ListOffsetsRequest, timestamp: int) -> int:
    """Where the log ends for this reader: a follower sees all of it, a client only what is committed."""
    if wanted.replica_id >= 0:
        return partition.log.log_end_offset
    if timestamp not in (list_offsets.EARLIEST, list_offsets.EARLIEST_LOCAL):
        partition.check_end_known()
    return partition.last_stable_offset if wanted.isolation == READ_COMMITTED else partition.high_watermark


def _epoch(partition: Partition, timestamp: int, offset: int) -> int:
    """The leader epoch under which the record at `offset` was written, or the next one will be."""
    if offset == list_offsets.UNKNOWN:
        return list_offsets.UNKNOWN
    if timestamp == list_offsets.LATEST or offset >= partition.log.log_end_offset:
        return partition.leader_epoch
    return partition.log.epochs.epoch_of(offset)


def _find(partition: Partition, timestamp: int, version: int, end: int) -> tuple[int, int]:
    """Timestamp and offset. The ends of the log have no timestamp; both are unknown when nothing is found
    below `end`."""
    unknown = list_offsets.UNKNOWN
    if version < SPECIAL_FROM.get(timestamp, NEVER if timestamp < 0 else 0):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"No special timestamp {timestamp} in v{version}.")
    if timestamp == list_offsets.LATEST:
        return unknown, end
    if timestamp in (list_offsets.EARLIEST, list_offsets.EARLIEST_LOCAL):
        return unknown, partition.log.log_start_offset
    if timestamp in (list_offsets.LATEST_TIERED, list_offsets.EARLIEST_PENDING_UPLOAD):
        return unknown, unknown  # of tiered storage, which is not offered
    if timestamp == list_offsets.MAX_TIMESTAMP:
        found = partition.log.max_timestamp()
    else:
        found = partition.log.offset_for_time(timestamp)
    return (unknown, unknown) if found is None or found[1] >= end else found
