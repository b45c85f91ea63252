"""OffsetCommit, v2-v9: positions of a group, by a member of it or by nobody's member. Committed in
`__consumer_offsets` when the answer goes out."""

from __future__ import annotations

from typing import Any, Final

from penstock.groups.commits import Place
from penstock.groups.messages import CommitIdentity
from penstock.groups.offset_records import CommittedOffset
from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.promised import outcome, reply_when_done
from penstock.handlers.reply import Outcome, Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, milliseconds, read_request

VERSIONS: Final = (2, 9)
DEFAULT_RETENTION: Final = -1


def handle(request: Request, broker: Broker) -> Outcome:
    wanted = read_request(Api.OFFSET_COMMIT, request.version, request.reader)
    places = [(topic.name, part.partition_index) for topic in wanted.topics for part in topic.partitions]
    if not request.may(broker, Operation.READ, ResourceType.GROUP, wanted.group_id):
        refused = dict.fromkeys(places, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        return Reply([_encode(request.version, wanted, refused)])
    errors = {place: _check(request, broker, *place) for place in places}
    accepted = _accepted(broker, wanted, errors)
    if places and not accepted:
        return Reply([_encode(request.version, wanted, errors)])
    identity = CommitIdentity(
        wanted.member_id,
        getattr(wanted, "group_instance_id", None),
        wanted.generation_id_or_member_epoch,
        request.version,
    )
    promise = broker.groups.commit(wanted.group_id, identity, accepted)

    def encode() -> bytes:
        try:
            decided = outcome(promise)
            errors.update(decided)
        except KafkaError as error:
            errors.update(dict.fromkeys(accepted, error.code))
        return _encode(request.version, wanted, errors)

    return reply_when_done(broker, [promise], encode)


def _accepted(broker: Broker, wanted: Any, errors: dict[Place, ErrorCode]) -> dict[Place, CommittedOffset]:
    now_ms = broker.clock.now_ms()
    retention_ms = milliseconds(getattr(wanted, "retention_time", DEFAULT_RETENTION))
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


def _check(request: Request, broker: Broker, topic: str, index: int) -> ErrorCode:
    if not request.may(broker, Operation.READ, ResourceType.TOPIC, topic):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    state = broker.controller.image.topics.get(topic)
    if state is None or not 0 <= index < len(state.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _encode(version: int, wanted: Any, errors: dict[Place, ErrorCode]) -> bytes:
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
    return encode_response(Api.OFFSET_COMMIT, version, {"throttle_time": 0, "topics": topics})
