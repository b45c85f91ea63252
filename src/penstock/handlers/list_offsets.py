"""ListOffsets, v1-v10: the ends of a log, and the first offset at or after a time."""

from __future__ import annotations

from typing import Final

from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol import list_offsets
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.list_offsets import OffsetAnswer, OffsetQuery, TopicOffsets
from penstock.replication.partition import Partition
from penstock.storage.errors import StorageError

VERSIONS: Final = (1, 10)


def handle(request: Request, broker: Broker) -> Reply:
    wanted = list_offsets.read_request(request.reader, request.version)
    topics = []
    for topic in wanted.topics:
        allowed = request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
        answers = [
            _answer(broker, topic.name, query)
            if allowed
            else OffsetAnswer(query.partition, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            for query in topic.partitions
        ]
        topics.append(TopicOffsets(topic.name, answers))
    return Reply([list_offsets.encode_response(request.version, topics)])


def _answer(broker: Broker, topic: str, query: OffsetQuery) -> OffsetAnswer:
    try:
        partition = broker.partitions.get(topic, query.partition)
        with partition.lock:
            partition.check_epoch(query.current_leader_epoch)
            timestamp, offset = _find(partition, query.timestamp)
    except KafkaError as error:
        return OffsetAnswer(query.partition, error.code)
    except (OSError, StorageError):
        return OffsetAnswer(query.partition, ErrorCode.KAFKA_STORAGE_ERROR)
    epoch = partition.leader_epoch if offset != list_offsets.UNKNOWN else list_offsets.UNKNOWN
    return OffsetAnswer(query.partition, ErrorCode.NONE, timestamp, offset, epoch)


def _find(partition: Partition, timestamp: int) -> tuple[int, int]:
    """(timestamp, offset); the timestamp is unknown for the ends of the log, both are when nothing is
    found."""
    unknown = list_offsets.UNKNOWN
    if timestamp == list_offsets.LATEST:
        return unknown, partition.high_watermark
    if timestamp in (list_offsets.EARLIEST, list_offsets.EARLIEST_LOCAL):
        return unknown, partition.log.log_start_offset
    if timestamp == list_offsets.LATEST_TIERED:
        return unknown, unknown
    if timestamp == list_offsets.MAX_TIMESTAMP:
        return partition.log.max_timestamp() or (unknown, unknown)
    if timestamp < 0:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"No special timestamp {timestamp} is known here.")
    return partition.log.offset_for_time(timestamp) or (unknown, unknown)
