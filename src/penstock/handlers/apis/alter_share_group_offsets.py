"""AlterShareGroupOffsets, v0: sets the place of an empty share group. A group that is not there is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.coordinator.coordinator import CoordinatorKind
from penstock.coordinator.promise import Promise, done, failed
from penstock.groups.share_records import StateTopic
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.promised import reply_when_done
from penstock.handlers.reply import Outcome, Reply
from penstock.handlers.request import Request
from penstock.handlers.sharing.changing import Change, Changed, Topics, changes
from penstock.handlers.topic_creation import ensure_internal_topic
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.share.state import NEXT_STATE_EPOCH, SharePartitionKey

VERSIONS: Final = (0, 0)
ACCESS: Final = (
    Access(Operation.READ, ResourceType.GROUP),
    Access(Operation.READ, ResourceType.TOPIC, Refusal.EACH),
)


def handle(request: Request, broker: ShareDataParts) -> Outcome:
    wanted = read_request(Api.ALTER_SHARE_GROUP_OFFSETS, request.version, request.reader)
    group_id = wanted.group_id
    asked = {topic.topic_name: _offsets(topic) for topic in wanted.topics}
    ids = {name: _topic_id(request, broker, name) for name in asked}

    def encode(error: KafkaError | None, changed: Changed) -> bytes:
        rows = []
        for name, offsets in asked.items():
            found = ids[name]
            refused = found if isinstance(found, KafkaError) else error
            topic_id = bytes(16) if isinstance(found, KafkaError) else found
            keys = {index: SharePartitionKey(group_id, topic_id, index) for index in offsets}
            parts = [_row(index, refused or changed.get(key)) for index, key in keys.items()]
            rows.append({"topic_name": name, "topic_id": topic_id, "partitions": parts})
        fields = {"throttle_time": 0, "error_code": ErrorCode.NONE, "responses": rows}
        if error is not None:
            fields |= {"error_code": error.code, "error_message": error.message or None}
        return encode_response(Api.ALTER_SHARE_GROUP_OFFSETS, request.version, fields)

    def change(known: Topics) -> Mapping[SharePartitionKey, Promise[Any]]:
        found: dict[SharePartitionKey, Promise[Any]] = {}
        for name, offsets in asked.items():
            topic_id = ids[name]
            if isinstance(topic_id, KafkaError):
                continue
            partitions = len(broker.controller.image.topics[name].partitions)
            for index, offset in offsets.items():
                key = SharePartitionKey(group_id, topic_id, index)
                if 0 <= index < partitions:
                    found[key] = broker.share.states.initialise(key, NEXT_STATE_EPOCH, offset)
                else:
                    found[key] = failed(KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        return found

    def finish(known: Topics, changed: Changed) -> Topics:
        left = dict(known)
        for key in (key for key, error in changed.items() if error is None):
            name = broker.controller.image.names.get(key.topic_id, "")
            before = left.get(key.topic_id, StateTopic(name, frozenset()))
            left[key.topic_id] = StateTopic(name, before.partitions | {key.partition})
        return left

    try:
        if not request.may(broker, Operation.READ, ResourceType.GROUP, group_id):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        ensure_internal_topic(broker, CoordinatorKind.SHARE)
    except KafkaError as error:
        return Reply([encode(error, {})])
    promise = Change(broker, group_id, _topics(broker, group_id), change, finish).begin()
    return reply_when_done(broker, [promise], lambda: encode(*changes(promise)))


def _topics(broker: ShareDataParts, group_id: str) -> Promise[Topics]:
    """Of the group; none of one that is not there yet."""
    promise = broker.groups.share_topics(group_id, of_empty=True)
    if promise.done and promise.broken:
        try:
            promise.result()
        except KafkaError as error:
            if error.code is ErrorCode.GROUP_ID_NOT_FOUND:
                return done({})
    return promise


def _offsets(topic: Any) -> dict[int, int]:
    return {item.partition_index: item.start_offset for item in topic.partitions}


def _topic_id(request: Request, broker: ShareDataParts, name: str) -> bytes | KafkaError:
    if not request.may(broker, Operation.READ, ResourceType.TOPIC, name):
        return KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    topic = broker.controller.image.topics.get(name)
    return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) if topic is None else topic.topic_id


def _row(index: int, error: KafkaError | None) -> dict[str, Any]:
    code = ErrorCode.NONE if error is None else error.code
    message = None if error is None else error.message or None
    return {"partition_index": index, "error_code": code, "error_message": message}
