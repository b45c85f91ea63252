"""Decisions about topics: create, delete, add partitions. Pure: an image and a wish in, records or a
`KafkaError` out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.controller.image import TOPIC_RESOURCE, Image, TopicState
from penstock.controller.metadata_records import (
    ConfigRecord,
    MetadataRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.settings import SettingError, TopicSettings

MAX_NAME_LENGTH: Final = 249
MAX_PARTITIONS_PER_REQUEST: Final = 10_000
INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
USE_DEFAULT: Final = -1

_LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic somebody wants. `assignments[i]` are the replicas of partition i, when the client places them
    itself."""

    name: str
    partitions: int = USE_DEFAULT
    replication_factor: int = USE_DEFAULT
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Placement:
    """What decisions need to know about the cluster: the brokers that may hold replicas, and the defaults."""

    brokers: tuple[int, ...]
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


def decide_create(
    image: Image, wish: NewTopic, placement: Placement, topic_id: bytes
) -> list[MetadataRecord]:
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
        TopicSettings.from_overrides(configs, placement.topic_defaults)
    except SettingError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None
    replicas = _place(wish, placement)
    records: list[MetadataRecord] = [TopicRecord(wish.name, topic_id)]
    records += [ConfigRecord(TOPIC_RESOURCE, wish.name, name, value) for name, value in configs.items()]
    records += [_partition(topic_id, index, holders) for index, holders in enumerate(replicas)]
    return records


def decide_delete(topic: TopicState) -> list[MetadataRecord]:
    return [RemoveTopicRecord(topic.topic_id)]


def decide_add_partitions(
    topic: TopicState, count: int, assignments: Sequence[Sequence[int]] | None, placement: Placement
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
        holders: Sequence[Sequence[int]] = _round_robin(new, factor, placement.brokers, start=have)
    elif len(assignments) != new:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {new} additional partition(s), but only {len(assignments)} assignment(s) "
            "were specified.",
        )
    else:
        factor = len(topic.partitions[0].replicas)
        holders = [_checked(assignment, placement.brokers, factor) for assignment in assignments]
    return [_partition(topic.topic_id, have + index, replicas) for index, replicas in enumerate(holders)]


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


def _place(wish: NewTopic, placement: Placement) -> Sequence[Sequence[int]]:
    if wish.assignments:
        return _given_places(wish, placement.brokers)
    partitions = placement.default_partitions if wish.partitions == USE_DEFAULT else wish.partitions
    factor = (
        placement.default_replication_factor
        if wish.replication_factor == USE_DEFAULT
        else wish.replication_factor
    )
    if partitions <= 0:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )
    _check_partition_count(partitions)
    return _round_robin(partitions, factor, placement.brokers, start=0)


def _given_places(wish: NewTopic, brokers: tuple[int, ...]) -> Sequence[Sequence[int]]:
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
    return [_checked(wish.assignments[index], brokers, factor) for index in range(len(wish.assignments))]


def _check_partition_count(count: int) -> None:
    if count > MAX_PARTITIONS_PER_REQUEST:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def _checked(replicas: Sequence[int], brokers: tuple[int, ...], factor: int) -> Sequence[int]:
    unknown = [broker for broker in sorted(replicas) if broker not in brokers]
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
    else:
        return replicas
    raise KafkaError(
        ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes {problem}"
    )


def _round_robin(count: int, factor: int, brokers: tuple[int, ...], start: int) -> list[tuple[int, ...]]:
    if factor <= 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if factor > len(brokers):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {factor} time(s): The target replication factor of {factor} "
            f"cannot be reached because only {len(brokers)} broker(s) are registered.",
        )
    return [
        tuple(brokers[(start + index + shift) % len(brokers)] for shift in range(factor))
        for index in range(count)
    ]


def _partition(topic_id: bytes, index: int, replicas: Sequence[int]) -> PartitionRecord:
    holders = tuple(replicas)
    return PartitionRecord(index, topic_id, holders, holders, holders[0], leader_epoch=0, partition_epoch=0)
