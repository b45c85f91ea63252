"""OffsetFetch, v1-v9: what groups have committed; from v7 on, when asked so, only what no open transaction
could still change; from v8 on for several groups at once."""

from __future__ import annotations

from typing import Any, Final

from penstock.coordinator.promise import Promise, failed
from penstock.groups.commits import Place
from penstock.groups.offset_records import CommittedOffset
from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request

VERSIONS: Final = (1, 9)
GROUP_ERROR_FROM: Final = 2
BATCHED_FROM: Final = 8
NOTHING: Final = CommittedOffset(-1, -1, "", -1)

Found = dict[Place, CommittedOffset | ErrorCode | None]


def handle(request: Request, broker: Broker) -> Outcome:
    wanted = read_request(Api.OFFSET_FETCH, request.version, request.reader)
    stable = getattr(wanted, "require_stable", False)
    # Before v8 the request itself has the shape of a group.
    groups = wanted.groups if request.version >= BATCHED_FROM else (wanted,)
    asked = [(group, _ask(request, broker, group, stable)) for group in groups]

    def encode() -> bytes:
        answers = [_answer(request, broker, group, promise) for group, promise in asked]
        fields = {"groups": answers} if request.version >= BATCHED_FROM else answers[0]
        return encode_response(Api.OFFSET_FETCH, request.version, {"throttle_time": 0, **fields})

    return reply_when_done(broker, [promise for _, promise in asked], encode)


def _ask(request: Request, broker: Broker, group: Any, require_stable: bool) -> Promise[Found]:
    if not request.may(broker, Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
        return failed(KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    places = None
    if group.topics is not None:
        places = [(topic.name, index) for topic in group.topics for index in topic.partition_indexes]
    return broker.groups.fetch(
        group.group_id,
        places,
        member_id=getattr(group, "member_id", None),
        member_epoch=getattr(group, "member_epoch", -1),
        require_stable=require_stable,
    )


def _answer(request: Request, broker: Broker, group: Any, promise: Promise[Found]) -> dict[str, Any]:
    code = ErrorCode.NONE
    found: Found = {}
    try:
        found = outcome(promise)
    except KafkaError as error:
        code = error.code
        if request.version < GROUP_ERROR_FROM:  # there the partitions carry the error of the group
            found = {(topic.name, at): code for topic in group.topics for at in topic.partition_indexes}
    topics: dict[str, list[dict[str, Any]]] = {}
    for (name, index), committed in found.items():
        if request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, name):
            topics.setdefault(name, []).append(_partition(index, committed))
        elif group.topics is not None:
            refused = _partition(index, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            topics.setdefault(name, []).append(refused)
    rows = [{"name": name, "partitions": partitions} for name, partitions in topics.items()]
    return {"group_id": group.group_id, "topics": rows, "error_code": code}


def _partition(index: int, committed: CommittedOffset | ErrorCode | None) -> dict[str, Any]:
    found = committed if isinstance(committed, CommittedOffset) else NOTHING
    return {
        "partition_index": index,
        "committed_offset": found.offset,
        "committed_leader_epoch": found.leader_epoch,
        "metadata": found.metadata,
        "error_code": committed if isinstance(committed, ErrorCode) else ErrorCode.NONE,
    }
