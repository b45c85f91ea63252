"""Requests that wait for a partition to change. Each is woken once when it does. A `Partition` has one such
list for what is committed and one for what is written. The handlers' `Wait` registers through `LookedAt`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol


class Waiter(Protocol):
    """A request in purgatory."""

    def wake(self) -> None: ...


class Counted(Protocol):
    """Where it is known how many requests wait: the tail of a log."""

    waiting: int


class Waiters:
    """A list under its partition's lock."""

    __slots__ = ("_counted", "_lock", "changes", "waiting")

    def __init__(self, lock: AbstractContextManager[object], counted: Counted | None = None) -> None:
        self._lock = lock
        self._counted = counted
        self.waiting: list[Waiter] = []
        self.changes = 0
        """How many changes there were. A request that noted the number before it looked knows later whether
        it has to look again."""

    def watch(self, waiter: Waiter) -> None:
        """Wake `waiter` once, at the next change or when the partition goes away."""
        with self._lock:
            self.waiting.append(waiter)
            self._count(1)

    def unwatch(self, waiter: Waiter) -> None:
        with self._lock:
            if waiter in self.waiting:
                self.waiting.remove(waiter)
                self._count(-1)

    def _count(self, more: int) -> None:
        if self._counted is not None:
            self._counted.waiting += more

    def take(self) -> list[Waiter]:
        """All of them, to be woken when the lock is released. Called with the lock held after a change."""
        self.changes += 1
        if not self.waiting:
            return []
        waiting, self.waiting = self.waiting, []
        self._count(-len(waiting))
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
