"""Produce, v3-v13. Batches go to the log as they came; only their base offset and leader epoch are filled in.

v0-v2 are announced, because old librdkafka derives from them that compression works, and refused when used.
On purpose unlike Kafka: transactional batches are refused until transactions are served.
"""

from __future__ import annotations

import logging
from typing import Final

from penstock.controller.topics import INTERNAL_TOPICS
from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.reply import HangUp, NoReply, Outcome, Reply
from penstock.handlers.request import Request
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.primitives import MalformedMessage
from penstock.protocol.produce import (
    TOPIC_IDS_FROM,
    PartitionData,
    PartitionResult,
    TopicData,
    TopicResult,
    encode_response,
    read_request,
)
from penstock.records.batch import CorruptBatch
from penstock.storage.contents import InvalidRecords
from penstock.storage.errors import StorageError

VERSIONS: Final = (0, 13)
OLDEST_SERVED: Final = 3

_log = logging.getLogger(__name__)


def handle(request: Request, broker: Broker) -> Outcome:
    if request.version < OLDEST_SERVED:
        raise MalformedMessage(
            f"Produce v{request.version} carries message formats that are not stored any more"
        )
    produce = read_request(request.reader, request.version)
    if produce.acks not in (-1, 0, 1):
        refusal = KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks must be 0, 1 or -1, not {produce.acks}.")
        results = [_refused(topic, refusal) for topic in produce.topics]
    else:
        results = [_append_topic(request, broker, topic) for topic in produce.topics]
    throttle_ms = broker.quotas.produced(
        request.principal.name, request.client_id, len(request.reader.buffer)
    )
    if produce.acks == 0:
        _hang_up_on_failure(results)
        return NoReply(throttle_ms)
    return Reply([encode_response(request.version, results, throttle_ms)], throttle_ms)


def _hang_up_on_failure(results: list[TopicResult]) -> None:
    """A producer that wants no answer learns of a wrong leader or a full disk by losing its connection."""
    for topic in results:
        for result in topic.partitions:
            if result.error is not ErrorCode.NONE:
                name = f"{topic.name or topic.topic_id.hex()}-{result.partition}"
                raise HangUp(f"acks=0 to {name} failed: {result.error.name} {result.message or ''}")


def _append_topic(request: Request, broker: Broker, topic: TopicData) -> TopicResult:
    name = topic.name
    if request.version >= TOPIC_IDS_FROM:
        name = broker.controller.image.names.get(topic.topic_id, "")
        if not name:
            return _refused(topic, KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "No topic has this id."))
    if not request.may(broker, Operation.WRITE, ResourceType.TOPIC, name):
        return _refused(
            topic, KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"Not authorized to write to {name}.")
        )
    if name in INTERNAL_TOPICS:
        return _refused(
            topic, KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {name}")
        )
    results = [_append(broker, name, data) for data in topic.partitions]
    return TopicResult(topic.name, topic.topic_id, results)


def _append(broker: Broker, topic: str, data: PartitionData) -> PartitionResult:
    try:
        partition = broker.partitions.get(topic, data.partition)
        if not data.records:
            raise KafkaError(ErrorCode.INVALID_RECORD, "The request holds no record batch for the partition.")
        appended = partition.append(data.records)
    except InvalidRecords as error:
        return PartitionResult(
            data.partition, error.code, message=error.message, record_errors=error.record_errors
        )
    except KafkaError as error:
        return PartitionResult(data.partition, error.code, message=error.message)
    except CorruptBatch as error:
        return PartitionResult(data.partition, ErrorCode.CORRUPT_MESSAGE, message=str(error))
    except (OSError, StorageError) as error:
        _log.error("append to %s-%d failed: %s", topic, data.partition, error)
        return PartitionResult(
            data.partition, ErrorCode.KAFKA_STORAGE_ERROR, message=f"The disk refused the write: {error}"
        )
    return PartitionResult(
        data.partition,
        ErrorCode.NONE,
        appended.base_offset,
        appended.log_append_time_ms,
        appended.log_start_offset,
    )


def _refused(topic: TopicData, error: KafkaError) -> TopicResult:
    results = [
        PartitionResult(data.partition, error.code, message=error.message) for data in topic.partitions
    ]
    return TopicResult(topic.name, topic.topic_id, results)
