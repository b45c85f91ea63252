"""ListPartitionReassignments, v0: the partitions whose replicas are on the move (KIP-455)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from penstock.controller.image import TopicState
from penstock.handlers.parts import MetadataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 0)
ACCESS: Final = (Access(Operation.DESCRIBE, ResourceType.CLUSTER),)


def handle(request: Request, broker: MetadataParts) -> Reply:
    wanted = read_request(Api.LIST_PARTITION_REASSIGNMENTS, request.version, request.reader)
    allowed = request.may(broker, Operation.DESCRIBE, ResourceType.CLUSTER)
    fields = {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE if allowed else ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        "error_message": None,
        "topics": list(_topics(broker, wanted)) if allowed else (),
    }
    return Reply([encode_response(Api.LIST_PARTITION_REASSIGNMENTS, request.version, fields)])


def _topics(broker: MetadataParts, wanted: Any) -> Iterable[dict[str, Any]]:
    topics = broker.controller.image.topics
    if wanted.topics is None:
        asked = [(topic, range(len(topic.partitions))) for topic in topics.values()]
    else:
        asked = [(topics[item.name], item.partition_indexes) for item in wanted.topics if item.name in topics]
    for topic, indexes in asked:
        moving = list(_moving(topic, indexes))
        if moving:
            yield {"name": topic.name, "partitions": moving}


def _moving(topic: TopicState, indexes: Iterable[int]) -> Iterable[dict[str, Any]]:
    for index in indexes:
        if not 0 <= index < len(topic.partitions):
            continue
        state = topic.partitions[index]
        if state.adding or state.removing:
            yield {
                "partition_index": index,
                "replicas": state.replicas,
                "adding_replicas": state.adding,
                "removing_replicas": state.removing,
            }
