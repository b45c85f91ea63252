"""One machine of a simulated cluster: a disk, a clock of its own, and a process on it that can be killed,
stopped (as SIGSTOP does) and started again. What runs in the process stands in `node.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.server.connections.session import Session
from penstock.testing.disk import SimDisk
from penstock.testing.simulation.broker import ServerConnection
from penstock.testing.simulation.machine_clock import MachineClock
from penstock.testing.simulation.world import World

MAX_SKEW_MS: Final = 3_000_000.0

Action = Callable[[], None]


class Process:
    """One life. Everything that happens in it goes through `enter`: nothing does while it is stopped, and
    nothing any more when it is dead."""

    def __init__(self, world: World, clock: MachineClock) -> None:
        self._world = world
        self._clock = clock
        self._backlog: list[Action] | None = None
        self._dead = False
        self.touched = True
        """Whether something has happened in it since somebody looked."""
        self._connections: list[ProcessEnd] = []

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def after(self, delay_ms: float, action: Action) -> None:
        """By the machine's own clock."""
        self._world.after(max(0.0, delay_ms) / self._clock.rate, lambda: self.enter(action))

    def enter(self, action: Action) -> None:
        if self._dead:
            return
        if self._backlog is not None:
            self._backlog.append(action)
        else:
            self.touched = True
            action()

    def stop(self) -> None:
        if self._backlog is None:
            self._backlog = []

    def go_on(self) -> None:
        if self._backlog is not None:
            backlog, self._backlog = self._backlog, None
            for action in backlog:
                self.after(0, action)

    def die(self) -> None:
        self._dead = True
        connections, self._connections = self._connections, []
        for connection in connections:
            connection.die()

    def accept(self, session: Session, deliver: Callable[[bytes], None], lost: Action) -> ProcessEnd:
        end = ProcessEnd(self, session, deliver, lost)
        self._connections.append(end)
        return end

    def forget(self, end: ProcessEnd) -> None:
        if end in self._connections:
            self._connections.remove(end)


class ProcessEnd:
    """The server's end of a connection: the system takes what arrives, the process when it can."""

    def __init__(
        self, process: Process, session: Session, deliver: Callable[[bytes], None], lost: Action
    ) -> None:
        self._process = process
        self._lost = lost
        self._connection = ServerConnection(process, session, deliver, self._closed)

    def receive(self, frame: bytes) -> None:
        self._process.enter(lambda: self._connection.receive(frame))

    def hang_up(self) -> None:
        """The client is gone."""
        self._process.enter(self._connection.close)

    def die(self) -> None:
        self._connection.close()

    def _closed(self) -> None:
        self._process.forget(self)
        self._lost()


class Machine:
    """Survives its processes."""

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.disk = SimDisk(world.random)
        self.clock = MachineClock(world, MAX_SKEW_MS)
        self.has_power = True
        self.process: Process | None = None
        self._world = world

    def begin(self) -> Process:
        assert self.process is None, f"{self.name} runs already"
        self.has_power = True
        self.process = Process(self._world, self.clock)
        return self.process

    def kill(self) -> None:
        """The process dies; what it wrote stays, and the system tells all who are connected."""
        self._end()
        self.disk.kill()

    def cut_power(self) -> None:
        """What was not synced may be gone or torn, and nobody is told."""
        self.has_power = False
        self._end()
        self.disk.crash()

    def _end(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.die()
