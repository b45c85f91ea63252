"""AlterPartition: a leader asks for another ISR. Pure: an image and a wish in, records or a `KafkaError`
out."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.controller.image import BrokerState, Image, PartitionState
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.partition_changes import Rules, decide_change
from penstock.protocol.errors import ErrorCode, KafkaError


@dataclass(frozen=True, slots=True)
class WantedIsr:
    """What the leader of a partition asks for, and on what it rests."""

    topic_id: bytes
    partition: int
    leader_epoch: int
    partition_epoch: int
    """That of the state that the leader changes: another change in between refuses this one."""
    isr: tuple[tuple[int, int], ...]
    """(broker id, broker epoch) of each member. An epoch of -1 is not checked, as Kafka does for old
    leaders."""


def check_broker(image: Image, broker_id: int, broker_epoch: int) -> BrokerState:
    """The broker that speaks; an earlier life of it is refused."""
    broker = image.brokers.get(broker_id)
    if broker is None or broker.broker_epoch != broker_epoch:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH, f"broker {broker_id} has no registration {broker_epoch}"
        )
    return broker


def decide_alter_partition(
    image: Image, broker_id: int, wanted: WantedIsr, rules: Rules
) -> list[MetadataRecord]:
    """The change, or the reason why not. Nothing when it is so already."""
    state = _partition(image, wanted)
    _check_leader(state, broker_id, wanted)
    _check_members(image, state, broker_id, wanted)
    isr = tuple(node for node, _ in wanted.isr)
    record = decide_change(
        wanted.topic_id, wanted.partition, state, rules, image.is_active, isr=isr, is_online=image.is_online
    )
    return [] if record is None else [record]


def _partition(image: Image, wanted: WantedIsr) -> PartitionState:
    topic = image.topic("", wanted.topic_id)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id")
    if not 0 <= wanted.partition < len(topic.partitions):
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic.name} has no partition {wanted.partition}"
        )
    return topic.partitions[wanted.partition]


def _check_leader(state: PartitionState, broker_id: int, wanted: WantedIsr) -> None:
    """Only the present leader, which knows the latest change, may ask."""
    if wanted.leader_epoch > state.leader_epoch or wanted.partition_epoch > state.partition_epoch:
        raise KafkaError(
            ErrorCode.NOT_CONTROLLER, "the leader knows of a newer change: this controller is behind"
        )
    if wanted.leader_epoch < state.leader_epoch:
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH, f"leader epoch {wanted.leader_epoch} is over")
    if state.leader != broker_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"broker {broker_id} does not lead; {state.leader} does")
    if wanted.partition_epoch < state.partition_epoch:
        raise KafkaError(
            ErrorCode.INVALID_UPDATE_VERSION, f"partition epoch {wanted.partition_epoch} is over"
        )


def _check_members(image: Image, state: PartitionState, broker_id: int, wanted: WantedIsr) -> None:
    """Replicas, active, and each in the life that caught up: an earlier one may have lost what it had
    (KIP-903). None whose directory has failed."""
    members = [node for node, _ in wanted.isr]
    strangers = [node for node in members if node not in state.replicas]
    if strangers or len(set(members)) < len(members) or broker_id not in members:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"{members} is no ISR of {list(state.replicas)} with its leader"
        )
    places = state.places
    for node, epoch in wanted.isr:
        broker = image.brokers.get(node)
        if broker is None or not broker.is_active or epoch not in (-1, broker.broker_epoch):
            raise KafkaError(
                ErrorCode.INELIGIBLE_REPLICA, f"broker {node} with epoch {epoch} may not join the ISR"
            )
        if not image.is_online(node, places[node]):
            raise KafkaError(
                ErrorCode.INELIGIBLE_REPLICA, f"the directory of the replica on broker {node} is offline"
            )
