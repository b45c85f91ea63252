"""AlterPartitionReassignments, v0-v1: moves replicas to other brokers, or takes a move back (KIP-455). Each
partition is decided by itself."""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.controller import Decision
from penstock.controller.image import Image
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.reassignments import decide_reassign
from penstock.controller.rules import rules_of
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import decided, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, milliseconds, read_request
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 1)
ACCESS: Final = (Access(Operation.ALTER, ResourceType.CLUSTER),)

Refusals = dict[tuple[str, int], KafkaError]


def handle(request: Request, broker: ControllerParts) -> Outcome:
    wanted = read_request(Api.ALTER_PARTITION_REASSIGNMENTS, request.version, request.reader)

    def decide(image: Image) -> Decision[Refusals]:
        if not request.may(broker, Operation.ALTER, ResourceType.CLUSTER):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
        return _decide_all(image, wanted, broker)

    promise = broker.controller.submit(decide)

    def encode() -> bytes:
        fields: dict[str, Any] = {
            "throttle_time": 0,
            "allow_replication_factor_change": getattr(wanted, "allow_replication_factor_change", True),
            "error_code": ErrorCode.NONE,
            "error_message": None,
            "responses": (),
        }
        try:
            refusals = decided(promise)
            fields["responses"] = [_topic(topic, refusals) for topic in wanted.topics]
        except KafkaError as error:
            fields |= {"error_code": error.code, "error_message": error.message or None}
        return encode_response(Api.ALTER_PARTITION_REASSIGNMENTS, request.version, fields)

    return reply_when_done(broker, [promise], encode, seconds=milliseconds(wanted.timeout) / 1000)


def _decide_all(image: Image, wanted: Any, broker: ControllerParts) -> Decision[Refusals]:
    rules = rules_of(image, broker.static_settings)
    may_change_factor = getattr(wanted, "allow_replication_factor_change", True)
    records: list[MetadataRecord] = []
    refusals: Refusals = {}
    for item in wanted.topics:
        topic = image.topics.get(item.name)
        for part in item.partitions:
            try:
                if topic is None:
                    raise KafkaError(
                        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {item.name}."
                    )
                records += decide_reassign(
                    image,
                    topic,
                    part.partition_index,
                    part.replicas,
                    rules(topic.name),
                    may_change_factor=may_change_factor,
                )
            except KafkaError as error:
                refusals[item.name, part.partition_index] = error
    return records, refusals


def _topic(topic: Any, refusals: Refusals) -> dict[str, Any]:
    partitions = []
    for part in topic.partitions:
        refusal = refusals.get((topic.name, part.partition_index))
        partitions.append(
            {
                "partition_index": part.partition_index,
                "error_code": refusal.code if refusal else ErrorCode.NONE,
                "error_message": (refusal.message or None) if refusal else None,
            }
        )
    return {"name": topic.name, "partitions": partitions}
