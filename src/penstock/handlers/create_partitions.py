"""CreatePartitions, v0-v3: more partitions for a topic that exists."""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.controller import Decision
from penstock.controller.image import Image
from penstock.controller.topics import decide_add_partitions
from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request

VERSIONS: Final = (0, 3)


def handle(request: Request, broker: Broker) -> Reply:
    wanted = read_request(Api.CREATE_PARTITIONS, request.version, request.reader)
    results = [_add(request, broker, topic, wanted.validate_only) for topic in wanted.topics]
    return Reply(
        [encode_response(Api.CREATE_PARTITIONS, request.version, {"throttle_time": 0, "results": results})]
    )


def _add(request: Request, broker: Broker, topic: Any, validate_only: bool) -> dict[str, Any]:
    def decide(image: Image) -> Decision[None]:
        if not request.may(broker, Operation.ALTER, ResourceType.TOPIC, topic.name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Not authorized to alter this topic.")
        state = image.topics.get(topic.name)
        if state is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic.name}' does not exist."
            )
        places = None if topic.assignments is None else [item.broker_ids for item in topic.assignments]
        records = decide_add_partitions(state, topic.count, places, broker.placement)
        return ([] if validate_only else records), None

    try:
        broker.controller.submit(decide)
    except KafkaError as error:
        return {"name": topic.name, "error_code": error.code, "error_message": error.message}
    return {"name": topic.name, "error_code": ErrorCode.NONE, "error_message": None}
