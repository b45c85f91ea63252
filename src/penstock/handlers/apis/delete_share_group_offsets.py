"""DeleteShareGroupOffsets, v0: an empty share group forgets its place in topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.coordinator.promise import Promise
from penstock.handlers.parts import ShareDataParts
from penstock.handlers.promised import reply_when_done
from penstock.handlers.reply import Outcome, Reply
from penstock.handlers.request import Request
from penstock.handlers.sharing.changing import Change, Changed, Topics, changes
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType
from penstock.share.state import SharePartitionKey

VERSIONS: Final = (0, 0)
ACCESS: Final = (
    Access(Operation.DELETE, ResourceType.GROUP),
    Access(Operation.READ, ResourceType.TOPIC, Refusal.EACH),
)


def handle(request: Request, broker: ShareDataParts) -> Outcome:
    wanted = read_request(Api.DELETE_SHARE_GROUP_OFFSETS, request.version, request.reader)
    group_id = wanted.group_id
    names = [topic.topic_name for topic in wanted.topics]
    refused = {name: error for name in names if (error := _refusal(request, broker, name)) is not None}
    ids = {name: broker.controller.image.topics[name].topic_id for name in names if name not in refused}

    def encode(error: KafkaError | None, changed: Changed) -> bytes:
        rows = []
        for name in names:
            topic_id = ids.get(name, bytes(16))
            of_states = next((e for key, e in changed.items() if key.topic_id == topic_id and e), None)
            rows.append(_row(name, topic_id, refused.get(name) or error or of_states))
        fields = {"throttle_time": 0, "error_code": ErrorCode.NONE, "responses": rows}
        if error is not None:
            fields |= {"error_code": error.code, "error_message": error.message or None}
        return encode_response(Api.DELETE_SHARE_GROUP_OFFSETS, request.version, fields)

    def change(known: Topics) -> Mapping[SharePartitionKey, Promise[Any]]:
        keys = [
            SharePartitionKey(group_id, topic_id, index)
            for topic_id in ids.values()
            if topic_id in known
            for index in known[topic_id].partitions
        ]
        return {key: broker.share.states.delete(key) for key in keys}

    def finish(known: Topics, changed: Changed) -> Topics:
        kept = {key.topic_id for key, error in changed.items() if error is not None}
        gone = set(ids.values()) - kept
        return {topic_id: topic for topic_id, topic in known.items() if topic_id not in gone}

    if not request.may(broker, Operation.DELETE, ResourceType.GROUP, group_id):
        return Reply([encode(KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED), {})])
    topics = broker.groups.share_topics(group_id, of_empty=True)
    promise = Change(broker, group_id, topics, change, finish).begin()
    return reply_when_done(broker, [promise], lambda: encode(*changes(promise)))


def _refusal(request: Request, broker: ShareDataParts, name: str) -> KafkaError | None:
    if not request.may(broker, Operation.READ, ResourceType.TOPIC, name):
        return KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if name not in broker.controller.image.topics:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return None


def _row(name: str, topic_id: bytes, error: KafkaError | None) -> dict[str, Any]:
    code = ErrorCode.NONE if error is None else error.code
    message = None if error is None else error.message or None
    return {"topic_name": name, "topic_id": topic_id, "error_code": code, "error_message": message}
