"""DescribeTopicPartitions, v0: topics in alphabetical order, in pages of a limited number of partitions. A
cursor in the answer says where the next page begins (KIP-966)."""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.image import Image, PartitionState, TopicState
from penstock.controller.topics import INTERNAL_TOPICS, check_name
from penstock.handlers.cluster_nodes import ClusterView, Seen
from penstock.handlers.parts import MetadataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 0)
ACCESS: Final = (Access(Operation.DESCRIBE, ResourceType.TOPIC, Refusal.EACH),)


def handle(request: Request, broker: MetadataParts) -> Reply:
    wanted = read_request(Api.DESCRIBE_TOPIC_PARTITIONS, request.version, request.reader)
    try:
        fields = _Page(request, broker, wanted).answer()
    except KafkaError as error:
        refused = [_topic(topic.name, None, (), code=error.code) for topic in wanted.topics]
        fields = {"topics": refused, "next_cursor": None}
    return Reply(
        [encode_response(Api.DESCRIBE_TOPIC_PARTITIONS, request.version, {"throttle_time": 0, **fields})]
    )


class _Page:
    """One answer: topics from the cursor on, until the limit is reached."""

    def __init__(self, request: Request, broker: MetadataParts, wanted: Any) -> None:
        self._request = request
        self._broker = broker
        self._image: Image = broker.controller.image
        self._view = ClusterView(broker, request.listener)
        self._cursor = wanted.cursor
        self._everything = not wanted.topics
        limit = min(broker.settings.max_request_partition_size_limit, wanted.response_partition_limit)
        self._remaining = max(1, limit)
        self._names = self._selected(wanted)

    def _selected(self, wanted: Any) -> list[str]:
        asked = self._image.topics if self._everything else {topic.name for topic in wanted.topics}
        first = self._cursor.topic_name if self._cursor else ""
        if self._cursor and not self._everything and first not in asked:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"DescribeTopicPartitionsRequest topic list should contain the cursor topic: {first}",
            )
        if self._cursor and self._cursor.partition_index < 0:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, "DescribeTopicPartitionsRequest cursor partition must be valid."
            )
        return sorted(name for name in asked if name >= first)

    def answer(self) -> dict[str, Any]:
        topics: list[dict[str, Any]] = []
        refused: list[dict[str, Any]] = []
        for name in self._names:
            if not self._request.may(self._broker, Operation.DESCRIBE, ResourceType.TOPIC, name):
                if not self._everything:
                    refused.append(_topic(name, None, (), code=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
                continue
            if self._remaining == 0:
                return _fields(topics + refused, name, 0)
            topics.append(self._describe(name))
            stopped = self._stopped_at(name, topics[-1])
            if stopped is not None:
                return _fields(topics + refused, name, stopped)
        return {"topics": topics + refused, "next_cursor": None}

    def _describe(self, name: str) -> dict[str, Any]:
        operations = self._request.operations(self._broker, ResourceType.TOPIC, name)
        state = self._image.topics.get(name)
        if state is None:
            return _topic(name, None, (), code=_why_missing(name), operations=operations)
        start = self._start(name)
        shown = state.partitions[start : start + self._remaining]
        self._remaining -= len(shown)
        partitions = [
            _partition(index, partition, self._view.partition(name, index, partition))
            for index, partition in enumerate(shown, start)
        ]
        return _topic(name, state, partitions, operations=operations)

    def _start(self, name: str) -> int:
        return int(self._cursor.partition_index) if self._cursor and self._cursor.topic_name == name else 0

    def _stopped_at(self, name: str, described: dict[str, Any]) -> int | None:
        """The partition of this topic at which the limit was reached."""
        state = self._image.topics.get(name)
        following = self._start(name) + len(described["partitions"])
        return following if state is not None and following < len(state.partitions) else None


def _fields(topics: list[dict[str, Any]], name: str, partition: int) -> dict[str, Any]:
    return {"topics": topics, "next_cursor": {"topic_name": name, "partition_index": partition}}


def _why_missing(name: str) -> ErrorCode:
    try:
        check_name(name)
    except KafkaError as error:
        return error.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _topic(
    name: str,
    state: TopicState | None,
    partitions: Any,
    *,
    code: ErrorCode = ErrorCode.NONE,
    operations: int | None = None,
) -> dict[str, Any]:
    described = {
        "error_code": code,
        "name": name,
        "topic_id": None if state is None else state.topic_id,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": partitions,
    }
    return described if operations is None else {**described, "topic_authorized_operations": operations}


def _partition(index: int, state: PartitionState, seen: Seen) -> dict[str, Any]:
    return {
        "error_code": seen.error,
        "partition_index": index,
        "leader_id": seen.leader,
        "leader_epoch": state.leader_epoch,
        "replica_nodes": state.replicas,
        "isr_nodes": state.isr,
        "eligible_leader_replicas": state.elr,
        "last_known_elr": state.last_known_elr,
        "offline_replicas": seen.offline,
    }
