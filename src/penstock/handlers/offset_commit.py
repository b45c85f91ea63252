"""OffsetCommit, v2-v9: positions of a consumer that is a member of nothing. Durable in `__consumer_offsets`
when the answer goes out.

On purpose unlike Kafka: members of groups are refused until groups are served.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.groups.offset_records import CommittedOffset, OffsetKey
from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.handlers.topic_creation import ensure_offsets_topic
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request

VERSIONS: Final = (2, 9)


def handle(request: Request, broker: Broker) -> Reply:
    wanted = read_request(Api.OFFSET_COMMIT, request.version, request.reader)
    errors = _commit(request, broker, wanted)
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
    return Reply(
        [encode_response(Api.OFFSET_COMMIT, request.version, {"throttle_time": 0, "topics": topics})]
    )


def _commit(request: Request, broker: Broker, wanted: Any) -> dict[tuple[str, int], ErrorCode]:
    """An error code for each partition of the request."""
    errors: dict[tuple[str, int], ErrorCode] = {}
    accepted: list[tuple[OffsetKey, CommittedOffset]] = []
    now = broker.clock.now_ms()
    for topic in wanted.topics:
        for part in topic.partitions:
            place = (topic.name, part.partition_index)
            errors[place] = _check(request, broker, wanted.group_id, *place)
            if errors[place] is ErrorCode.NONE:
                accepted.append((OffsetKey(wanted.group_id, *place), _committed(part, now)))
    try:
        shards = len(ensure_offsets_topic(broker).partitions)
        generation_id = getattr(wanted, "generation_id_or_member_epoch", -1)
        results = broker.groups.commit(wanted.group_id, generation_id, accepted, shards)
    except KafkaError as error:
        return dict.fromkeys(errors, error.code)
    for key, failure in results.items():
        if failure is not None:
            errors[key.topic, key.partition] = failure.code
    return errors


def _check(request: Request, broker: Broker, group: str, topic: str, index: int) -> ErrorCode:
    if not request.may(broker, Operation.READ, ResourceType.GROUP, group):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    if not request.may(broker, Operation.READ, ResourceType.TOPIC, topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if broker.partitions.find(topic, index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _committed(part: Any, now_ms: int) -> CommittedOffset:
    return CommittedOffset(
        part.committed_offset,
        getattr(part, "committed_leader_epoch", -1),
        part.committed_metadata or "",
        now_ms,
    )
