"""One node of a simulated cluster: the real `server.node:Node` in a simulated process, with events where the
real one has threads and links where it has sockets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from penstock.controller.controller import Controller
from penstock.handlers.broker import Broker
from penstock.protocol.metadata import Node as Endpoint
from penstock.replication.partition import Partition as Served
from penstock.server.connections.plain import PureConversation
from penstock.server.connections.session import Session
from penstock.server.node import Node
from penstock.testing.history.events import Partition
from penstock.testing.simulation.cluster.controllers import SimulatedChannel, SimulatedLife, SimulatedQuorum
from penstock.testing.simulation.cluster.links import Hosts, Link, ServerEnd
from penstock.testing.simulation.cluster.peers import SimulatedPeers
from penstock.testing.simulation.cluster.plan import (
    CLIENT_PORT,
    CLUSTER_ID,
    CONTROLLER_PORT,
    ClusterPlan,
    host_of,
)
from penstock.testing.simulation.cluster.process import Machine, Process
from penstock.testing.simulation.cluster.replicas import SimulatedFetchers, SimulatedIsr
from penstock.testing.simulation.world import World

LISTENERS: Final = {CLIENT_PORT: "PLAINTEXT", CONTROLLER_PORT: "CONTROLLER"}
TICK_MS: Final = 1000.0
DRIVE_MS: Final = 250.0


class ClusterNode:
    """A machine, and what runs on it. While it is down, nobody can connect."""

    def __init__(self, world: World, hosts: Hosts, plan: ClusterPlan, node_id: int) -> None:
        self.node_id = node_id
        self.name = host_of(node_id)
        self._world = world
        self._hosts = hosts
        self._plan = plan
        self._settings = plan.settings(node_id)
        self._machine = Machine(world, self.name)
        self._running: _Running | None = None

    # Life and death

    @property
    def is_up(self) -> bool:
        return self._machine.process is not None

    @property
    def has_power(self) -> bool:
        return self._machine.has_power

    def start(self) -> None:
        process = self._machine.begin()
        self._running = _Running(process, self._machine, self._hosts, self._plan, self.node_id, self._world)

    def kill(self) -> None:
        self._running = None
        self._machine.kill()

    def cut_power(self) -> None:
        self._running = None
        self._machine.cut_power()

    def shut_down(self, stopped: Callable[[], None]) -> None:
        """A clean stop, which takes its time; `stopped` is told, unless something else ends it first."""
        running = self._running
        if running is None:
            return

        def over() -> None:
            if self._running is running:
                running.node.close()
                self.kill()
                stopped()

        running.process.enter(lambda: running.leave(over))

    def pause(self) -> None:
        if self._machine.process is not None:
            self._machine.process.stop()

    def go_on(self) -> None:
        if self._machine.process is not None:
            self._machine.process.go_on()

    # What others see

    @property
    def broker(self) -> Broker | None:
        return None if self._running is None else self._running.node.broker

    def accept(
        self, port: int, deliver: Callable[[bytes], None], lost: Callable[[], None]
    ) -> ServerEnd | None:
        if self._running is None or (port == CLIENT_PORT and not self._running.serves):
            return None
        broker = self._running.node.broker
        session = Session(broker, LISTENERS[port], "127.0.0.1", plain=PureConversation(broker))
        return self._running.process.accept(session, deliver, lost)

    @property
    def has_registered(self) -> bool:
        """In its present life, and the image that it follows says so."""
        broker = self.broker
        state = None if broker is None else broker.controller.image.brokers.get(self.node_id)
        return broker is not None and state is not None and state.broker_epoch == broker.broker_epoch

    def take_touched(self) -> bool:
        """Whether something has happened here since this was last asked."""
        if self._running is None or not self._running.process.touched:
            return False
        self._running.process.touched = False
        return True

    @property
    def leads_something(self) -> bool:
        return self._running is not None and any(
            partition.leads for partition in self._running.node.broker.partitions
        )

    def replica(self, place: Partition) -> Served | None:
        if self._running is None:
            return None
        return self._running.node.broker.partitions.find(place.topic, place.number)

    def situation(self, places: Iterable[Partition]) -> str:
        if self._running is None:
            return f"node {self.node_id} is down"
        broker = self._running.node.broker
        image, controller = broker.controller.image, broker.controller
        active = sorted(node for node, state in image.brokers.items() if state.is_active)
        told = [
            f"node {self.node_id}, epoch {broker.broker_epoch}: image {controller.last_offset}, controller "
            f"{controller.active_id}, active {active}"
        ]
        for topic in {place.topic for place in places} & image.topics.keys():
            told += [str(state) for state in image.topics[topic].partitions]
        told += [
            f"{partition} leads={partition.leads} epoch={partition.leader_epoch} "
            f"high={partition.high_watermark} end={partition.log.log_end_offset}"
            for partition in broker.partitions
        ]
        return "\n  ".join(told)


class _Running:
    """One life of a node."""

    def __init__(
        self,
        process: Process,
        machine: Machine,
        hosts: Hosts,
        plan: ClusterPlan,
        node_id: int,
        world: World,
    ) -> None:
        self.process = process
        self._hosts = hosts
        self._source = machine.name
        voters = {voter: self._link(host_of(voter), CONTROLLER_PORT) for voter in plan.controller_ids}
        quorum_links = {voter: self._link(host_of(voter), CONTROLLER_PORT) for voter in plan.controller_ids}

        def channel_to(controller: Controller) -> SimulatedChannel:
            return SimulatedChannel(process, voters, controller)

        self.node = Node(
            plan.settings(node_id),
            machine.disk,
            machine.clock,
            world.random,
            {"PLAINTEXT": Endpoint(node_id, machine.name, CLIENT_PORT)},
            channel_to,
            lambda replicas: SimulatedFetchers(process, replicas, self._link),
            peers_of=lambda address_of: SimulatedPeers(self._link, address_of),
        )
        broker = self.node.broker
        SimulatedQuorum(process, broker.controller, broker.membership, quorum_links, CLUSTER_ID)
        self._life: SimulatedLife | None = None
        if node_id in plan.broker_ids:
            lag_ms = float(broker.settings.replica_lag_time_max_ms)
            SimulatedIsr(process, self.node.isr_changes, broker.partitions, broker.channel, lag_ms)
            self._life = SimulatedLife(process, self.node.life(), broker.channel)
            self._drive()
        self._tick()

    @property
    def serves(self) -> bool:
        """Whether clients may come."""
        return self._life is not None and self._life.serves

    def leave(self, left: Callable[[], None]) -> None:
        if self._life is None:
            left()
        else:
            self._life.leave(left)

    def _link(self, host: str, port: int) -> Link:
        return Link(self.process, self._hosts, self._source, host, port)

    def _tick(self) -> None:
        self.node.tick()
        self.process.after(TICK_MS, self._tick)

    def _drive(self) -> None:
        """Coordinators load shards and run timers: here they have no threads."""
        broker = self.node.broker
        for runtime in (coordinator.runtime for coordinator in broker.coordinators.values()):
            while runtime.load_next():
                pass
            runtime.advance(self.process.monotonic())
        self.process.after(DRIVE_MS, self._drive)
