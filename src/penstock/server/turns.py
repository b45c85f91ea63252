"""Connections that send many small produce requests take turns.

Python's own lock is not fair: who gives it up mostly has it back before another thread is awake, so a client
with little to say waits behind those with much. Here turns are given in the order in which they were asked
for, and only who has one works. A turn lasts for what was received at once. It is a courtesy, and nothing
rests on it: nobody waits for one longer than `PATIENCE_SECONDS`, and who has to wait for something else gives
it up before. Asked by `penstock.server.connection`.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Final

PATIENCE_SECONDS: Final = 0.01


class Turns:
    """One for all connections of a server. Invariant: nobody waits while no turn is taken."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_taken = False
        self._waiting: deque[Lock] = deque()

    def take(self) -> bool:
        """Wait for a turn; whether there is one to be given up afterwards."""
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return True
            called = Lock()
            called.acquire()
            self._waiting.append(called)
        if called.acquire(timeout=PATIENCE_SECONDS):
            return True
        with self._lock:
            if called in self._waiting:
                self._waiting.remove(called)
                return False
            return True  # it was called just now

    def give_up(self) -> None:
        """The next one, please."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False
