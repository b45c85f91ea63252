"""AssignReplicasToDirs, v0: a broker reports in which of its log directories its replicas are (KIP-858). Each
replica is decided by itself. On controllers' listeners only."""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.alter_partition import check_broker
from penstock.controller.controller import Decision
from penstock.controller.directories import decide_assign
from penstock.controller.image import Image
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.rules import rules_of
from penstock.handlers.nodes_only import if_node
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import CONTROLLER_SECONDS, decided, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, id_bytes, read_request
from penstock.security.access import CLUSTER_ACTION

VERSIONS: Final = (0, 0)
ACCESS: Final = CLUSTER_ACTION

Errors = dict[tuple[bytes, int], ErrorCode]  # by topic id and partition


def handle(request: Request, broker: ControllerParts) -> Outcome:
    told = read_request(Api.ASSIGN_REPLICAS_TO_DIRS, request.version, request.reader)

    def decide(image: Image) -> Decision[Errors]:
        check_broker(image, told.broker_id, told.broker_epoch)
        return _decide_all(image, told, broker)

    promise = if_node(request, broker, lambda: broker.controller.submit(decide))

    def encode() -> bytes:
        fields: dict[str, Any] = {"throttle_time": 0, "error_code": ErrorCode.NONE, "directories": ()}
        try:
            errors = decided(promise)
            fields["directories"] = [_directory(directory, errors) for directory in told.directories]
        except KafkaError as error:
            fields["error_code"] = error.code
        return encode_response(Api.ASSIGN_REPLICAS_TO_DIRS, request.version, fields)

    return reply_when_done(broker, [promise], encode, seconds=CONTROLLER_SECONDS)


def _decide_all(image: Image, told: Any, broker: ControllerParts) -> Decision[Errors]:
    rules = rules_of(image, broker.static_settings)
    records: list[MetadataRecord] = []
    errors: Errors = {}
    for directory in told.directories:
        for topic in directory.topics:
            topic_id = id_bytes(topic.topic_id)
            for item in topic.partitions:
                place = (topic_id, item.partition_index)
                if place in errors:
                    continue  # named twice: a replica is in one directory
                errors[place] = ErrorCode.NONE
                try:
                    records += decide_assign(image, told.broker_id, *place, id_bytes(directory.id_), rules)
                except KafkaError as error:
                    errors[place] = error.code
    return records, errors


def _directory(directory: Any, errors: Errors) -> dict[str, Any]:
    return {"id_": id_bytes(directory.id_), "topics": [_topic(topic, errors) for topic in directory.topics]}


def _topic(topic: Any, errors: Errors) -> dict[str, Any]:
    topic_id = id_bytes(topic.topic_id)
    partitions = [
        {"partition_index": item.partition_index, "error_code": errors[topic_id, item.partition_index]}
        for item in topic.partitions
    ]
    return {"topic_id": topic_id, "partitions": partitions}
