"""Bounds of pull queries: how many a second, how many at a time, and how much they send in an hour."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from penstock.sqlserver.errors import TOO_MANY_REQUESTS, KsqlError
from penstock.sqlserver.settings import ServerSettings

HOUR_S: Final = 3600
SLICES: Final = 60
"""Bytes of an hour are counted by minutes."""


class PullLimits:
    def __init__(self, settings: ServerSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._qps = settings.number("ksql.query.pull.max.qps")
        self._most = settings.number("ksql.query.pull.max.concurrent.requests")
        self._bytes = settings.number("ksql.query.pull.max.hourly.bandwidth.megabytes") * 1024 * 1024
        self._clock = clock
        self._lock = threading.Lock()
        self._room = float(self._qps)
        self._filled = clock()
        self._running = 0
        self._sent: deque[tuple[int, int]] = deque(maxlen=SLICES)
        """Minutes and what was sent in them."""

    def begin(self) -> None:
        """KsqlError when there is no room; `end` follows otherwise."""
        with self._lock:
            self._fill()
            if self._sent_in_an_hour() > self._bytes:
                raise KsqlError("Host is at bandwidth rate limit for pull queries.", TOO_MANY_REQUESTS)
            if self._room < 1:
                raise KsqlError(
                    f"Host is at rate limit for pull queries. Currently set to {self._qps} qps.",
                    TOO_MANY_REQUESTS,
                )
            if self._running >= self._most:
                raise KsqlError(
                    "Host is at concurrency limit for pull queries. Currently set to maximum "
                    f"{self._most} concurrent requests.",
                    TOO_MANY_REQUESTS,
                )
            self._room -= 1
            self._running += 1

    def end(self) -> None:
        with self._lock:
            self._running -= 1

    def sent(self, size: int) -> None:
        """Bytes that went to a client."""
        minute = int(self._clock() // (HOUR_S / SLICES))
        with self._lock:
            before = self._sent.pop()[1] if self._sent and self._sent[-1][0] == minute else 0
            self._sent.append((minute, before + size))

    def _fill(self) -> None:
        """A second's worth may gather, and no more."""
        now = self._clock()
        self._room = min(float(self._qps), self._room + (now - self._filled) * self._qps)
        self._filled = now

    def _sent_in_an_hour(self) -> int:
        first = int(self._clock() // (HOUR_S / SLICES)) - SLICES
        return sum(size for minute, size in self._sent if minute > first)
