"""OffsetForLeaderEpoch, v2-v4: the offset at which a leader epoch ended. From it a consumer or a follower
learns which of its records the leader does not have (KIP-101, KIP-320)."""

from __future__ import annotations

from typing import Any, Final

from penstock.handlers.parts import DataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (2, 4)
ACCESS: Final = (
    Access(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, Refusal.EACH),
    Access(Operation.DESCRIBE, ResourceType.TOPIC, Refusal.EACH, when="a client asks, and no node"),
)


def handle(request: Request, broker: DataParts) -> Reply:
    wanted = read_request(Api.OFFSET_FOR_LEADER_EPOCH, request.version, request.reader)
    topics = []
    for topic in wanted.topics:
        allowed = request.may_see(broker, Operation.CLUSTER_ACTION, ResourceType.CLUSTER) or request.may(
            broker, Operation.DESCRIBE, ResourceType.TOPIC, topic.topic
        )
        partitions = [_end_offset(broker, topic.topic, part, allowed) for part in topic.partitions]
        topics.append({"topic": topic.topic, "partitions": partitions})
    fields = {"throttle_time": 0, "topics": topics}
    return Reply([encode_response(Api.OFFSET_FOR_LEADER_EPOCH, request.version, fields)])


def _end_offset(broker: DataParts, topic: str, wanted: Any, allowed: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {"partition": wanted.partition, "leader_epoch": -1, "end_offset": -1}
    try:
        if not allowed:
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        partition = broker.partitions.get(topic, wanted.partition)
        epoch, offset = partition.epoch_end_offset(wanted.leader_epoch, wanted.current_leader_epoch)
    except KafkaError as error:
        return {**answer, "error_code": error.code}
    return {**answer, "error_code": ErrorCode.NONE, "leader_epoch": epoch, "end_offset": offset}
