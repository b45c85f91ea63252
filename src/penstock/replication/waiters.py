"""Who waits for a partition to change, and is woken once when it does. `Partition` has one such list for
what is committed and one for what is written; the handlers' `Wait` registers here."""

from __future__ import annotations

from threading import RLock
from typing import Protocol


class Waiter(Protocol):
    """A request in purgatory."""

    def wake(self) -> None: ...


class Waiters:
    """A list under its partition's lock."""

    __slots__ = ("_lock", "changes", "waiting")

    def __init__(self, lock: RLock) -> None:
        self._lock = lock
        self.waiting: list[Waiter] = []
        self.changes = 0
        """Whoever finds the number that was there before a look need not look again."""

    def watch(self, waiter: Waiter) -> None:
        """Wake `waiter` once, at the next change or when the partition goes away."""
        with self._lock:
            self.waiting.append(waiter)

    def unwatch(self, waiter: Waiter) -> None:
        with self._lock:
            if waiter in self.waiting:
                self.waiting.remove(waiter)

    def take(self) -> list[Waiter]:
        """All of them, to be woken when the lock is released. Called with the lock held after a change."""
        self.changes += 1
        if not self.waiting:
            return []
        waiting, self.waiting = self.waiting, []
        return waiting
