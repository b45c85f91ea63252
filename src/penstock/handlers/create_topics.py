"""CreateTopics, v2-v7: each topic is decided by itself; one that is refused does not hold up the others."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from penstock.controller.topics import NewTopic
from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.config_entries import ConfigEntries
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.handlers.throttling import Mutations
from penstock.handlers.topic_creation import create_topic
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request

VERSIONS: Final = (2, 7)
STRICT_FROM: Final = 6  # a client of this version knows that a quota may refuse a topic (KIP-599)


def handle(request: Request, broker: Broker) -> Reply:
    wanted = read_request(Api.CREATE_TOPICS, request.version, request.reader)
    times = Counter(topic.name for topic in wanted.topics)
    mutations = Mutations(request, broker, strict_from=STRICT_FROM)
    results = [
        _create(request, broker, topic, wanted.validate_only, mutations, repeated=times[topic.name] > 1)
        for topic in {topic.name: topic for topic in wanted.topics}.values()
    ]
    throttle_ms = mutations.throttle_ms
    fields = {"throttle_time": throttle_ms, "topics": results}
    return Reply([encode_response(Api.CREATE_TOPICS, request.version, fields)], throttle_ms)


def _create(
    request: Request, broker: Broker, topic: Any, validate_only: bool, mutations: Mutations, *, repeated: bool
) -> dict[str, Any]:
    try:
        if repeated:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic.")
        if not request.may(broker, Operation.CREATE, ResourceType.TOPIC, topic.name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
        wish = NewTopic(
            topic.name,
            topic.num_partitions,
            topic.replication_factor,
            {item.partition_index: item.broker_ids for item in topic.assignments},
            {item.name: item.value for item in topic.configs},
        )
        create_topic(broker, wish, validate_only=validate_only, mutations=mutations)
    except KafkaError as error:
        return _result(topic.name, error=error)
    return _created(broker, wish)


def _created(broker: Broker, wish: NewTopic) -> dict[str, Any]:
    """v5 and later tell what the topic became; with validate_only it does not exist, and the wish is told
    back."""
    state = broker.controller.image.topics.get(wish.name)
    if state is None:
        return _result(wish.name)
    return _result(
        wish.name,
        topic_id=state.topic_id,
        num_partitions=len(state.partitions),
        replication_factor=len(state.partitions[0].replicas),
        configs=ConfigEntries(broker).topic(wish.name),
    )


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
