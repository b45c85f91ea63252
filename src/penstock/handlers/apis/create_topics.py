"""CreateTopics, v2-v7. Each topic is decided by itself: a topic that is refused does not hold up the
others."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from penstock.controller.image import TopicState
from penstock.controller.topics import NewTopic
from penstock.coordinator.promise import Promise, failed
from penstock.handlers.config_entries import ConfigEntries
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import decided, reply_when_done
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.handlers.throttling import Mutations
from penstock.handlers.topic_creation import create_topic, may_create
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, milliseconds, read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (2, 7)
ACCESS: Final = (
    Access(Operation.CREATE, ResourceType.CLUSTER, Refusal.EACH),
    Access(Operation.CREATE, ResourceType.TOPIC, Refusal.EACH, when="the cluster does not allow it"),
    Access(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, Refusal.HIDDEN, when="the topic was made"),
)
STRICT_FROM: Final = 6  # a client of this version knows that a quota may refuse a topic (KIP-599)


def handle(request: Request, broker: ControllerParts) -> Reply | Wait:
    wanted = read_request(Api.CREATE_TOPICS, request.version, request.reader)
    times = Counter(topic.name for topic in wanted.topics)
    mutations = Mutations(request, broker, strict_from=STRICT_FROM)
    promises = {
        topic.name: _create(request, broker, topic, wanted.validate_only, mutations, times[topic.name] > 1)
        for topic in wanted.topics
    }
    throttle_ms = mutations.throttle_ms

    def encode() -> bytes:
        results = [
            _created(request, broker, topic, promises[topic.name], wanted.validate_only)
            for topic in {topic.name: topic for topic in wanted.topics}.values()
        ]
        fields = {"throttle_time": throttle_ms, "topics": results}
        return encode_response(Api.CREATE_TOPICS, request.version, fields)

    seconds = milliseconds(wanted.timeout) / 1000
    return reply_when_done(broker, promises.values(), encode, seconds=seconds, throttle_ms=throttle_ms)


def _create(
    request: Request,
    broker: ControllerParts,
    topic: Any,
    validate_only: bool,
    mutations: Mutations,
    repeated: bool,
) -> Promise[TopicState]:
    try:
        if repeated:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        if not may_create(request, broker, topic.name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
        wish = NewTopic(
            topic.name,
            topic.num_partitions,
            topic.replication_factor,
            _places(topic.assignments),
            _configs(topic),
        )
        return create_topic(broker, wish, validate_only=validate_only, mutations=mutations)
    except KafkaError as error:
        return failed(error)


def _created(
    request: Request, broker: ControllerParts, topic: Any, promise: Promise[TopicState], validate_only: bool
) -> dict[str, Any]:
    try:
        made = decided(promise)
    except KafkaError as error:
        return _result(topic.name, error=error)
    topic_id = None if validate_only else made.topic_id
    if not request.may_see(broker, Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, topic.name):
        hidden = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return _result(topic.name, topic_id=topic_id, topic_config_error_code=hidden)
    # From v5 on the answer has what the topic became, or would have become.
    return _result(
        topic.name,
        topic_id=topic_id,
        num_partitions=len(made.partitions),
        replication_factor=len(made.partitions[0].replicas),
        configs=ConfigEntries(broker).new_topic(
            {name: value for name, value in _configs(topic).items() if value is not None}
        ),
    )


def _configs(topic: Any) -> dict[str, str | None]:
    return {item.name: item.value for item in topic.configs}


def _places(assignments: Any) -> dict[int, Any]:
    places: dict[int, Any] = {}
    for item in assignments:
        if item.partition_index in places:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {item.partition_index}",
            )
        places[item.partition_index] = item.broker_ids
    return places


def _result(name: str, *, error: KafkaError | None = None, **known: Any) -> dict[str, Any]:
    unknown: dict[str, Any] = {
        "topic_id": None,
        "num_partitions": -1,
        "replication_factor": -1,
        "configs": (),
    }
    return {
        **unknown,
        **known,
        "name": name,
        "error_code": error.code if error else ErrorCode.NONE,
        "error_message": error.message if error else None,
    }
