"""OffsetDelete, v0: deletes committed offsets of a group."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise, failed
from penstock.handlers.parts import GroupParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.topic_partition import TopicPartition
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 0)
ACCESS: Final = (
    Access(Operation.DELETE, ResourceType.GROUP),
    Access(Operation.READ, ResourceType.TOPIC, Refusal.EACH),
)


def handle(request: Request, broker: GroupParts) -> Outcome:
    wanted = read_request(Api.OFFSET_DELETE, request.version, request.reader)
    places = [
        TopicPartition(topic.name, part.partition_index)
        for topic in wanted.topics
        for part in topic.partitions
    ]
    errors = {place: _check(request, broker, *place) for place in places}
    promise: Promise[dict[TopicPartition, ErrorCode]]
    if request.may(broker, Operation.DELETE, ResourceType.GROUP, wanted.group_id):
        allowed = [place for place in places if errors[place] is ErrorCode.NONE]
        promise = broker.groups.delete_offsets(wanted.group_id, allowed)
    else:
        promise = failed(KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED))

    def encode() -> bytes:
        code = ErrorCode.NONE
        topics: list[dict[str, Any]] = []
        try:
            decided = outcome(promise)
            errors.update(decided)
            topics = _topics(wanted, errors)
        except KafkaError as error:
            code = error.code
        fields = {"error_code": code, "throttle_time": 0, "topics": topics}
        return encode_response(Api.OFFSET_DELETE, request.version, fields)

    return reply_when_done(broker, [promise], encode)


def _check(request: Request, broker: GroupParts, topic: str, index: int) -> ErrorCode:
    if not request.may(broker, Operation.READ, ResourceType.TOPIC, topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    state = broker.controller.image.topics.get(topic)
    if state is None or not 0 <= index < len(state.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _topics(wanted: Any, errors: dict[TopicPartition, ErrorCode]) -> list[dict[str, Any]]:
    return [
        {
            "name": topic.name,
            "partitions": [
                {
                    "partition_index": part.partition_index,
                    "error_code": errors[TopicPartition(topic.name, part.partition_index)],
                }
                for part in topic.partitions
            ],
        }
        for topic in wanted.topics
    ]
