"""What each broker of a cluster says of it, asked one by one: after a cut they do not agree.

A client library asks whichever broker it likes and may be told an old story for as long as a cut lasts; here
everybody is asked, and of each partition the highest leader epoch counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from penstock.protocol.apis import Api
from penstock.security.client_settings import ClientSettings
from penstock.testing.cluster.node import Node
from penstock.wire.connection import PLAINTEXT, Address, Connection
from penstock.wire.deadline import Deadline
from penstock.wire.errors import WireError

ANSWER_SECONDS: Final = 1.0
CALL_SECONDS: Final = 30.0


class PartitionView(NamedTuple):
    """A partition as a broker's metadata tells it; the leader is -1 when there is none."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        return self.leader >= 0 and set(self.isr) == set(self.replicas)


class View(NamedTuple):
    """One broker's answer."""

    teller: int
    brokers: frozenset[int]
    partitions: dict[int, PartitionView]


class Witnesses:
    """Connections to the brokers, kept between looks; for one thread."""

    def __init__(self, settings: ClientSettings = PLAINTEXT) -> None:
        self._settings = settings
        self._connections: dict[int, Connection] = {}

    def ask(self, nodes: Iterable[Node], topic: str | None = None) -> list[View]:
        """The answers of those who run and are not paused, and of a topic if one is named."""
        views = (self._ask(node, topic) for node in nodes if node.is_running and not node.is_paused)
        return [view for view in views if view is not None]

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def call(self, node: Node, api: Api, fields: Mapping[str, Any], *, oldest: int = 0, newest: int) -> Any:
        """One request to one broker; WireError when it does not answer."""
        deadline = Deadline(CALL_SECONDS)
        return self._connection(node, deadline).call(api, fields, deadline, oldest=oldest, newest=newest)

    def _ask(self, node: Node, topic: str | None) -> View | None:
        fields = {
            "topics": [] if topic is None else [{"name": topic, "topic_id": None}],
            "allow_auto_topic_creation": False,
            "include_cluster_authorized_operations": False,
            "include_topic_authorized_operations": False,
        }
        deadline = Deadline(ANSWER_SECONDS)
        try:
            answer = self._connection(node, deadline).call(Api.METADATA, fields, deadline, oldest=7, newest=9)
        except WireError:
            if (connection := self._connections.pop(node.number, None)) is not None:
                connection.close()
            return None
        partitions = {
            item.partition_index: _partition(item) for found in answer.topics for item in found.partitions
        }
        return View(node.number, frozenset(int(broker.node_id) for broker in answer.brokers), partitions)

    def _connection(self, node: Node, deadline: Deadline) -> Connection:
        known = self._connections.get(node.number)
        if known is None or not known.idle:
            known = Connection(Address.parse(node.address), deadline, settings=self._settings)
            self._connections[node.number] = known
        return known


def newest(views: Iterable[View]) -> dict[int, PartitionView]:
    """Of each partition the highest leader epoch; among equals what the leader itself says."""
    best: dict[int, tuple[tuple[int, bool], PartitionView]] = {}
    for view in views:
        for number, partition in view.partitions.items():
            rank = (partition.leader_epoch, partition.leader == view.teller)
            if number not in best or rank > best[number][0]:
                best[number] = (rank, partition)
    return {number: partition for number, (_, partition) in sorted(best.items())}


def _partition(item: Any) -> PartitionView:
    return PartitionView(
        int(item.leader_id), int(item.leader_epoch), tuple(item.replica_nodes), tuple(item.isr_nodes)
    )
