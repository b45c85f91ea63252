"""What OffsetCommit and TxnOffsetCommit have in common: which places may be committed to, and how the answer
tells of each. A place is a topic's name and a partition's index."""

from __future__ import annotations

from typing import Any, Final

from penstock.groups.offset_records import CommittedOffset
from penstock.handlers.parts import GroupParts
from penstock.handlers.request import Request
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import id_bytes
from penstock.protocol.topic_partition import TopicPartition
from penstock.security.operations import Operation, ResourceType

Errors = dict[TopicPartition, ErrorCode]
Named = list[tuple[str, Any]]
DEFAULT_RETENTION: Final = -1
NO_NAME: Final = ""
"""Of an id that no topic has; no topic is called so."""


def name_of(broker: GroupParts, topic: Any) -> str:
    """The name of a topic in a request, which newer versions tell by its id; NO_NAME when nobody has it."""
    if not hasattr(topic, "topic_id"):
        return str(topic.name)
    return broker.controller.image.names.get(id_bytes(topic.topic_id), NO_NAME)


def named_topics(broker: GroupParts, wanted: Any) -> Named:
    """Each topic of a request with its name."""
    return [(name_of(broker, topic), topic) for topic in wanted.topics]


def places_of(named: Named) -> list[TopicPartition]:
    return [TopicPartition(name, part.partition_index) for name, topic in named for part in topic.partitions]


def check_place(request: Request, broker: GroupParts, topic: str, index: int) -> ErrorCode:
    if topic == NO_NAME:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not request.may(broker, Operation.READ, ResourceType.TOPIC, topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    state = broker.controller.image.topics.get(topic)
    if state is None or not 0 <= index < len(state.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def offsets_of(
    named: Named, errors: Errors, now_ms: int, retention_ms: int = DEFAULT_RETENTION
) -> dict[TopicPartition, CommittedOffset]:
    """What is to be committed, where nothing is wrong with the place."""
    expire_ms = DEFAULT_RETENTION if retention_ms == DEFAULT_RETENTION else now_ms + retention_ms
    return {
        TopicPartition(name, part.partition_index): CommittedOffset(
            part.committed_offset,
            getattr(part, "committed_leader_epoch", -1),
            part.committed_metadata or "",
            now_ms,
            expire_ms,
        )
        for name, topic in named
        for part in topic.partitions
        if errors[TopicPartition(name, part.partition_index)] is ErrorCode.NONE
    }


def answer_fields(named: Named, errors: Errors) -> dict[str, Any]:
    """The response, for `protocol.messages.encode_response`. Topics are told as they were asked for."""
    topics = [
        {
            "name": name,
            "topic_id": id_bytes(getattr(topic, "topic_id", None)),
            "partitions": [
                {
                    "partition_index": part.partition_index,
                    "error_code": errors[TopicPartition(name, part.partition_index)],
                }
                for part in topic.partitions
            ],
        }
        for name, topic in named
    ]
    return {"throttle_time": 0, "topics": topics}
