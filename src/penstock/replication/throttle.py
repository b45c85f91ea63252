"""How fast replicas may be filled that are being moved (KIP-73): a rate for what this broker sends as
leader, and one for what it takes as follower. It holds for the replicas that a topic's settings name, and
never for those in sync."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

from penstock.clock import Clock
from penstock.quotas.rates import Rate, Window

WINDOW: Final = Window(11, 1000)  # Kafka's replication.quota.window.num and .size.seconds
EVERY_REPLICA: Final = "*"


class ReplicationThrottle:
    """Bytes of throttled replicas through this broker, in one direction. Threads may call it."""

    def __init__(self, clock: Clock, bytes_per_second: Callable[[], float]) -> None:
        self._clock = clock
        self._limit = bytes_per_second
        self._lock = Lock()
        self._rate = Rate(WINDOW)

    def record(self, size_bytes: int) -> None:
        with self._lock:
            self._rate.record(size_bytes, self._clock.now_ms())

    @property
    def is_exceeded(self) -> bool:
        with self._lock:
            return self._rate.per_second(self._clock.now_ms()) > self._limit()


def names_replica(throttled: Sequence[str], index: int, node: int) -> bool:
    """Whether `partition:broker` is among the throttled replicas of a topic."""
    return bool(throttled) and (EVERY_REPLICA in throttled or f"{index}:{node}" in throttled)
