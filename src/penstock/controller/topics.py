"""Decisions about topics: create, delete, add partitions. Pure: an image and a wish in, records or a
`KafkaError` out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.controller.directory_ids import known
from penstock.controller.image import TOPIC_RESOURCE, Image, TopicState
from penstock.controller.metadata_records import (
    ConfigRecord,
    MetadataRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from penstock.controller.placement import place_replicas
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.settings import SettingError, TopicSettings

MAX_NAME_LENGTH: Final = 249
MAX_PARTITIONS_PER_REQUEST: Final = 10_000
INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
USE_DEFAULT: Final = -1

_LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be created. `assignments[i]` are the replicas of partition i, when the client places them
    itself."""

    name: str
    partitions: int = USE_DEFAULT
    replication_factor: int = USE_DEFAULT
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What topics get that leave something open."""

    default_partitions: int
    default_replication_factor: int
    topic_defaults: TopicSettings


def check_name(name: str) -> None:
    """Kafka's rules for a legal topic name, with Kafka's sentences."""
    if not name:
        problem = "the empty string is not allowed"
    elif name in (".", ".."):
        problem = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_LENGTH:
        problem = f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    elif not _LEGAL_NAME.fullmatch(name):
        problem = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return
    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")


def decide_create(image: Image, wish: NewTopic, defaults: Defaults, topic_id: bytes) -> list[MetadataRecord]:
    """The records that make the topic, or the reason why not."""
    check_name(wish.name)
    if wish.name in image.topics:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{wish.name}' already exists.")
    _check_collision(image, wish.name)
    empty = [name for name, value in wish.configs.items() if value is None]
    if empty:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(empty)}"
        )
    configs = {name: value for name, value in wish.configs.items() if value is not None}
    try:
        TopicSettings.from_overrides(configs, defaults.topic_defaults)
    except SettingError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None
    replicas = _place(image, wish, defaults)
    records: list[MetadataRecord] = [TopicRecord(wish.name, topic_id)]
    records += [ConfigRecord(TOPIC_RESOURCE, wish.name, name, value) for name, value in configs.items()]
    records += [_partition(image, topic_id, index, holders) for index, holders in enumerate(replicas)]
    return records


def decide_delete(topic: TopicState) -> list[MetadataRecord]:
    return [RemoveTopicRecord(topic.topic_id)]


def decide_add_partitions(
    image: Image, topic: TopicState, count: int, assignments: Sequence[Sequence[int]] | None
) -> list[MetadataRecord]:
    """Partitions from the present number up to `count`."""
    have = len(topic.partitions)
    if count == have:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {have} partition(s).")
    if count < have:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {have} partition(s); {count} would not be an increase.",
        )
    new = count - have
    _check_partition_count(new)
    if assignments is None:
        factor = len(topic.partitions[0].replicas)
        brokers = image.brokers.values()
        holders: Sequence[Sequence[int]] = place_replicas(new, factor, brokers, start=_turn(image) + have)
    elif len(assignments) != new:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {new} additional partition(s), but only {len(assignments)} assignment(s) "
            "were specified.",
        )
    else:
        factor = len(topic.partitions[0].replicas)
        holders = [_checked(assignment, image, factor) for assignment in assignments]
    return [
        _partition(image, topic.topic_id, have + index, replicas) for index, replicas in enumerate(holders)
    ]


def _check_collision(image: Image, name: str) -> None:
    """`a.b` and `a_b` would be one name in the metrics, where a dot becomes an underscore."""
    if "." not in name and "_" not in name:
        return
    plain = name.replace(".", "_")
    for other in image.topics:
        if other.replace(".", "_") == plain:
            raise KafkaError(
                ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}"
            )


def _place(image: Image, wish: NewTopic, defaults: Defaults) -> Sequence[Sequence[int]]:
    if wish.assignments:
        return _given_places(wish, image)
    partitions = defaults.default_partitions if wish.partitions == USE_DEFAULT else wish.partitions
    factor = (
        defaults.default_replication_factor
        if wish.replication_factor == USE_DEFAULT
        else wish.replication_factor
    )
    if partitions <= 0:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )
    _check_partition_count(partitions)
    return place_replicas(partitions, factor, image.brokers.values(), start=_turn(image))


def _turn(image: Image) -> int:
    """Each topic's leaders begin with another broker: many small topics are spread, too."""
    return len(image.topics)


def _given_places(wish: NewTopic, image: Image) -> Sequence[Sequence[int]]:
    for name, value in (("replication factor", wish.replication_factor), ("numPartitions", wish.partitions)):
        if value != USE_DEFAULT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {name} was not set to -1.",
            )
    _check_partition_count(len(wish.assignments))
    if sorted(wish.assignments) != list(range(len(wish.assignments))):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    factor = len(wish.assignments[0])
    return [_checked(wish.assignments[index], image, factor) for index in range(len(wish.assignments))]


def _check_partition_count(count: int) -> None:
    if count > MAX_PARTITIONS_PER_REQUEST:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def _checked(replicas: Sequence[int], image: Image, factor: int) -> Sequence[int]:
    unknown = [broker for broker in sorted(replicas) if broker not in image.brokers]
    repeated = [broker for broker in sorted(replicas) if replicas.count(broker) > 1]
    if not replicas:
        problem = "an empty replica list."
    elif unknown:
        problem = f"broker {unknown[0]}, but no such broker is registered."
    elif repeated:
        problem = f"the broker {repeated[0]} more than once."
    elif len(replicas) != factor:
        problem = (
            f"a partition with {len(replicas)} replica(s), but this is not consistent with previous "
            f"partitions, which have {factor} replica(s)."
        )
    elif not any(image.is_active(broker) for broker in replicas):
        problem = "only brokers that are fenced or in controlled shutdown."
    else:
        return replicas
    raise KafkaError(
        ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes {problem}"
    )


def _partition(image: Image, topic_id: bytes, index: int, replicas: Sequence[int]) -> PartitionRecord:
    """The brokers that serve are in sync; another one joins when it has fetched everything."""
    isr = tuple(broker for broker in replicas if image.is_active(broker))
    directories = known(tuple(image.default_directory(broker) for broker in replicas))
    return PartitionRecord(
        index,
        topic_id,
        tuple(replicas),
        isr,
        isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=directories,
    )
