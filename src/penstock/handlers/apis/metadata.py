"""Metadata, v0-v13: the brokers, and the topics with their partitions.

A topic that a client names and that does not exist is created, if client and settings allow it. As in Kafka,
the request that creates the topic is still answered with UNKNOWN_TOPIC_OR_PARTITION, and a topic that was
deleted a moment ago is created anew.

On purpose unlike Kafka: when the topic cannot be created, the answer has the reason.
"""

from __future__ import annotations

from typing import Final

from penstock.controller.image import PartitionState, TopicState
from penstock.controller.topics import INTERNAL_TOPICS, check_name
from penstock.handlers.cluster_nodes import ClusterView, Seen, controller_node, nodes
from penstock.handlers.parts import TopicMetadataParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.handlers.throttling import Mutations
from penstock.handlers.topic_creation import auto_created, may_create, want_topic
from penstock.protocol import metadata
from penstock.protocol.apis import NEVER
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.metadata import MetadataRequest, PartitionInfo, TopicInfo, TopicWanted
from penstock.protocol.primitives import ZERO_UUID
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 13)
ACCESS: Final = (
    Access(Operation.DESCRIBE, ResourceType.TOPIC, Refusal.EACH, when="the topic is named"),
    Access(Operation.DESCRIBE, ResourceType.TOPIC, Refusal.HIDDEN, when="all topics are asked for"),
    Access(Operation.CREATE, ResourceType.CLUSTER, Refusal.EACH, when="the topic would be created"),
    Access(Operation.CREATE, ResourceType.TOPIC, Refusal.EACH, when="so, and not by the cluster's right"),
    Access(Operation.DESCRIBE, ResourceType.CLUSTER, Refusal.HIDDEN, when="the cluster's operations are"),
)


def handle(request: Request, broker: TopicMetadataParts) -> Reply:
    wanted = metadata.read_request(request.reader, request.version)
    body = metadata.encode_response(
        request.version,
        brokers=nodes(broker, request.listener),
        cluster_id=broker.cluster_id,
        controller_id=controller_node(broker),
        topics=_topics(request, wanted, broker),
        cluster_operations=request.cluster_operations(broker)
        if wanted.include_cluster_operations
        else metadata.OPERATIONS_NOT_ASKED,
    )
    return Reply([body])


def _topics(request: Request, wanted: MetadataRequest, broker: TopicMetadataParts) -> list[TopicInfo]:
    topics = _selected(request, wanted, broker)
    if not wanted.include_topic_operations:
        return topics
    return [
        topic._replace(operations=request.operations(broker, ResourceType.TOPIC, topic.name))
        if topic.name is not None
        else topic
        for topic in topics
    ]


def _selected(request: Request, wanted: MetadataRequest, broker: TopicMetadataParts) -> list[TopicInfo]:
    image, view = broker.controller.image, ClusterView(broker, request.listener)
    if wanted.topics is None:
        return [
            _describe(view, topic)
            for topic in image.topics.values()
            if request.may_see(broker, Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
        ]
    items = dict.fromkeys(wanted.topics)  # a topic that is named twice is answered once
    return [_topic(request, item, wanted.allow_auto_creation, broker, view) for item in items]


def _topic(
    request: Request,
    wanted: TopicWanted,
    allow_auto_creation: bool,
    broker: TopicMetadataParts,
    view: ClusterView,
) -> TopicInfo:
    image = broker.controller.image
    if wanted.name is None:
        found = image.topic("", wanted.topic_id)
        if found is None:
            return TopicInfo(ErrorCode.UNKNOWN_TOPIC_ID, None, wanted.topic_id, False, ())
        if not request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, found.name):
            # Ids are no secret: a client that has one was allowed to see the topic before.
            return TopicInfo(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, wanted.topic_id, False, ())
        return _describe(view, found)
    name = wanted.name
    if not request.may(broker, Operation.DESCRIBE, ResourceType.TOPIC, name):
        return _failed(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    topic = image.topics.get(name)
    if topic is None:
        try:
            _create(request, name, allow_auto_creation, broker)
        except KafkaError as error:
            return _failed(name, error.code)
        return _failed(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return _describe(view, topic)


def _create(request: Request, name: str, allowed: bool, broker: TopicMetadataParts) -> None:
    """Begins to create a topic, where that is allowed; the client will ask for it again."""
    check_name(name)
    if not (allowed and broker.settings.auto_create_topics_enable):
        return
    if not may_create(request, broker, name):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    want_topic(broker, auto_created(broker, name), Mutations(request, broker, strict_from=NEVER), request)


def _describe(view: ClusterView, topic: TopicState) -> TopicInfo:
    partitions = [
        _partition(view.partition(topic.name, index, state), index, state)
        for index, state in enumerate(topic.partitions)
    ]
    return TopicInfo(ErrorCode.NONE, topic.name, topic.topic_id, topic.name in INTERNAL_TOPICS, partitions)


def _partition(seen: Seen, index: int, state: PartitionState) -> PartitionInfo:
    return PartitionInfo(
        seen.error, index, seen.leader, state.leader_epoch, state.replicas, state.isr, seen.offline
    )


def _failed(name: str, error: ErrorCode) -> TopicInfo:
    return TopicInfo(error, name, ZERO_UUID, name in INTERNAL_TOPICS, ())
