"""The network of a simulated quorum: messages are lost, late, repeated and overtaken, and cuts go one way or
both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.raft.messages import Request, Response
from penstock.testing.simulation.world import World

LOST: Final = 0.02
REPEATED: Final = 0.02
USUAL_MS: Final = (2.0, 5.0, 40.0)
LATE: Final = 0.02
LATE_MS: Final = 600.0


class QuorumNetwork:
    """Carries messages among nodes; `faulty` turns loss and lateness off for the end of a run."""

    def __init__(self, world: World, deliver: Callable[[Request | Response], None]) -> None:
        self._world = world
        self._deliver = deliver
        self.faulty = True
        # Where answers take as long as timeouts, several stand for election at once.
        self._usual_ms = world.random.choice(USUAL_MS)
        self._cut: set[tuple[int, int]] = set()

    def send(self, message: Request | Response) -> None:
        random = self._world.random
        copies = 1
        if self.faulty:
            copies = 0 if random.random() < LOST else 2 if random.random() < REPEATED else 1
        for _ in range(copies):
            delay = random.expovariate(1 / (self._usual_ms if self.faulty else USUAL_MS[0]))
            if self.faulty and random.random() < LATE:
                delay += random.uniform(0, LATE_MS)
            self._world.after(delay, lambda: self._arrive(message))

    def cut(self, source: int, destination: int) -> None:
        """Nothing gets from one to the other any more; the way back stays."""
        self._cut.add((source, destination))

    def split(self, nodes: list[int], others: list[int]) -> None:
        """Neither side hears the other."""
        for node in nodes:
            for other in others:
                self._cut |= {(node, other), (other, node)}

    def heal(self) -> None:
        self._cut.clear()

    def _arrive(self, message: Request | Response) -> None:
        if (message.source, message.destination) not in self._cut:
            self._deliver(message)
