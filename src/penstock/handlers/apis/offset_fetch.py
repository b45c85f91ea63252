"""OffsetFetch, v1-v10: the offsets that groups have committed.

From v7 on a client may ask only for offsets that no open transaction can still change. From v8 on a request
names several groups, and from v10 on it names topics by id.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise, failed
from penstock.groups.offset_records import CommittedOffset
from penstock.handlers.committed_places import NO_NAME, name_of
from penstock.handlers.parts import GroupParts
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, id_bytes, read_request
from penstock.protocol.topic_partition import TopicPartition
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (1, 10)
ACCESS: Final = (
    Access(Operation.DESCRIBE, ResourceType.GROUP, Refusal.EACH),
    Access(Operation.DESCRIBE, ResourceType.TOPIC, Refusal.EACH),
)
GROUP_ERROR_FROM: Final = 2
BATCHED_FROM: Final = 8
IDS_FROM: Final = 10
NOTHING: Final = CommittedOffset(-1, -1, "", -1)

Found = dict[TopicPartition, CommittedOffset | ErrorCode | None]


def handle(request: Request, broker: GroupParts) -> Outcome:
    wanted = read_request(Api.OFFSET_FETCH, request.version, request.reader)
    stable = getattr(wanted, "require_stable", False)
    # Before v8 the request itself has the fields of a group.
    groups = wanted.groups if request.version >= BATCHED_FROM else (wanted,)
    asked = [(group, _ask(request, broker, group, stable)) for group in groups]

    def encode() -> bytes:
        answers = [_answer(request, broker, group, promise) for group, promise in asked]
        fields = {"groups": answers} if request.version >= BATCHED_FROM else answers[0]
        return encode_response(Api.OFFSET_FETCH, request.version, {"throttle_time": 0, **fields})

    return reply_when_done(broker, [promise for _, promise in asked], encode)


def _ask(request: Request, broker: GroupParts, group: Any, require_stable: bool) -> Promise[Found]:
    if not request.may(broker, Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
        return failed(KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    places = None
    if group.topics is not None:
        places = [place for place in _places(broker, group) if place[0] != NO_NAME]
    return broker.groups.fetch(
        group.group_id,
        places,
        member_id=getattr(group, "member_id", None),
        member_epoch=getattr(group, "member_epoch", -1),
        require_stable=require_stable,
    )


def _places(broker: GroupParts, group: Any) -> list[TopicPartition]:
    named = [(name_of(broker, topic), topic) for topic in group.topics]
    return [TopicPartition(name, index) for name, topic in named for index in topic.partition_indexes]


def _answer(request: Request, broker: GroupParts, group: Any, promise: Promise[Found]) -> dict[str, Any]:
    code = ErrorCode.NONE
    found: Found = {}
    try:
        found = outcome(promise)
    except KafkaError as error:
        code = error.code
        if request.version < GROUP_ERROR_FROM:  # before, each partition carries the error of the group
            found = dict.fromkeys(_places(broker, group), code)
    topics: dict[str, list[dict[str, Any]]] = {}
    for (name, index), committed in found.items():
        if request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, name):
            topics.setdefault(name, []).append(_partition(index, committed))
        elif group.topics is not None:
            refused = _partition(index, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            topics.setdefault(name, []).append(refused)
    rows = [{"name": name, "partitions": partitions} for name, partitions in topics.items()]
    if request.version >= IDS_FROM:
        rows = _by_id(broker, group, topics)
    return {"group_id": group.group_id, "topics": rows, "error_code": code}


def _by_id(broker: GroupParts, group: Any, topics: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Offsets by topic id. Offsets of a deleted topic are left out, because it has no id any more. An id that
    was asked for and that no topic has stays in the answer."""
    image = broker.controller.image
    rows = [
        {"topic_id": image.topics[name].topic_id, "partitions": partitions}
        for name, partitions in topics.items()
        if name in image.topics
    ]
    for topic in group.topics or ():
        if name_of(broker, topic) == NO_NAME:
            refused = [_partition(index, ErrorCode.UNKNOWN_TOPIC_ID) for index in topic.partition_indexes]
            rows.append({"topic_id": id_bytes(topic.topic_id), "partitions": refused})
    return rows


def _partition(index: int, committed: CommittedOffset | ErrorCode | None) -> dict[str, Any]:
    found = committed if isinstance(committed, CommittedOffset) else NOTHING
    return {
        "partition_index": index,
        "committed_offset": found.offset,
        "committed_leader_epoch": found.leader_epoch,
        "metadata": found.metadata,
        "error_code": committed if isinstance(committed, ErrorCode) else ErrorCode.NONE,
    }
