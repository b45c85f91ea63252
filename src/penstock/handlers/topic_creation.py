"""Creating a topic on behalf of a request: CreateTopics, auto-creation and the internal topics share it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.controller.controller import Decision
from penstock.controller.image import Image, TopicState, replay
from penstock.controller.metadata_records import PartitionRecord
from penstock.controller.topics import NewTopic, decide_create
from penstock.coordinator.coordinator import CoordinatorKind
from penstock.coordinator.promise import Promise
from penstock.groups.coordinator import OFFSETS_TOPIC
from penstock.handlers.forwarding import ask_for
from penstock.handlers.parts import Permits, TopicMaking
from penstock.handlers.request import Request
from penstock.handlers.throttling import Mutations
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_request
from penstock.security.operations import Operation, ResourceType
from penstock.share.coordinator import SHARE_TOPIC
from penstock.transactions.coordinator import TRANSACTIONS_TOPIC

_CREATE_VERSION: Final = 7
_MAX_COMING: Final = 1000


def may_create(request: Request, broker: Permits, name: str) -> bool:
    """By a right on the whole cluster, or on this topic."""
    return request.may_see(broker, Operation.CREATE, ResourceType.CLUSTER) or request.may(
        broker, Operation.CREATE, ResourceType.TOPIC, name
    )


def create_topic(
    broker: TopicMaking, wish: NewTopic, *, validate_only: bool = False, mutations: Mutations | None = None
) -> Promise[TopicState]:
    """The topic, committed and followed here; on the active controller. With `validate_only` nothing is made;
    it is told what would be.

    `mutations` is charged for the partitions of whoever asked for the topic.
    """

    def decide(image: Image) -> Decision[TopicState]:
        records = decide_create(image, wish, broker.topic_defaults, broker.new_topic_id())
        if mutations is not None:
            mutations.take(sum(isinstance(record, PartitionRecord) for record in records))
        return ([] if validate_only else records), replay(image, records).topics[wish.name]

    return broker.controller.submit(decide)


def want_topic(
    broker: TopicMaking, wish: NewTopic, mutations: Mutations | None = None, asker: Request | None = None
) -> TopicState | None:
    """The topic, which is created if it is not there; None while it is on its way. KafkaError when it is
    refused. `asker` is the client's request that needs the topic; without it the broker itself does."""
    name = wish.name
    if name not in broker.controller.image.topics:
        coming = broker.coming_topics.get(name)
        if coming is None and len(broker.coming_topics) < _MAX_COMING:
            coming = broker.coming_topics[name] = _request(broker, wish, mutations, asker)
        if coming is not None and coming.done:
            broker.coming_topics.pop(name, None)
            try:
                coming.result()
            except KafkaError as error:
                # Somebody else may have been faster; then the topic is there, which is all that was wanted.
                if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise
    return broker.controller.image.topics.get(name)


def _request(
    broker: TopicMaking, wish: NewTopic, mutations: Mutations | None, asker: Request | None
) -> Promise[Any]:
    if broker.controller.is_active:
        return create_topic(broker, wish, mutations=mutations)
    topic = {
        "name": wish.name,
        "num_partitions": wish.partitions,
        "replication_factor": wish.replication_factor,
        "assignments": (),
        "configs": [{"name": name, "value": value} for name, value in wish.configs.items()],
    }
    fields = {"topics": [topic], "timeout": broker.settings.request_timeout_ms, "validate_only": False}
    body = encode_request(Api.CREATE_TOPICS, _CREATE_VERSION, fields)
    return ask_for(broker, asker, Api.CREATE_TOPICS, _CREATE_VERSION, body)


def auto_created(broker: TopicMaking, name: str) -> NewTopic:
    """A topic of this name as the broker creates it for a client that only names it. The internal topics get
    their own partitions and settings, whatever names them first."""
    settings = broker.settings
    if name == OFFSETS_TOPIC:
        return _internal(
            broker,
            name,
            settings.offsets_topic_num_partitions,
            settings.offsets_topic_replication_factor,
            {
                "compression.type": "producer",
                "segment.bytes": str(settings.offsets_topic_segment_bytes),
            },
        )
    if name == TRANSACTIONS_TOPIC:
        return _internal(
            broker,
            name,
            settings.transaction_state_log_num_partitions,
            settings.transaction_state_log_replication_factor,
            {
                "compression.type": "uncompressed",
                "segment.bytes": str(settings.transaction_state_log_segment_bytes),
                "min.insync.replicas": str(settings.transaction_state_log_min_isr),
            },
        )
    if name == SHARE_TOPIC:
        return _internal(
            broker,
            name,
            settings.share_coordinator_state_topic_num_partitions,
            settings.share_coordinator_state_topic_replication_factor,
            {
                "compression.type": "producer",
                "segment.bytes": str(settings.share_coordinator_state_topic_segment_bytes),
                "min.insync.replicas": str(settings.share_coordinator_state_topic_min_isr),
            },
        )
    return NewTopic(name)


def _internal(
    broker: TopicMaking, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
) -> NewTopic:
    """A node that is alone takes as many replicas as there are brokers. A cluster waits until there are
    enough, as Kafka does: the topic keeps the number of replicas that it begins with."""
    if broker.settings.is_alone:
        replication_factor = min(replication_factor, len(broker.controller.image.brokers))
    return NewTopic(name, partitions, replication_factor, configs={"cleanup.policy": "compact", **configs})


def ensure_offsets_topic(broker: TopicMaking) -> TopicState:
    """`__consumer_offsets`, made when the first group appears."""
    return _ensure_internal(broker, OFFSETS_TOPIC)


def ensure_transactions_topic(broker: TopicMaking) -> TopicState:
    """`__transaction_state`, made when the first transactional producer appears."""
    return _ensure_internal(broker, TRANSACTIONS_TOPIC)


def ensure_share_topic(broker: TopicMaking) -> TopicState:
    """`__share_group_state`, made when the first member of a share group appears."""
    return _ensure_internal(broker, SHARE_TOPIC)


_ENSURE: Final = {
    CoordinatorKind.GROUP: ensure_offsets_topic,
    CoordinatorKind.TRANSACTION: ensure_transactions_topic,
    CoordinatorKind.SHARE: ensure_share_topic,
}


def ensure_internal_topic(broker: TopicMaking, kind: CoordinatorKind) -> TopicState:
    """The topic of the coordinators of a kind, made when it is first needed."""
    return _ENSURE[kind](broker)


def _ensure_internal(broker: TopicMaking, name: str) -> TopicState:
    try:
        topic = want_topic(broker, auto_created(broker, name))
    except KafkaError as error:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{name}: {error.message}") from error
    if topic is None:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{name} is being created.")
    return topic
