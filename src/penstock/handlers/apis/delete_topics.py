"""DeleteTopics, v1-v6: deletes topics by name, and from v6 on also by id. When the answer goes out, the
logs are no longer served; their files go a little later."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from penstock.controller.controller import Decision
from penstock.controller.image import Image, TopicState
from penstock.controller.topics import decide_delete
from penstock.coordinator.promise import Promise
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import decided, reply_when_done
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.handlers.throttling import Mutations
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, id_bytes, milliseconds, read_request
from penstock.protocol.primitives import ZERO_UUID
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (1, 6)
ACCESS: Final = (
    Access(Operation.DELETE, ResourceType.CLUSTER, Refusal.EACH),
    Access(Operation.DESCRIBE, ResourceType.TOPIC, Refusal.EACH, when="the cluster does not allow it"),
    Access(Operation.DELETE, ResourceType.TOPIC, Refusal.EACH, when="the cluster does not allow it"),
)
STRICT_FROM: Final = 5  # a client of this version knows that a quota may refuse a topic (KIP-599)


def handle(request: Request, broker: ControllerParts) -> Reply | Wait:
    wanted = read_request(Api.DELETE_TOPICS, request.version, request.reader)
    if request.version >= 6:
        named = [(topic.name, id_bytes(topic.topic_id)) for topic in wanted.topics]
    else:
        named = [(name, ZERO_UUID) for name in wanted.topic_names]
    mutations = Mutations(request, broker, strict_from=STRICT_FROM)
    times = Counter(named)
    promises = {
        (name, topic_id): _delete(
            request, broker, name, topic_id, mutations, repeated=times[name, topic_id] > 1
        )
        for name, topic_id in dict.fromkeys(named)
    }
    throttle_ms = mutations.throttle_ms

    def encode() -> bytes:
        results = [_result(name, topic_id, promise) for (name, topic_id), promise in promises.items()]
        fields = {"throttle_time": throttle_ms, "responses": results}
        return encode_response(Api.DELETE_TOPICS, request.version, fields)

    seconds = milliseconds(wanted.timeout) / 1000
    return reply_when_done(broker, promises.values(), encode, seconds=seconds, throttle_ms=throttle_ms)


def _delete(
    request: Request,
    broker: ControllerParts,
    name: str | None,
    topic_id: bytes,
    mutations: Mutations,
    *,
    repeated: bool,
) -> Promise[TopicState]:
    def decide(image: Image) -> Decision[TopicState]:
        _check_named(name, topic_id, repeated)
        topic = image.topic(name or "", topic_id)
        shown = name if name is not None or topic is None else topic.name
        if shown is not None:
            _check_permitted(request, broker, shown, is_named=name is not None)
        if topic is None:
            raise _unknown(name)
        if not broker.settings.delete_topic_enable:
            raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false.")
        mutations.take(len(topic.partitions))
        return decide_delete(topic), topic

    return broker.controller.submit(decide)


def _result(name: str | None, topic_id: bytes, promise: Promise[TopicState]) -> dict[str, Any]:
    try:
        deleted = decided(promise)
    except _Refused as refused:
        name = refused.name
        return {
            "name": name,
            "topic_id": topic_id,
            "error_code": refused.code,
            "error_message": refused.message,
        }
    except KafkaError as error:
        return {"name": name, "topic_id": topic_id, "error_code": error.code, "error_message": error.message}
    return {
        "name": deleted.name,
        "topic_id": deleted.topic_id,
        "error_code": ErrorCode.NONE,
        "error_message": None,
    }


def _check_permitted(request: Request, broker: ControllerParts, name: str, *, is_named: bool) -> None:
    """A name that may not be described is refused before anybody looks whether the topic exists. A topic that
    was asked for by its id keeps its name to itself."""
    if request.may_see(broker, Operation.DELETE, ResourceType.CLUSTER):
        return
    may_describe = request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, name)
    if not may_describe or not request.may(broker, Operation.DELETE, ResourceType.TOPIC, name):
        raise _Refused(name if is_named or may_describe else None)


class _Refused(KafkaError):
    """`name` is the topic's, for a client that may know it."""

    def __init__(self, name: str | None) -> None:
        super().__init__(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
        self.name = name


def _check_named(name: str | None, topic_id: bytes, repeated: bool) -> None:
    if name is not None and topic_id != ZERO_UUID:
        problem = "You may not specify both topic name and topic id."
    elif name is None and topic_id == ZERO_UUID:
        problem = "Neither topic name nor id were specified."
    elif repeated:
        problem = "Duplicate topic name." if name is not None else "Duplicate topic id."
    else:
        return
    raise KafkaError(ErrorCode.INVALID_REQUEST, problem)


def _unknown(name: str | None) -> KafkaError:
    if name is None:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
    return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
