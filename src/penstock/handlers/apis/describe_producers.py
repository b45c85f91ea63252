"""DescribeProducers, v0: the idempotent producers that a partition remembers (KIP-664)."""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.topics import check_name
from penstock.handlers.parts import DataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.storage.producers import ActiveProducer

VERSIONS: Final = (0, 0)
ACCESS: Final = (Access(Operation.READ, ResourceType.TOPIC, Refusal.EACH),)


def handle(request: Request, broker: DataParts) -> Reply:
    wanted = read_request(Api.DESCRIBE_PRODUCERS, request.version, request.reader)
    topics = [
        {
            "name": topic.name,
            "partitions": [
                _partition(request, broker, topic.name, index) for index in topic.partition_indexes
            ],
        }
        for topic in wanted.topics
    ]
    fields = {"throttle_time": 0, "topics": topics}
    return Reply([encode_response(Api.DESCRIBE_PRODUCERS, request.version, fields)])


def _partition(request: Request, broker: DataParts, topic: str, index: int) -> dict[str, Any]:
    answer = {"partition_index": index, "error_code": ErrorCode.NONE, "error_message": None}
    try:
        check_name(topic)
        if not request.may(broker, Operation.READ, ResourceType.TOPIC, topic):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
        producers = broker.partitions.get(topic, index).producers()
    except KafkaError as error:
        refusal = {"error_code": error.code, "error_message": error.message}
        return {**answer, **refusal, "active_producers": ()}
    return {**answer, "active_producers": [_producer(producer) for producer in producers]}


def _producer(producer: ActiveProducer) -> dict[str, Any]:
    return {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "last_sequence": producer.last_sequence,
        "last_timestamp": producer.last_timestamp,
        "coordinator_epoch": producer.coordinator_epoch,
        "current_txn_start_offset": producer.transaction_start_offset,
    }
