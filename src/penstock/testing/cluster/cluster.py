"""Nodes of one cluster, started together, and what a client sees of them."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Final, Self

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from penstock.client.secured import library_settings
from penstock.protocol.apis import Api
from penstock.security.client_settings import ClientSettings
from penstock.testing.cluster.network import Network
from penstock.testing.cluster.node import Node
from penstock.testing.cluster.software import Penstock, Software
from penstock.testing.cluster.views import PartitionView, View, Witnesses, newest
from penstock.wire.errors import WireError

READY_SECONDS: Final = 90.0
POLL_SECONDS: Final = 0.05
CLUSTER_ID: Final = "Pe-nStoCk0000000000aaA"
METADATA_TOPIC: Final = "__cluster_metadata"
FIRST_CONTROLLER: Final = 101
CLIENT_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
PORTS_BELOW_EPHEMERAL: Final = range(12_000, 32_000)
"""A node that is down must find its port free when it comes back: no outgoing connection is given one of
these."""


class Cluster:
    """`with Cluster(directory) as cluster:` gives three nodes, each broker and controller, ready for clients.

    With `controllers` that many nodes of their own keep the metadata, numbered from 101. Brokers are numbered
    from 1. `settings` takes Kafka's names and goes to every node.
    """

    def __init__(
        self,
        directory: Path,
        software: Software | None = None,
        *,
        brokers: int = 3,
        controllers: int = 0,
        settings: Mapping[str, str] | None = None,
        network: Network | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """`properties` are Kafka's, with which the harness itself reaches the nodes."""
        self.software = software or Penstock()
        self._directory = directory
        self._network = network
        self._settings = dict(settings or {})
        self._copies = min(brokers, 3)
        self._ports = Random()
        self._admin: AdminClient | None = None  # kept: one that is dropped forgets what it was asked
        self.client_properties = dict(properties or {})
        self.client_settings = ClientSettings.from_properties(self.client_properties)
        self._witnesses = Witnesses(self.client_settings)
        numbers = range(1, brokers + 1)
        voters = range(FIRST_CONTROLLER, FIRST_CONTROLLER + controllers) if controllers else numbers
        self._voters = {number: self._new_address(number, CONTROLLER_PORT) for number in voters}
        self.brokers: dict[int, Node] = {}
        self.controllers: dict[int, Node] = {}
        """Nodes that do nothing else; empty when every broker is a voter, too."""
        for number in numbers:
            self.add_broker(number)
        for number in voters if controllers else ():
            self.controllers[number] = self._node(number, "controller", self._voters[number])

    @property
    def nodes(self) -> list[Node]:
        return [*self.controllers.values(), *self.brokers.values()]

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(node.address for node in self.brokers.values())

    @property
    def admin(self) -> AdminClient:
        """A new one each time: librdkafka's now and then waits for ever after its brokers were killed."""
        servers = ",".join(node.address for node in self.brokers.values())
        secured = library_settings(self.client_properties)
        self._admin = AdminClient({"bootstrap.servers": servers, "log_level": 0, **secured})
        return self._admin

    def add_broker(self, number: int) -> Node:
        """One more broker, not started yet; it is a voter only if it is one of the first."""
        roles = "broker,controller" if number in self._voters else "broker"
        node = self._node(number, roles, self._new_address(number, CLIENT_PORT))
        self.brokers = {**self.brokers, number: node}  # another one: threads look at the brokers meanwhile
        return node

    def forget_broker(self, number: int) -> None:
        """One that was stopped for good."""
        self.brokers = {known: node for known, node in self.brokers.items() if known != number}

    def start(self) -> Self:
        for node in self.nodes:
            node.start()
        self.wait_for_brokers(self.brokers)
        return self

    def revive(self) -> None:
        """Whoever is down comes back, for a cluster that several tests share."""
        for node in self.nodes:
            if not node.is_running:
                node.start()
        self.wait_for_brokers(self.brokers)

    def stop(self) -> None:
        """Kill whatever runs: whoever wants a controlled shutdown asks the nodes for it."""
        self._witnesses.close()
        for node in self.nodes:
            node.kill()

    def create_topic(
        self, name: str, partitions: int = 1, *, copies: int | None = None, **settings: str
    ) -> None:
        """Returns when every partition has a leader and all copies are in sync; settings are written with
        underscores."""
        config = {key.replace("_", "."): value for key, value in settings.items()}
        topic = NewTopic(name, partitions, copies or self._copies, config=config)
        self.admin.create_topics([topic], operation_timeout=30)[name].result(60)
        self.wait_in_sync(name)

    def views(self, topic: str | None = None) -> list[View]:
        """What each broker says that answers; for one thread at a time."""
        return self._witnesses.ask(self.brokers.values(), topic)

    def partitions(self, topic: str) -> dict[int, PartitionView]:
        """What the brokers know of a topic, the newest of each partition."""
        return newest(self.views(topic))

    def leader_of(self, topic: str, partition: int = 0) -> int:
        """Who leads it now; waits for somebody to."""
        found: list[int] = []

        def is_led() -> bool:
            view = self.partitions(topic).get(partition)
            if view is not None and view.leader >= 0:
                found.append(view.leader)
            return bool(found)

        self.wait_until(is_led, f"a leader of {topic}-{partition}")
        return found[-1]

    def active_controller(self) -> int:
        """Who decides about the metadata now; waits for somebody to (DescribeQuorum)."""
        asked = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]}
        found: list[int] = []

        def is_known() -> bool:
            for node in self.brokers.values():
                if node.is_running and not node.is_paused:
                    with suppress(WireError):
                        answer = self._witnesses.call(node, Api.DESCRIBE_QUORUM, asked, newest=1)
                        found.extend(
                            part.leader_id for topic in answer.topics for part in topic.partitions
                            if not part.error_code and part.leader_id >= 0
                        )  # fmt: skip
                    break
            return bool(found)

        self.wait_until(is_known, "an active controller")
        return found[-1]

    def is_in_sync(self, topic: str) -> bool:
        """Whether every broker that runs says that all replicas of every partition are in sync: one alone may
        tell what was true before a fault."""
        running = sum(node.is_running for node in self.brokers.values())
        told = [view.partitions.values() for view in self.views(topic)]
        return len(told) == running > 0 and all(
            partitions and all(view.is_whole for view in partitions) for partitions in told
        )

    def wait_in_sync(self, topic: str, seconds: float = READY_SECONDS) -> None:
        self.wait_until(lambda: self.is_in_sync(topic), f"all replicas of {topic} in sync", seconds)

    def wait_for_brokers(self, numbers: Iterable[int], seconds: float = READY_SECONDS) -> None:
        """Until each of these brokers answers, and knows these and no others."""
        wanted = frozenset(numbers)

        def all_agree() -> bool:
            ended = [node.number for node in self.nodes if node.has_ended]
            assert not ended, f"nodes {ended} ended by themselves.\n{self._told()}"
            told = {view.teller: view.brokers for view in self.views()}
            return all(told.get(number) == wanted for number in wanted)

        self.wait_until(all_agree, f"brokers {sorted(wanted)}", seconds)

    def reassign(self, topic: str, replicas: Mapping[int, Sequence[int]]) -> None:
        """Ask for these replicas of each partition; they move in the background."""
        asked = [{"partition_index": number, "replicas": list(on)} for number, on in replicas.items()]
        fields = {
            "timeout_ms": 30_000,
            "allow_replication_factor_change": True,
            "topics": [{"name": topic, "partitions": asked}],
        }
        teller = next(node for node in self.brokers.values() if node.is_running)
        answer = self._witnesses.call(teller, Api.ALTER_PARTITION_REASSIGNMENTS, fields, newest=1)
        refused = [item for found in answer.responses for item in found.partitions if item.error_code]
        assert not answer.error_code, f"the reassignment of {topic} was refused: {answer}"
        assert not refused, f"the reassignment of {topic} was refused: {refused}"

    def wait_reassigned(
        self, topic: str, replicas: Mapping[int, Sequence[int]], seconds: float = READY_SECONDS
    ) -> None:
        """Until each of these partitions has these replicas and no others, all in sync."""

        def is_moved() -> bool:
            found = self.partitions(topic)
            return all(
                number in found and found[number].is_whole and set(found[number].replicas) == set(wanted)
                for number, wanted in replicas.items()
            )

        self.wait_until(is_moved, f"replicas of {topic} on {dict(replicas)}", seconds)

    def wait_until(self, condition: Callable[[], bool], what: str, seconds: float = READY_SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {seconds:g} s for {what}.\n{self._told()}")
            time.sleep(POLL_SECONDS)

    def _told(self) -> str:
        return "\n".join(f"--- node {node.number}: {node.log_tail()}" for node in self.nodes)

    def _new_address(self, number: int, port: int) -> str:
        if self._network is not None:
            return f"{self._network.add(number)}:{port}"
        return f"127.0.0.1:{_free_port(self._ports)}"

    def _node(self, number: int, roles: str, address: str) -> Node:
        home = self._directory / f"node-{number}"
        return Node(
            number,
            self.software,
            home,
            address=address,
            properties={**self._properties(number, roles, address, home / "data"), **self._settings},
            prefix=() if self._network is None else self._network.prefix(number),
        )

    def _properties(self, number: int, roles: str, address: str, data: Path) -> dict[str, str]:
        """A properties file for either software."""
        copies, in_sync = str(self._copies), str(max(1, self._copies - 1))
        client = f"PLAINTEXT://{address}" if "broker" in roles else ""
        control = f"CONTROLLER://{self._voters[number]}" if "controller" in roles else ""
        properties = {
            "process.roles": roles,
            "node.id": str(number),
            "cluster.id": CLUSTER_ID,
            "controller.quorum.voters": ",".join(f"{voter}@{at}" for voter, at in self._voters.items()),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "listeners": ",".join(filter(None, (client, control))),
            "log.dirs": str(data),
            "default.replication.factor": copies,
            "min.insync.replicas": in_sync,
            "offsets.topic.replication.factor": copies,
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": in_sync,
            "transaction.state.log.num.partitions": "4",
            "group.initial.rebalance.delay.ms": "0",
        }
        if client:
            properties["advertised.listeners"] = client
        return properties

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _free_port(random: Random) -> int:
    while True:
        port = random.choice(PORTS_BELOW_EPHEMERAL)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
