"""CreatePartitions, v0-v3: more partitions for a topic that exists."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from penstock.controller.controller import Decision
from penstock.controller.image import Image
from penstock.controller.topics import decide_add_partitions
from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.handlers.throttling import Mutations
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request

VERSIONS: Final = (0, 3)
STRICT_FROM: Final = 3  # a client of this version knows that a quota may refuse partitions (KIP-599)


def handle(request: Request, broker: Broker) -> Reply:
    wanted = read_request(Api.CREATE_PARTITIONS, request.version, request.reader)
    mutations = Mutations(request, broker, strict_from=STRICT_FROM)
    times = Counter(topic.name for topic in wanted.topics)
    results = [
        _add(request, broker, topic, wanted.validate_only, mutations)
        if times[topic.name] == 1
        else _result(topic.name, KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name."))
        for topic in {topic.name: topic for topic in wanted.topics}.values()
    ]
    throttle_ms = mutations.throttle_ms
    fields = {"throttle_time": throttle_ms, "results": results}
    return Reply([encode_response(Api.CREATE_PARTITIONS, request.version, fields)], throttle_ms)


def _add(
    request: Request, broker: Broker, topic: Any, validate_only: bool, mutations: Mutations
) -> dict[str, Any]:
    def decide(image: Image) -> Decision[None]:
        if not request.may(broker, Operation.ALTER, ResourceType.TOPIC, topic.name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Not authorized to alter this topic.")
        state = image.topics.get(topic.name)
        if state is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        places = None if topic.assignments is None else [item.broker_ids for item in topic.assignments]
        records = decide_add_partitions(state, topic.count, places, broker.placement)
        mutations.take(len(records))
        return ([] if validate_only else records), None

    try:
        broker.controller.submit(decide)
    except KafkaError as error:
        return _result(topic.name, error)
    return _result(topic.name)


def _result(name: str, error: KafkaError | None = None) -> dict[str, Any]:
    if error is None:
        return {"name": name, "error_code": ErrorCode.NONE, "error_message": None}
    return {"name": name, "error_code": error.code, "error_message": error.message or None}
