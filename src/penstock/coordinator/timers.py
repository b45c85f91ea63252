"""Deadlines of many shards on one clock that is handed in. A heap and no thread: the driver asks for
`next_deadline` and calls `pop_due`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from itertools import count
from threading import Lock
from typing import Final, Generic, NamedTuple, TypeVar

Task = TypeVar("Task")

_SLACK: Final = 1024  # cancelled entries that may stay in the heap beside as many live ones


class Due(NamedTuple, Generic[Task]):
    """A timer that has run out."""

    owner: int
    key: Hashable
    task: Task


class Timers(Generic[Task]):
    """At most one timer for each (owner, key); scheduling it again replaces it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._heap: list[tuple[float, int, int, Hashable]] = []
        self._live: dict[tuple[int, Hashable], tuple[int, Task]] = {}
        self._numbers = count()
        self._wake: Callable[[], None] = lambda: None

    def on_earlier(self, wake: Callable[[], None]) -> None:
        """Call `wake` whenever the next deadline moves closer."""
        self._wake = wake

    def schedule(self, owner: int, key: Hashable, deadline: float, task: Task) -> None:
        with self._lock:
            number = next(self._numbers)
            self._live[owner, key] = (number, task)
            earlier = not self._heap or deadline < self._heap[0][0]
            heapq.heappush(self._heap, (deadline, number, owner, key))
            if len(self._heap) > 2 * len(self._live) + _SLACK:
                self._heap = [entry for entry in self._heap if self._is_live(entry)]
                heapq.heapify(self._heap)
        if earlier:
            self._wake()

    def cancel(self, owner: int, key: Hashable) -> None:
        with self._lock:
            self._live.pop((owner, key), None)

    def cancel_all(self, owner: int) -> None:
        with self._lock:
            for place in [place for place in self._live if place[0] == owner]:
                del self._live[place]

    def postpone(self, seconds: float) -> None:
        """Move every deadline, by a time during which this process could hear no request."""
        with self._lock:
            live = [entry for entry in self._heap if self._is_live(entry)]
            self._heap = [(deadline + seconds, *rest) for deadline, *rest in live]  # type: ignore[misc]
            heapq.heapify(self._heap)

    def is_scheduled(self, owner: int, key: Hashable) -> bool:
        return (owner, key) in self._live

    def next_deadline(self) -> float | None:
        """When to call `pop_due` next, unless something is scheduled for earlier meanwhile."""
        with self._lock:
            self._drop_dead()
            return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> Due[Task] | None:
        """The earliest timer that has run out by `now`. One at a time: its task may cancel others."""
        with self._lock:
            self._drop_dead()
            if not self._heap or self._heap[0][0] > now:
                return None
            _, _, owner, key = heapq.heappop(self._heap)
            _, task = self._live.pop((owner, key))
            return Due(owner, key, task)

    def __len__(self) -> int:
        return len(self._live)

    def _is_live(self, entry: tuple[float, int, int, Hashable]) -> bool:
        _, number, owner, key = entry
        found = self._live.get((owner, key))
        return found is not None and found[0] == number

    def _drop_dead(self) -> None:
        while self._heap and not self._is_live(self._heap[0]):
            heapq.heappop(self._heap)
