"""Connections that send many small produce requests take turns, and consumers come after them.

Python's own lock is not fair: who gives it up mostly has it back before another thread is awake, so a client
with little to say waits behind those with much. Here turns are given in the order in which they were asked
for, and only who has one works. A turn lasts for what was received at once. It is a courtesy, and nothing
rests on it: nobody waits for one longer than `PATIENCE_SECONDS`, and who has to wait for something else gives
it up before.

A consumer that has waited for records and is told of some lets producers go first, and does not even ask
while they stand in a crowd: its answer comes some milliseconds later then and holds several batches, for the
work of one. Asked by `penstock.server.connection`.
"""

from __future__ import annotations

import time
from collections import deque
from threading import Lock
from typing import Final

PATIENCE_SECONDS: Final = 0.01
CROWD: Final = 4
"""So many who wait say that there is more to do than can be done: below that they were only unlucky."""


class Turns:
    """One for all connections of a server. Invariant: nobody waits while no turn is taken."""

    __slots__ = ("_behind", "_is_taken", "_lock", "_waiting")

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_taken = False
        self._waiting: deque[Lock] = deque()
        self._behind: deque[Lock] = deque()

    def take(self) -> bool:
        """Wait for a turn; whether there is one to be given up afterwards."""
        return self._take(self._waiting)

    def take_behind(self) -> bool:
        """The same, after everybody else and not among a crowd."""
        if len(self._waiting) >= CROWD:
            time.sleep(PATIENCE_SECONDS)
        return self._take(self._behind)

    def _take(self, waiting: deque[Lock]) -> bool:
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return True
            called = Lock()
            called.acquire()
            waiting.append(called)
        if called.acquire(timeout=PATIENCE_SECONDS):
            return True
        with self._lock:
            if called in waiting:
                waiting.remove(called)
                return False
            return True  # it was called just now

    def give_up(self) -> None:
        """The next one, please."""
        with self._lock:
            if waiting := self._waiting or self._behind:
                waiting.popleft().release()
            else:
                self._is_taken = False
