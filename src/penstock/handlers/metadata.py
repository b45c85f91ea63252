"""Metadata, v0-v13. A topic that is asked for by name and does not exist is created, if client and settings
allow it.

On purpose unlike Kafka: a topic created this way is in the same answer, not only in the next one.
"""

from __future__ import annotations

from typing import Final

from penstock.controller.image import PartitionState, TopicState
from penstock.controller.metadata_records import NO_LEADER
from penstock.controller.topics import INTERNAL_TOPICS, NewTopic, check_name
from penstock.handlers.authorize import Operation, ResourceType
from penstock.handlers.broker import Broker
from penstock.handlers.promised import decided
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.handlers.throttling import Mutations
from penstock.handlers.topic_creation import create_topic
from penstock.protocol import metadata
from penstock.protocol.apis import NEVER
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.metadata import MetadataRequest, PartitionInfo, TopicInfo, TopicWanted
from penstock.protocol.primitives import ZERO_UUID

VERSIONS: Final = (0, 13)


def handle(request: Request, broker: Broker) -> Reply:
    wanted = metadata.read_request(request.reader, request.version)
    body = metadata.encode_response(
        request.version,
        brokers=[broker.endpoints[request.listener]],
        cluster_id=broker.cluster_id,
        controller_id=broker.settings.node_id,
        topics=_topics(request, wanted, broker),
        cluster_operations=request.operations(broker, ResourceType.CLUSTER)
        if wanted.include_cluster_operations
        else metadata.OPERATIONS_NOT_ASKED,
    )
    return Reply([body])


def _topics(request: Request, wanted: MetadataRequest, broker: Broker) -> list[TopicInfo]:
    topics = _selected(request, wanted, broker)
    if not wanted.include_topic_operations:
        return topics
    return [
        topic._replace(operations=request.operations(broker, ResourceType.TOPIC, topic.name))
        if topic.name is not None and topic.error is ErrorCode.NONE
        else topic
        for topic in topics
    ]


def _selected(request: Request, wanted: MetadataRequest, broker: Broker) -> list[TopicInfo]:
    image = broker.controller.image
    if wanted.topics is None:
        return [
            _describe(broker, topic)
            for topic in image.topics.values()
            if request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
        ]
    return [_topic(request, item, wanted.allow_auto_creation, broker) for item in wanted.topics]


def _topic(request: Request, wanted: TopicWanted, allow_auto_creation: bool, broker: Broker) -> TopicInfo:
    image = broker.controller.image
    if wanted.name is None:
        found = image.topic("", wanted.topic_id)
        if found is None or not request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, found.name):
            return TopicInfo(ErrorCode.UNKNOWN_TOPIC_ID, None, wanted.topic_id, False, ())
        return _describe(broker, found)
    name = wanted.name
    if not request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, name):
        return _failed(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if name not in image.topics:
        error = _create(request, name, allow_auto_creation, broker)
        if error is not ErrorCode.NONE:
            return _failed(name, error)
    return _described(broker, name)


def _create(request: Request, name: str, allowed: bool, broker: Broker) -> ErrorCode:
    try:
        check_name(name)
        if not (allowed and broker.settings.auto_create_topics_enable):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if not request.may(broker, Operation.CREATE, ResourceType.TOPIC, name):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        mutations = Mutations(request, broker, strict_from=NEVER)
        decided(create_topic(broker, NewTopic(name), mutations=mutations))
    except KafkaError as error:
        # Somebody else may have been faster; then the topic is there, which is all that was wanted.
        return ErrorCode.NONE if error.code is ErrorCode.TOPIC_ALREADY_EXISTS else error.code
    return ErrorCode.NONE


def _described(broker: Broker, name: str) -> TopicInfo:
    topic = broker.controller.image.topics.get(name)
    return _failed(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) if topic is None else _describe(broker, topic)


def _describe(broker: Broker, topic: TopicState) -> TopicInfo:
    partitions = [
        _offline(index, state)
        if broker.partitions.is_offline(topic.name, index)
        else PartitionInfo(ErrorCode.NONE, index, state.leader, state.leader_epoch, state.replicas, state.isr)
        for index, state in enumerate(topic.partitions)
    ]
    return TopicInfo(ErrorCode.NONE, topic.name, topic.topic_id, topic.name in INTERNAL_TOPICS, partitions)


def _offline(index: int, state: PartitionState) -> PartitionInfo:
    """The disk of the only replica has failed: there is no leader to go to."""
    return PartitionInfo(
        ErrorCode.LEADER_NOT_AVAILABLE,
        index,
        NO_LEADER,
        state.leader_epoch,
        state.replicas,
        state.isr,
        state.replicas,
    )


def _failed(name: str, error: ErrorCode) -> TopicInfo:
    return TopicInfo(error, name, ZERO_UUID, False, ())
