"""What OffsetCommit and TxnOffsetCommit have in common: which places may be committed to, and how the answer
tells of each. A place is a topic's name and a partition's index."""

from __future__ import annotations

from typing import Any, Final

from penstock.groups.commits import Place
from penstock.groups.offset_records import CommittedOffset
from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.request import Request
from penstock.protocol.errors import ErrorCode

Errors = dict[Place, ErrorCode]
DEFAULT_RETENTION: Final = -1


def places_of(wanted: Any) -> list[Place]:
    return [(topic.name, part.partition_index) for topic in wanted.topics for part in topic.partitions]


def check_place(request: Request, broker: Broker, topic: str, index: int) -> ErrorCode:
    if not request.may(broker, Operation.READ, ResourceType.TOPIC, topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    state = broker.controller.image.topics.get(topic)
    if state is None or not 0 <= index < len(state.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def offsets_of(
    wanted: Any, errors: Errors, now_ms: int, retention_ms: int = DEFAULT_RETENTION
) -> dict[Place, CommittedOffset]:
    """What is to be committed, where nothing is wrong with the place."""
    expire_ms = DEFAULT_RETENTION if retention_ms == DEFAULT_RETENTION else now_ms + retention_ms
    return {
        (topic.name, part.partition_index): CommittedOffset(
            part.committed_offset,
            getattr(part, "committed_leader_epoch", -1),
            part.committed_metadata or "",
            now_ms,
            expire_ms,
        )
        for topic in wanted.topics
        for part in topic.partitions
        if errors[topic.name, part.partition_index] is ErrorCode.NONE
    }


def answer_fields(wanted: Any, errors: Errors) -> dict[str, Any]:
    """The response, for `protocol.messages.encode_response`."""
    topics = [
        {
            "name": topic.name,
            "partitions": [
                {
                    "partition_index": part.partition_index,
                    "error_code": errors[topic.name, part.partition_index],
                }
                for part in topic.partitions
            ],
        }
        for topic in wanted.topics
    ]
    return {"throttle_time": 0, "topics": topics}
