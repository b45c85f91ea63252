"""Creating a topic on behalf of a request: CreateTopics, auto-creation and the internal topics share it."""

from __future__ import annotations

from penstock.controller.controller import Decision
from penstock.controller.image import Image, TopicState, replay
from penstock.controller.metadata_records import PartitionRecord
from penstock.controller.topics import NewTopic, decide_create
from penstock.coordinator.promise import Promise
from penstock.groups.coordinator import OFFSETS_TOPIC
from penstock.handlers.broker import Broker
from penstock.handlers.promised import decided
from penstock.handlers.throttling import Mutations
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.transactions.coordinator import TRANSACTIONS_TOPIC


def create_topic(
    broker: Broker, wish: NewTopic, *, validate_only: bool = False, mutations: Mutations | None = None
) -> Promise[TopicState]:
    """The topic, committed and followed here. With `validate_only` nothing is made; it is told what would be.

    `mutations` is charged for the partitions of whoever asked for the topic.
    """

    def decide(image: Image) -> Decision[TopicState]:
        records = decide_create(image, wish, broker.placement, broker.new_topic_id())
        if mutations is not None:
            mutations.take(sum(isinstance(record, PartitionRecord) for record in records))
        return ([] if validate_only else records), replay(image, records).topics[wish.name]

    return broker.controller.submit(decide)


def ensure_offsets_topic(broker: Broker) -> TopicState:
    """`__consumer_offsets`, made when the first group appears."""
    settings = broker.settings
    return _ensure_internal(
        broker,
        OFFSETS_TOPIC,
        settings.offsets_topic_num_partitions,
        settings.offsets_topic_replication_factor,
        settings.offsets_topic_segment_bytes,
    )


def ensure_transactions_topic(broker: Broker) -> TopicState:
    """`__transaction_state`, made when the first transactional producer appears."""
    settings = broker.settings
    return _ensure_internal(
        broker,
        TRANSACTIONS_TOPIC,
        settings.transaction_state_log_num_partitions,
        settings.transaction_state_log_replication_factor,
        settings.transaction_state_log_segment_bytes,
    )


def _ensure_internal(
    broker: Broker, name: str, partitions: int, replication_factor: int, segment_bytes: int
) -> TopicState:
    wish = NewTopic(
        name,
        partitions,
        min(replication_factor, len(broker.placement.brokers)),
        configs={
            "cleanup.policy": "compact",
            "compression.type": "producer" if name == OFFSETS_TOPIC else "uncompressed",
            "segment.bytes": str(segment_bytes),
        },
    )
    if name not in broker.controller.image.topics:
        promise = create_topic(broker, wish)
        try:
            decided(promise)
        except KafkaError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
    topic = broker.controller.image.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{name} is being created.")
    return topic
