"""What simulated clients know of a cluster: where the brokers are and who leads, learnt by Metadata requests
and never forgotten for something older, as real clients do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.testing.history.events import Partition
from penstock.testing.simulation.cluster.links import Hosts, Link
from penstock.testing.simulation.world import World

Address = tuple[str, int]

METADATA_VERSION: Final = 12
BACKOFF_MS: Final = 60.0


class ClientTimers:
    """Clients neither stop nor die: their time is the world's."""

    def __init__(self, world: World) -> None:
        self.after = world.after
        self.monotonic = world.monotonic

    def enter(self, action: Callable[[], None]) -> None:
        action()


class ClusterClient:
    """Connections of one client to all brokers, and the leader of the one partition that it cares for."""

    def __init__(
        self, world: World, hosts: Hosts, name: str, bootstrap: Mapping[int, Address], partition: Partition
    ) -> None:
        self.name = name
        self.partition = partition
        self.leader: int | None = None
        self.leader_epoch = -1
        self._world = world
        self._hosts = hosts
        self._timers = ClientTimers(world)
        self._addresses = dict(bootstrap)
        self._links: dict[int, Link] = {}

    @property
    def random(self) -> Random:
        return self._world.random

    def now_ms(self) -> int:
        return self._world.now_ms()

    def later(self, action: Callable[[], None], most_ms: float = BACKOFF_MS) -> None:
        self._world.after(self.random.uniform(0, most_ms), action)

    def link(self, broker: int) -> Link:
        if broker not in self._links:
            host, port = self._addresses[broker]
            self._links[broker] = Link(self._timers, self._hosts, self.name, host, port)
        return self._links[broker]

    def anybody(self) -> Link:
        return self.link(self.random.choice(sorted(self._addresses)))

    def cut(self) -> None:
        """Break one of the connections."""
        if self._links:
            self._links[self.random.choice(sorted(self._links))].cut()

    def refresh(self, then: Callable[[], None]) -> None:
        """Ask somebody who leads; `then` comes in any case, after a pause when it is not known."""
        fields = {
            "topics": [{"topic_id": None, "name": self.partition.topic}],
            "allow_auto_topic_creation": False,
            "include_topic_authorized_operations": False,
        }

        def answered(response: Any) -> None:
            self._learn(response)
            if self.leader is None:
                self.later(then)
            else:
                then()

        self.leader = None
        self.anybody().call(Api.METADATA, METADATA_VERSION, fields, answered, lambda: self.later(then))

    def _learn(self, response: Any) -> None:
        for broker in response.brokers:
            self._addresses[int(broker.node_id)] = (broker.host, int(broker.port))
        for topic in response.topics:
            if ErrorCode(int(topic.error_code)) is not ErrorCode.NONE:
                continue
            for found in topic.partitions:
                if found.partition_index != self.partition.number or found.leader_epoch < self.leader_epoch:
                    continue
                leader = int(found.leader_id)
                self.leader_epoch = found.leader_epoch
                self.leader = leader if leader in self._addresses else None
