"""Requests that wait for a partition to change. Each is woken once when it does. A `Partition` has one such
list for what is committed and one for what is written. The handlers' `Wait` registers through `LookedAt`."""

from __future__ import annotations

from collections.abc import Sequence
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
        """How many changes there were. A request that noted the number before it looked knows later whether
        it has to look again."""

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


class LookedAt:
    """Partitions as a request saw them: `changes` holds, for each of them, the number of changes before the
    look. A change since then wakes the request, also one that came before `watch`."""

    __slots__ = ("_changes", "_waiters")

    def __init__(self, waiters: Sequence[Waiters], changes: Sequence[int]) -> None:
        self._waiters = waiters
        self._changes = changes

    def watch(self, waiter: Waiter) -> None:
        for waiters in self._waiters:
            waiters.watch(waiter)
        # In this order: a change after the registration wakes by itself, an earlier one is counted.
        if self.has_changed:
            waiter.wake()

    def unwatch(self, waiter: Waiter) -> None:
        for waiters in self._waiters:
            waiters.unwatch(waiter)

    @property
    def has_changed(self) -> bool:
        seen = zip(self._waiters, self._changes, strict=True)
        return any(waiters.changes != changes for waiters, changes in seen)
