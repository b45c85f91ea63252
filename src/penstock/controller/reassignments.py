"""Reassignment: the replicas of a partition move to other brokers, or do not after all. Pure: records or a
`KafkaError` out.

While they move, a partition has the old and the new ones; `partition_changes` ends it when the new ones are
in sync.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.controller.image import Image, PartitionState, TopicState
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.partition_changes import Move, Rules, decide_change
from penstock.protocol.errors import ErrorCode, KafkaError


def decide_reassign(
    image: Image,
    topic: TopicState,
    index: int,
    replicas: Sequence[int] | None,
    rules: Rules,
    *,
    may_change_factor: bool = True,
) -> list[MetadataRecord]:
    """Begin or change a reassignment; without `replicas` the present one is taken back."""
    if not 0 <= index < len(topic.partitions):
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {topic.name}:{index}."
        )
    state = topic.partitions[index]
    move = _back(state, rules) if replicas is None else _towards(image, state, replicas, may_change_factor)
    record = decide_change(
        topic.topic_id,
        index,
        state,
        rules,
        image.is_active,
        move=move,
        is_online=image.is_online,
        directories={node: image.default_directory(node) for node in move.adding if node not in state.adding},
    )
    return [] if record is None else [record]


def _problem(image: Image, target: tuple[int, ...]) -> str | None:
    """What is wrong with a list of replicas, in Kafka's words."""
    if not target:
        return "an empty replica list."
    unknown = [node for node in sorted(target) if node not in image.brokers]
    if unknown:
        return f"broker {unknown[0]}, but no such broker is registered."
    repeated = [node for node in sorted(target) if target.count(node) > 1]
    return f"the broker {repeated[0]} more than once." if repeated else None


def _towards(image: Image, state: PartitionState, replicas: Sequence[int], may_change_factor: bool) -> Move:
    target = tuple(replicas)
    problem = _problem(image, target)
    if problem is not None:
        message = f"The manual partition assignment includes {problem}"
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    if not may_change_factor and len(target) != len(_original(state)):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {len(_original(state))} to {len(target)}",
        )
    # Those that an earlier reassignment adds and that are not wanted any more go at once: nothing is counted
    # on them yet.
    kept = [node for node in state.replicas if node not in state.adding or node in target]
    removing = tuple(node for node in kept if node not in target)
    adding = tuple(node for node in target if node not in _original(state))
    return Move(target + removing, adding, removing)


def _back(state: PartitionState, rules: Rules) -> Move:
    if not (state.adding or state.removing):
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    original = _original(state)
    if not set(state.isr) & set(original) and not rules.unclean:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Unable to revert partition assignment: it would leave no replica that is in sync.",
        )
    return Move(original, (), ())


def _original(state: PartitionState) -> tuple[int, ...]:
    """Where it was before the reassignment began, those that were to leave behind those that stay."""
    return tuple(node for node in state.replicas if node not in state.adding)
