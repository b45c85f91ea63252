"""Elections that a client asks for: the preferred replica, or any replica at the price of what it lacks.
Pure: records or a `KafkaError` with Kafka's sentence out."""

from __future__ import annotations

from enum import IntEnum

from penstock.controller.image import Image
from penstock.controller.metadata_records import NO_LEADER, MetadataRecord
from penstock.controller.partition_changes import Rules, decide_change
from penstock.protocol.errors import ErrorCode, KafkaError


class ElectionType(IntEnum):
    """Kafka's codes."""

    PREFERRED = 0
    UNCLEAN = 1


def decide_election(
    image: Image, name: str, index: int, kind: ElectionType, rules: Rules
) -> list[MetadataRecord]:
    """The records that elect a leader for one partition; KafkaError when there is none to elect."""
    topic = image.topics.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if not 0 <= index < len(topic.partitions):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")
    state = topic.partitions[index]
    unclean = kind is ElectionType.UNCLEAN
    if (unclean and state.leader != NO_LEADER) or (not unclean and state.leader == state.replicas[0]):
        raise KafkaError(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
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
        raise KafkaError(
            ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "Eligible topic partition leaders are not available."
        )
    if not unclean and elected != state.replicas[0]:
        raise KafkaError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")
    return [] if record is None else [record]
