"""Where clients and brokers find the brokers of the cluster, as the metadata has it."""

from __future__ import annotations

from typing import NamedTuple

from penstock.controller.image import BrokerState, PartitionState
from penstock.controller.metadata_records import NO_LEADER
from penstock.handlers.parts import MetadataParts, ReadsMetadata
from penstock.protocol.errors import ErrorCode
from penstock.protocol.metadata import Node


def nodes(broker: ReadsMetadata, listener: str) -> list[Node]:
    """The brokers that serve, as clients of this listener reach them."""
    found = [
        reached(state, listener) for state in broker.controller.image.brokers.values() if not state.fenced
    ]
    return [node for node in found if node is not None]


def reached(state: BrokerState, listener: str) -> Node | None:
    """How this broker is reached through a listener; None when it has none of that name."""
    for endpoint in state.endpoints:
        if endpoint.name == listener:
            return Node(state.broker_id, endpoint.host, endpoint.port, state.rack)
    return None


def controller_listeners(broker: ReadsMetadata) -> frozenset[str]:
    """Names of the listeners that nodes use among themselves."""
    return frozenset(name.upper() for name in broker.settings.controller_listener_names)


def controller_node(broker: ReadsMetadata) -> int:
    """The broker to which clients bring what the controller decides: the active controller, when it is a
    broker that serves; otherwise this one, which brings it on."""
    active = broker.controller.active_id
    state = None if active is None else broker.controller.image.brokers.get(active)
    return broker.settings.node_id if state is None or state.fenced else state.broker_id


class Seen(NamedTuple):
    """A partition's leader as a client is told, or why there is none, and which replicas are not there."""

    error: ErrorCode
    leader: int
    offline: tuple[int, ...]


class ClusterView:
    """Partitions as clients of one listener see them at one moment."""

    def __init__(self, broker: MetadataParts, listener: str) -> None:
        self._node_id = broker.settings.node_id
        self._partitions = broker.partitions
        self._image = broker.controller.image
        self._reachable = frozenset(node.node_id for node in nodes(broker, listener))

    def partition(self, topic: str, index: int, state: PartitionState) -> Seen:
        offline = tuple(node for node, place in state.places.items() if not self._is_there(node, place))
        if self._node_id not in offline and self._partitions.is_offline(topic, index):
            offline += (self._node_id,)  # its disk has failed, and the controller does not know yet
        if state.leader >= 0 and state.leader not in offline:
            return Seen(ErrorCode.NONE, state.leader, offline)
        return Seen(ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER, offline)

    def _is_there(self, node: int, place: bytes) -> bool:
        return node in self._reachable and self._image.is_online(node, place)
