"""The network of a simulated cluster. A connection is two ways; on each, what is sent arrives in order and
after a while. A way that is cut holds everything back, as TCP does, and gives it when it is healed: what was
sent long ago then arrives late, at somebody who may live another life by then.

Knows nothing of what is carried: `links.py` does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from penstock.testing.simulation.world import World

USUAL_MS: Final = (1.0, 3.0, 15.0)
LATE: Final = 0.01
LATE_MS: Final = 400.0

Action = Callable[[], None]


class Network:
    """Who hears whom. Hosts have names; `faulty` turns lateness off for the end of a run."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.faulty = True
        self._usual_ms = world.random.choice(USUAL_MS)
        self._cut: set[tuple[str, str]] = set()
        self._held: dict[Way, None] = {}

    def way(self, source: str, destination: str) -> Way:
        return Way(self, self._world, source, destination)

    def cut(self, source: str, destination: str) -> None:
        """Nothing gets from one to the other any more; the way back stays."""
        self._cut.add((source, destination))

    def split(self, hosts: Iterable[str], others: Iterable[str]) -> None:
        """Neither side hears the other."""
        others = list(others)
        for host in hosts:
            for other in others:
                self._cut |= {(host, other), (other, host)}

    def heal(self) -> None:
        self._cut.clear()
        held, self._held = self._held, {}
        for way in held:
            way.go_on()

    def is_cut(self, source: str, destination: str) -> bool:
        return (source, destination) in self._cut

    def hold(self, way: Way) -> None:
        self._held[way] = None

    def delay_ms(self) -> float:
        random = self._world.random
        if not self.faulty:
            return random.expovariate(1 / USUAL_MS[0])
        late = random.uniform(0, LATE_MS) if random.random() < LATE else 0.0
        return random.expovariate(1 / self._usual_ms) + late


class Way:
    """One direction of one connection: what is sent arrives in order, whatever happens between."""

    def __init__(self, network: Network, world: World, source: str, destination: str) -> None:
        self._network = network
        self._world = world
        self._ends = (source, destination)
        self._arrival_ms = 0.0
        self._sent: deque[Action] = deque()  # for each, an arrival is due or was held back
        self._held = 0  # of the oldest: how many have arrived at a cut

    def send(self, arrive: Action) -> None:
        self._sent.append(arrive)
        self._travel()

    def go_on(self) -> None:
        """The cut is healed: what was held back arrives now, before anything else."""
        held, self._held = self._held, 0
        for _ in range(held):
            self._travel()

    def _travel(self) -> None:
        now_ms = self._world.monotonic() * 1000
        self._arrival_ms = max(self._arrival_ms, now_ms + self._network.delay_ms())
        self._world.after(self._arrival_ms - now_ms, self._arrive)

    def _arrive(self) -> None:
        if self._held or self._network.is_cut(*self._ends):
            self._held += 1
            self._network.hold(self)
        else:
            self._sent.popleft()()
