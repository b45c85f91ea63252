"""The clock of one simulated machine: wrong, and not quite as fast as the others."""

from __future__ import annotations

from typing import Final

from penstock.testing.simulation.world import World

MAX_DRIFT: Final = 0.02


class MachineClock:
    """Wrong by up to `max_skew_ms`, and up to two percent too fast or too slow."""

    def __init__(self, world: World, max_skew_ms: float) -> None:
        self._world = world
        self._skew_ms = world.random.uniform(-max_skew_ms, max_skew_ms)
        self.rate = world.random.uniform(1 - MAX_DRIFT, 1 + MAX_DRIFT)

    def now_ms(self) -> int:
        return int(self._world.now_ms() + self._skew_ms)

    def monotonic(self) -> float:
        return self._world.monotonic() * self.rate
