"""DescribeShareGroupOffsets, v0-v1: where share groups are in their partitions. From v1 on with how many
records they have before them, where this broker leads the partition."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise, failed
from penstock.groups.share_records import StateTopic
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.promised import once_done, outcome, reply_when_done
from penstock.handlers.reply import Outcome, Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.share.state import NO_OFFSET, PartitionState, SharePartitionKey

VERSIONS: Final = (0, 1)
ACCESS: Final = (
    Access(Operation.DESCRIBE, ResourceType.GROUP, Refusal.EACH),
    Access(Operation.DESCRIBE, ResourceType.TOPIC, Refusal.EACH),
)
UNKNOWN_LAG: Final = -1

Topics = dict[bytes, StateTopic]


def handle(request: Request, broker: ShareDataParts) -> Outcome:
    wanted = read_request(Api.DESCRIBE_SHARE_GROUP_OFFSETS, request.version, request.reader)
    return _Describing(request, broker, wanted).begin()


class _Describing:
    """First the topics that each group has read, then its place in their partitions."""

    def __init__(self, request: Request, broker: ShareDataParts, wanted: Any) -> None:
        self._request = request
        self._broker = broker
        self._wanted = list(wanted.groups)
        self._topics: list[Promise[Topics]] = [self._topics_of(group) for group in self._wanted]
        self._rows: list[dict[str, Any]] = []
        self._states: dict[SharePartitionKey, Promise[PartitionState]] = {}

    def _topics_of(self, group: Any) -> Promise[Topics]:
        if not self._request.may(self._broker, Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
            return failed(KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED))
        return self._broker.groups.share_topics(group.group_id)

    def begin(self) -> Outcome:
        return self._next(0)

    def _next(self, at: int) -> Reply | Wait:
        if at < len(self._topics):
            return once_done(self._broker, self._topics[at], lambda: self._next(at + 1))
        for group, promise in zip(self._wanted, self._topics, strict=True):
            self._rows.append(self._group(group, promise))
        return reply_when_done(self._broker, self._states.values(), self._encode)

    def _group(self, group: Any, promise: Promise[Topics]) -> dict[str, Any]:
        row = {"group_id": group.group_id, "topics": (), "error_code": ErrorCode.NONE, "error_message": None}
        try:
            known = outcome(promise)
        except KafkaError as error:
            return {**row, "error_code": error.code, "error_message": error.message or None}
        if group.topics is None:
            asked = {topic.name: sorted(topic.partitions) for topic in known.values()}
        else:
            asked = {topic.topic_name: list(topic.partitions) for topic in group.topics}
        return {**row, "topics": [self._topic(group.group_id, *item) for item in sorted(asked.items())]}

    def _topic(self, group_id: str, name: str, indexes: list[int]) -> dict[str, Any]:
        topic = self._broker.controller.image.topics.get(name)
        may = self._request.may(self._broker, Operation.DESCRIBE, ResourceType.TOPIC, name)
        code = ErrorCode.NONE if may else ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if may and topic is None:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        topic_id = bytes(16) if topic is None else topic.topic_id
        rows = []
        for index in indexes:
            key = SharePartitionKey(group_id, topic_id, index)
            if code is ErrorCode.NONE:
                self._states[key] = self._broker.share.states.summary(key)
            rows.append({"partition_index": index, "key": key, "error_code": code})
        return {"topic_name": name, "topic_id": topic_id, "partitions": rows}

    def _encode(self) -> bytes:
        for group in self._rows:
            for topic in group["topics"]:
                topic["partitions"] = [self._place(topic["topic_name"], row) for row in topic["partitions"]]
        fields = {"throttle_time": 0, "groups": self._rows}
        return encode_response(Api.DESCRIBE_SHARE_GROUP_OFFSETS, self._request.version, fields)

    def _place(self, topic: str, row: dict[str, Any]) -> dict[str, Any]:
        index, promise = row["partition_index"], self._states.get(row["key"])
        place = {
            "partition_index": index,
            "start_offset": NO_OFFSET,
            "leader_epoch": 0,
            "lag": UNKNOWN_LAG,
            "error_code": row["error_code"],
            "error_message": None,
        }
        if promise is None:
            return place
        try:
            state = outcome(promise)
        except KafkaError as error:
            return {**place, "error_code": error.code, "error_message": error.message or None}
        lag = self._lag(topic, index, state)
        epoch = max(state.leader_epoch, 0)
        return {**place, "start_offset": state.start_offset, "leader_epoch": epoch, "lag": lag}

    def _lag(self, topic: str, index: int, state: PartitionState) -> int:
        partition = self._broker.partitions.find(topic, index)
        if state.start_offset == NO_OFFSET or partition is None or not partition.leads:
            return UNKNOWN_LAG
        return max(0, partition.high_watermark - state.start_offset - state.completed)
