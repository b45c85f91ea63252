"""Simulated time: events in the order of their time, one after the other. Nothing happens between two
events."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from random import Random
from typing import Final

START_MS: Final = 1_700_000_000_000


class World:
    """Clock, chance and the queue of what is going to happen. It is a `penstock.clock:Clock`."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.steps = 0
        self._elapsed_ms = 0.0
        self._order = itertools.count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []

    def now_ms(self) -> int:
        return START_MS + int(self._elapsed_ms)

    def monotonic(self) -> float:
        return self._elapsed_ms / 1000

    def after(self, delay_ms: float, action: Callable[[], None]) -> None:
        """Do something later; events of one moment keep the order in which they were asked for."""
        heapq.heappush(self._events, (self._elapsed_ms + max(0.0, delay_ms), next(self._order), action))

    def run(self, duration_ms: float, after_each: Callable[[], None]) -> None:
        """Let time pass; `after_each` looks at the world after every event."""
        end = self._elapsed_ms + duration_ms
        while self._events and self._events[0][0] <= end:
            self._elapsed_ms, _, action = heapq.heappop(self._events)
            action()
            self.steps += 1
            after_each()
        self._elapsed_ms = end
