"""The real broker on a simulated disk and network: it can be killed, lose power and start again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from penstock.handlers.reply import HangUp, NoReply, Reply, Wait
from penstock.protocol.metadata import Node as Endpoint
from penstock.server.connections.plain import PureConversation
from penstock.server.connections.session import Session
from penstock.server.node import Node
from penstock.settings import BrokerSettings
from penstock.testing.disk import SimDisk
from penstock.testing.simulation.world import World

LISTENER: Final = "PLAINTEXT"
TICK_MS: Final = 1000
DRIVE_MS: Final = 250
"""How often coordinators load shards and run timers: here they have no threads."""

Deliver = Callable[[bytes], None]


class SimulatedBroker:
    """One node. While it is down, connections break and nobody can connect."""

    def __init__(self, world: World, settings: BrokerSettings) -> None:
        self._world = world
        self._settings = settings
        self.disk = SimDisk(world.random)
        self.node: Node | None = None
        self._connections: list[ServerConnection] = []
        self._life = 0

    def start(self) -> None:
        endpoints = {LISTENER: Endpoint(self._settings.node_id, "broker", 9092)}
        self.node = Node(self._settings, self.disk, self._world, self._world.random, endpoints)
        self._life += 1
        self._tick(self._life)
        self._drive(self._life)

    def kill(self) -> None:
        """The process dies; what was written to files stays, synced or not."""
        self._stop()
        self.disk.kill()

    def cut_power(self) -> None:
        """The machine dies; what was not synced may be gone or torn."""
        self._stop()
        self.disk.crash()

    def shut_down(self) -> None:
        """A clean stop."""
        if self.node is not None:
            self.node.close()
        self._stop()

    def connect(self, deliver: Deliver, lost: Callable[[], None]) -> ServerConnection | None:
        """The broker's end of a new connection; None when nobody listens."""
        if self.node is None:
            return None
        broker = self.node.broker
        session = Session(broker, LISTENER, "client", plain=PureConversation(broker))
        connection = ServerConnection(self._world, session, deliver, lost)
        self._connections.append(connection)
        return connection

    def _stop(self) -> None:
        self.node = None
        connections, self._connections = self._connections, []
        for connection in connections:
            connection.close()

    def _tick(self, life: int) -> None:
        if self.node is not None and life == self._life:
            self.node.tick()
            self._world.after(TICK_MS, lambda: self._tick(life))

    def _drive(self, life: int) -> None:
        if self.node is None or life != self._life:
            return
        broker = self.node.broker
        for runtime in (coordinator.runtime for coordinator in broker.coordinators.values()):
            while runtime.load_next():
                pass
            runtime.advance(self._world.monotonic())
        self._world.after(DRIVE_MS, lambda: self._drive(life))


class Timeline(Protocol):
    """The time in which a connection is served: the world's, or that of a process."""

    def after(self, delay_ms: float, action: Callable[[], None]) -> None: ...

    def monotonic(self) -> float: ...


class ServerConnection:
    """What a connection's thread does, as events: one request at a time, waiting without blocking."""

    def __init__(self, world: Timeline, session: Session, deliver: Deliver, lost: Callable[[], None]) -> None:
        self._world = world
        self._session = session
        self._deliver = deliver
        self._lost = lost
        self._frames: deque[bytes] = deque()
        self._header = b""
        self._waiting: Wait | None = None
        self._open = True

    def receive(self, frame: bytes) -> None:
        """A frame has arrived from the network."""
        self._frames.append(frame)
        if self._waiting is None and len(self._frames) == 1:
            self._serve()

    def wake(self) -> None:
        """A watched partition has changed. The waiting request goes on in an event of its own, as a thread
        would."""
        waiting = self._waiting
        if waiting is not None:
            self._world.after(0, lambda: self._resume(waiting, expired=False))

    def close(self) -> None:
        self._open = False
        self._unwatch()
        self._lost()

    def _serve(self) -> None:
        while self._open and self._frames and self._waiting is None:
            try:
                self._header, outcome, *_ = self._session.handle(memoryview(bytearray(self._frames[0])))
            except HangUp:
                self.close()
                return
            if isinstance(outcome, NoReply):
                self._frames.popleft()
            else:
                self._settle(outcome)

    def _settle(self, outcome: Reply | Wait) -> None:
        if isinstance(outcome, Wait):
            self._waiting = outcome
            for watched in outcome.watched:
                watched.watch(self)
            delay_ms = (outcome.deadline - self._world.monotonic()) * 1000
            self._world.after(delay_ms, lambda: self._resume(outcome, expired=True))
            return
        self._frames.popleft()
        body = b"".join(part if isinstance(part, bytes) else part.read() for part in outcome.parts)
        self._deliver(self._header + body)

    def _resume(self, waiting: Wait, *, expired: bool) -> None:
        if not self._open or self._waiting is not waiting:
            return
        self._unwatch()
        self._waiting = None
        try:
            self._settle(waiting.resume(expired))
        except HangUp:
            self.close()
            return
        self._serve()

    def _unwatch(self) -> None:
        if self._waiting is not None:
            for watched in self._waiting.watched:
                watched.unwatch(self)
