"""ElectLeaders, v0-v2: let preferred replicas lead, or any replica that is there. Each partition is decided
by itself."""

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

Results = dict[str, list[tuple[int, KafkaError | None]]]
"""The partitions of each topic, each with the reason why its election failed."""


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
            code, results = error.code, _all_refused(wanted, error)
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
    results = Results()
    if wanted.topic_partitions is None:
        results = {name: [] for name in image.topics}  # as Kafka: all topics, also those without an election
    for name, index in _places(image, wanted):
        refusal: KafkaError | None = None
        try:
            records += decide_election(image, name, index, kind, rules(name))
        except KafkaError as error:
            refusal = error
            if wanted.topic_partitions is None and error.code is ErrorCode.ELECTION_NOT_NEEDED:
                continue  # a request for all partitions is answered with those that needed an election
        results.setdefault(name, []).append((index, refusal))
    return records, results


def _all_refused(wanted: Any, error: KafkaError) -> Results:
    """Each partition of the request with the same error: answers of v0 have no other place for it."""
    return {
        item.topic: [(index, error) for index in item.partitions] for item in wanted.topic_partitions or ()
    }


def _places(image: Image, wanted: Any) -> Iterator[tuple[str, int]]:
    if wanted.topic_partitions is None:
        for topic in image.topics.values():
            for index in range(len(topic.partitions)):
                yield topic.name, index
    else:
        for item in wanted.topic_partitions:
            for index in item.partitions:
                yield item.topic, index


def _topic(name: str, parts: list[tuple[int, KafkaError | None]]) -> dict[str, Any]:
    results = [
        {
            "partition_id": index,
            "error_code": error.code if error else ErrorCode.NONE,
            "error_message": (error.message or None) if error else None,
        }
        for index, error in parts
    ]
    return {"topic": name, "partition_result": results}
