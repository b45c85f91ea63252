"""Elections that somebody asks for: the preferred replica, or any at the price of what it lacks. Pure:
records or a `KafkaError` out."""

from __future__ import annotations

from enum import IntEnum

from penstock.controller.image import Image, TopicState
from penstock.controller.metadata_records import NO_LEADER, MetadataRecord
from penstock.controller.partition_changes import Rules, decide_change
from penstock.protocol.errors import ErrorCode, KafkaError


class ElectionType(IntEnum):
    """Kafka's codes."""

    PREFERRED = 0
    UNCLEAN = 1


def decide_election(
    image: Image, topic: TopicState | None, index: int, kind: ElectionType, rules: Rules
) -> list[MetadataRecord]:
    if topic is None or not 0 <= index < len(topic.partitions):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "There is no such partition.")
    state = topic.partitions[index]
    unclean = kind is ElectionType.UNCLEAN
    if (unclean and state.leader != NO_LEADER) or (not unclean and state.leader == state.replicas[0]):
        raise KafkaError(ErrorCode.ELECTION_NOT_NEEDED)
    record = decide_change(
        topic.topic_id,
        index,
        state,
        rules._replace(unclean=rules.unclean or unclean),
        image.is_active,
        prefer_first=not unclean,
        is_online=image.is_online,
    )
    elected = NO_LEADER if record is None else record.leader
    if unclean and elected < 0:
        raise KafkaError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
    if not unclean and elected != state.replicas[0]:
        raise KafkaError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
    return [] if record is None else [record]
