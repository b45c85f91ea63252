"""ElectLeaders, v0-v2: let preferred replicas lead, or any that are there. Each partition is decided by
itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from penstock.controller.controller import Decision
from penstock.controller.image import Image
from penstock.controller.leader_elections import ElectionType, decide_election
from penstock.controller.metadata_records import MetadataRecord
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

VERSIONS: Final = (0, 2)
ACCESS: Final = (Access(Operation.ALTER, ResourceType.CLUSTER),)
TYPED_FROM: Final = 1

Results = dict[str, dict[int, KafkaError | None]]


def handle(request: Request, broker: ControllerParts) -> Outcome:
    wanted = read_request(Api.ELECT_LEADERS, request.version, request.reader)

    def decide(image: Image) -> Decision[Results]:
        if not request.may(broker, Operation.ALTER, ResourceType.CLUSTER):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
        return _decide_all(image, wanted, request.version, broker)

    promise = broker.controller.submit(decide)

    def encode() -> bytes:
        code, results = ErrorCode.NONE, Results()
        try:
            results = decided(promise)
        except KafkaError as error:
            code = error.code
        fields = {
            "throttle_time": 0,
            "error_code": code,
            "replica_election_results": [_topic(name, parts) for name, parts in results.items()],
        }
        return encode_response(Api.ELECT_LEADERS, request.version, fields)

    return reply_when_done(broker, [promise], encode, seconds=milliseconds(wanted.timeout) / 1000)


def _decide_all(image: Image, wanted: Any, version: int, broker: ControllerParts) -> Decision[Results]:
    number = wanted.election_type if version >= TYPED_FROM else ElectionType.PREFERRED
    if number not in set(ElectionType):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown election type {number}")
    kind, rules = ElectionType(number), rules_of(image, broker.static_settings)
    records: list[MetadataRecord] = []
    results: Results = {}
    for name, index in _places(image, wanted):
        refusal: KafkaError | None = None
        try:
            records += decide_election(image, image.topics.get(name), index, kind, rules(name))
        except KafkaError as error:
            refusal = error
            if wanted.topic_partitions is None and error.code is ErrorCode.ELECTION_NOT_NEEDED:
                continue  # who asks for all is told of those that were not well
        results.setdefault(name, {})[index] = refusal
    return records, results


def _places(image: Image, wanted: Any) -> Iterator[tuple[str, int]]:
    if wanted.topic_partitions is None:
        for topic in image.topics.values():
            for index in range(len(topic.partitions)):
                yield topic.name, index
    else:
        for item in wanted.topic_partitions:
            for index in item.partitions:
                yield item.topic, index


def _topic(name: str, parts: dict[int, KafkaError | None]) -> dict[str, Any]:
    results = [
        {
            "partition_id": index,
            "error_code": error.code if error else ErrorCode.NONE,
            "error_message": (error.message or None) if error else None,
        }
        for index, error in parts.items()
    ]
    return {"topic": name, "partition_result": results}
