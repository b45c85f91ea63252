"""Decisions about log directories (KIP-858): a broker says which of them holds a replica, or that some have
failed. Pure: an image and what was said in, records or a `KafkaError` out.

What a directory's state means for a partition is decided by `penstock.controller.partition_changes`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from penstock.controller.broker_records import BrokerRegistrationChangeRecord
from penstock.controller.directory_ids import is_reserved
from penstock.controller.image import BrokerState, Image, PartitionState
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.partition_changes import decide_change
from penstock.controller.rules import RulesOf
from penstock.protocol.errors import ErrorCode, KafkaError


def decide_offline(
    image: Image, broker: BrokerState, failed: Collection[bytes], rules_of: RulesOf
) -> list[MetadataRecord]:
    """These directories of the broker have failed: its replicas there lead nothing and are in no ISR any
    more. Nothing when it is known; one directory at least must be left."""
    left = tuple(directory for directory in broker.directories if directory not in failed)
    if left == broker.directories:
        return []
    assert left, "a broker without directories is fenced"
    change = BrokerRegistrationChangeRecord(broker.broker_id, broker.broker_epoch, directories=left)
    after = replace(image, brokers={**image.brokers, broker.broker_id: replace(broker, directories=left)})
    return [change, *_changes(after, broker.broker_id, failed, rules_of)]


def _changes(
    image: Image, broker_id: int, failed: Collection[bytes], rules_of: RulesOf
) -> Iterator[MetadataRecord]:
    for topic in image.topics.values():
        for index, state in enumerate(topic.partitions):
            if state.places.get(broker_id) in failed:
                record = decide_change(
                    topic.topic_id,
                    index,
                    state,
                    rules_of(topic.name),
                    image.is_active,
                    is_online=image.is_online,
                )
                if record is not None:
                    yield record


def decide_assign(
    image: Image, broker_id: int, topic_id: bytes, index: int, directory: bytes, rules_of: RulesOf
) -> list[MetadataRecord]:
    """The broker's replica is in this directory, which may have failed meanwhile. Nothing when that is
    known."""
    topic = image.topic("", topic_id)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id")
    if not 0 <= index < len(topic.partitions):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic.name} has no partition {index}")
    state = topic.partitions[index]
    if broker_id not in state.replicas:
        message = f"broker {broker_id} holds no replica of {topic.name}-{index}"
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, message)
    record = decide_change(
        topic_id,
        index,
        state,
        rules_of(topic.name),
        image.is_active,
        emptied=(broker_id,) if _begins_anew(state, broker_id, directory) else (),
        is_online=image.is_online,
        directories={broker_id: directory},
    )
    return [] if record is None else [record]


def _begins_anew(state: PartitionState, broker_id: int, directory: bytes) -> bool:
    """Whether its disk was replaced: the replica is in another directory than before, and its broker did not
    stop cleanly, or it would still be eligible. One that was moved by hand is what it was."""
    before = state.places[broker_id]
    moved = before != directory and not is_reserved(before) and not is_reserved(directory)
    return moved and broker_id not in state.isr and broker_id not in state.elr
