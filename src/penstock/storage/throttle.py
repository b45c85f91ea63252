"""How fast the cleaner may go: `log.cleaner.io.max.bytes.per.second`, and half the time with the GIL in hand.

The native walk works without the GIL, so the network threads hardly notice it. The pure one holds it: then
every step is followed by a rest as long as the step was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.clock import Clock
from penstock.records import walk

_MOST_REST_S: Final = 0.5
"""A step that took longer did not spend the time computing."""


class Throttle:
    """Of one compaction, in one thread."""

    def __init__(
        self,
        clock: Clock,
        pause: Callable[[float], object],
        bytes_per_second: Callable[[], float],
        *,
        shares_gil: bool = walk.ACTIVE == "pure",
    ) -> None:
        self._clock = clock
        self._pause = pause
        self._bytes_per_second = bytes_per_second
        self._shares_gil = shares_gil
        self._stepped_at = clock.monotonic()
        # When everything spent so far may have been spent.
        self._paid_until = self._stepped_at

    def spend(self, size_bytes: int) -> None:
        """These bytes were read or written; wait until the next may be."""
        now = self._clock.monotonic()
        rest = min(_MOST_REST_S, now - self._stepped_at) if self._shares_gil else 0.0
        rate = self._bytes_per_second()
        if rate > 0:
            self._paid_until = max(self._paid_until, now) + size_bytes / rate
            rest = max(rest, self._paid_until - now)
        if rest > 0.001:
            self._pause(rest)
        self._stepped_at = self._clock.monotonic()
