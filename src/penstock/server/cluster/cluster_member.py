"""What a node among others has that one alone has not: the way to the controller, the quorum's threads, and
the broker's life. Put together here, started and stopped by `server.main`."""

from __future__ import annotations

from collections.abc import Callable

from penstock.clock import Clock
from penstock.controller.channel import ControllerChannel
from penstock.controller.controller import Controller
from penstock.server.cluster.controller_channel import SocketChannel
from penstock.server.cluster.isr_changes import IsrThread
from penstock.server.cluster.life_thread import LifeThread
from penstock.server.cluster.node_security import to_controllers
from penstock.server.cluster.quorum_driver import QuorumDriver
from penstock.server.cluster.quorum_peers import QuorumPeers
from penstock.server.node import Node
from penstock.settings import BrokerSettings
from penstock.storage.errors import StorageError
from penstock.wire.connection import Address


class ClusterMember:
    """The order is: `channel_to` while the node is built, `start`, `leave`, `close`."""

    def __init__(self, settings: BrokerSettings, clock: Clock, on_failure: Callable[[], None]) -> None:
        """`on_failure` is called when this node can do nothing more; `failure` says why."""
        self._settings = settings
        self._on_failure = on_failure
        self._clock = clock
        self._security = to_controllers(settings)
        self._voters = {node: Address(*address) for node, address in settings.voters.items()}
        self._channel: SocketChannel | None = None
        self._driver: QuorumDriver | None = None
        self._life: LifeThread | None = None
        self._isrs: IsrThread | None = None

    def channel_to(self, controller: Controller) -> ControllerChannel:
        timeout_ms = self._settings.request_timeout_ms
        self._channel = SocketChannel(controller, self._voters, self._clock, timeout_ms, self._security)
        return self._channel

    def start(self, node: Node, on_serving: Callable[[], None]) -> None:
        """`on_serving` is called when the controller has unfenced this broker, and it knows of that."""
        assert self._channel is not None, "the node is built first"
        broker = node.broker
        peers = QuorumPeers(
            self._voters,
            broker.cluster_id,
            self._clock,
            self._settings.controller_quorum_request_timeout_ms,
            broker.controller.step,
            self._security,
        )
        self._driver = QuorumDriver(
            broker.controller, broker.membership, peers, self._clock, self._on_failure
        )
        self._driver.start()
        self._channel.start()
        if "broker" in self._settings.process_roles:
            self._isrs = IsrThread(
                node.isr_changes,
                broker.partitions,
                self._channel,
                lambda: broker.settings.replica_lag_time_max_ms / 1000,
            )
            self._isrs.start()
            self._life = LifeThread(node.life(), broker, on_serving, peers.heard)
            node.on_disk_failure(self._life.wake)
            self._life.start()

    def wait_until_it_serves(self, seconds: float) -> bool:
        """KafkaError when the controller did not take this broker in time."""
        if self._life is None:
            return True
        serves = self._life.serves.wait(seconds)
        if self._life.failure is not None:
            raise self._life.failure
        return serves

    @property
    def failure(self) -> StorageError | None:
        return None if self._driver is None else self._driver.failure

    def leave(self) -> None:
        """The controlled shutdown, while everything still serves."""
        if self._life is not None:
            self._life.leave()

    def close(self) -> None:
        if self._isrs is not None:
            self._isrs.close()
        if self._driver is not None:
            self._driver.close()
        if self._channel is not None:
            self._channel.close()
