"""OffsetFetch, v1-v9: what groups have committed; from v8 on for several groups at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from penstock.groups.offset_records import CommittedOffset
from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.handlers.topic_creation import ensure_offsets_topic
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request

VERSIONS: Final = (1, 9)
BATCHED_FROM: Final = 8
NOTHING: Final = CommittedOffset(-1, -1, "", -1)


def handle(request: Request, broker: Broker) -> Reply:
    wanted = read_request(Api.OFFSET_FETCH, request.version, request.reader)
    if request.version >= BATCHED_FROM:
        fields: dict[str, Any] = {"groups": [_group(request, broker, group) for group in wanted.groups]}
    else:
        fields = _group(request, broker, wanted)
    return Reply([encode_response(Api.OFFSET_FETCH, request.version, {"throttle_time": 0, **fields})])


def _group(request: Request, broker: Broker, wanted: Any) -> dict[str, Any]:
    """One group's answer; before v8 the request itself has the shape of a group."""
    try:
        if not request.may(broker, Operation.DESCRIBE, ResourceType.GROUP, wanted.group_id):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        shards = len(ensure_offsets_topic(broker).partitions)
        committed = broker.groups.committed(wanted.group_id, shards)
    except KafkaError as error:
        return {"group_id": wanted.group_id, "topics": (), "error_code": error.code}
    topics = _wanted_topics(wanted, committed)
    visible = [
        {"name": name, "partitions": [_partition(committed, name, index) for index in indexes]}
        for name, indexes in topics
        if request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, name)
    ]
    return {"group_id": wanted.group_id, "topics": visible, "error_code": ErrorCode.NONE}


def _wanted_topics(wanted: Any, committed: Iterable[tuple[str, int]]) -> Iterable[tuple[str, Iterable[int]]]:
    """The partitions asked for; all that were committed when none is named."""
    if wanted.topics is not None:
        return [(topic.name, topic.partition_indexes) for topic in wanted.topics]
    everything: dict[str, list[int]] = {}
    for name, index in committed:
        everything.setdefault(name, []).append(index)
    return everything.items()


def _partition(
    committed: Mapping[tuple[str, int], CommittedOffset], topic: str, index: int
) -> dict[str, Any]:
    found = committed.get((topic, index), NOTHING)
    return {
        "partition_index": index,
        "committed_offset": found.offset,
        "committed_leader_epoch": found.leader_epoch,
        "metadata": found.metadata,
        "error_code": ErrorCode.NONE,
    }
