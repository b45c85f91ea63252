"""Who leads a partition that this broker does not, for the answer to a client that came here (KIP-951)."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.handlers.cluster_nodes import reached
from penstock.handlers.parts import ReadsMetadata
from penstock.protocol.leader_hints import CurrentLeader
from penstock.protocol.metadata import Node


def current_leader(broker: ReadsMetadata, topic: str, index: int) -> CurrentLeader | None:
    """As the metadata says; None when nobody leads it, or this broker is about to."""
    state = broker.controller.image.topics.get(topic)
    if state is None or not 0 <= index < len(state.partitions):
        return None
    partition = state.partitions[index]
    if partition.leader < 0 or partition.leader == broker.settings.node_id:
        return None
    return CurrentLeader(partition.leader, partition.leader_epoch)


def leaders_reached(
    broker: ReadsMetadata, listener: str, leaders: Iterable[CurrentLeader | None]
) -> list[Node]:
    """How clients of this listener reach them."""
    brokers = broker.controller.image.brokers
    ids = sorted({leader.leader_id for leader in leaders if leader is not None})
    found = [reached(brokers[node_id], listener) for node_id in ids if node_id in brokers]
    return [node for node in found if node is not None]
