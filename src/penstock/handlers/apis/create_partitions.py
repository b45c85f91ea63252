"""CreatePartitions, v0-v3: adds partitions to topics that exist."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from penstock.controller.controller import Decision
from penstock.controller.image import Image
from penstock.controller.topics import decide_add_partitions
from penstock.coordinator.promise import Promise, failed
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import decided, reply_when_done
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.handlers.throttling import Mutations
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, milliseconds, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 3)
ACCESS: Final = (Access(Operation.ALTER, ResourceType.TOPIC, Refusal.EACH),)
STRICT_FROM: Final = 3  # a client of this version knows that a quota may refuse partitions (KIP-599)


def handle(request: Request, broker: ControllerParts) -> Reply | Wait:
    wanted = read_request(Api.CREATE_PARTITIONS, request.version, request.reader)
    mutations = Mutations(request, broker, strict_from=STRICT_FROM)
    times = Counter(topic.name for topic in wanted.topics)
    promises: dict[str, Promise[None]] = {
        topic.name: _add(request, broker, topic, wanted.validate_only, mutations)
        if times[topic.name] == 1
        else failed(KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name."))
        for topic in wanted.topics
    }
    throttle_ms = mutations.throttle_ms

    def encode() -> bytes:
        results = [_result(name, promise) for name, promise in promises.items()]
        fields = {"throttle_time": throttle_ms, "results": results}
        return encode_response(Api.CREATE_PARTITIONS, request.version, fields)

    seconds = milliseconds(wanted.timeout) / 1000
    return reply_when_done(broker, promises.values(), encode, seconds=seconds, throttle_ms=throttle_ms)


def _add(
    request: Request, broker: ControllerParts, topic: Any, validate_only: bool, mutations: Mutations
) -> Promise[None]:
    def decide(image: Image) -> Decision[None]:
        if not request.may(broker, Operation.ALTER, ResourceType.TOPIC, topic.name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Not authorized to alter this topic.")
        state = image.topics.get(topic.name)
        if state is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        places = None if topic.assignments is None else [item.broker_ids for item in topic.assignments]
        records = decide_add_partitions(image, state, topic.count, places)
        mutations.take(len(records))
        return ([] if validate_only else records), None

    return broker.controller.submit(decide)


def _result(name: str, promise: Promise[None]) -> dict[str, Any]:
    try:
        decided(promise)
    except KafkaError as error:
        return {"name": name, "error_code": error.code, "error_message": error.message or None}
    return {"name": name, "error_code": ErrorCode.NONE, "error_message": None}
