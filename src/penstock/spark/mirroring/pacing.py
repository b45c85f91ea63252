"""How large a batch may be. Each costs Spark and the transaction about the same, so small ones waste time;
readers of the target see a batch when its transaction ends, so large ones come late. A full batch should take
about two seconds, whatever the size of records and the speed of the clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

FIRST: Final = 250_000
LEAST: Final = 1_000
WANTED_SECONDS: Final = 2.0
FASTER, SLOWER = 2.0, 0.25
"""The most by which the next batch may differ: one slow batch says little."""
NEARLY_FULL: Final = 0.9


class Pace:
    """The bound of the next batch in offsets, from how long the last full one took."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._limit = FIRST
        self._last: tuple[int, float] | None = None
        """The size of the batch under way, and when it was planned."""

    def limit(self, most: int) -> int:
        """Asked when the batch before has ended."""
        if self._last is not None:
            size, planned = self._last
            self._last = None
            if size >= NEARLY_FULL * min(self._limit, most):
                seconds = max(self._clock() - planned, 0.001)
                factor = min(FASTER, max(SLOWER, WANTED_SECONDS / seconds))
                self._limit = min(most, max(LEAST, int(min(self._limit, most) * factor)))
        return min(self._limit, most)

    def planned(self, size: int) -> None:
        """So many offsets are handed out now."""
        self._last = (size, self._clock()) if size > 0 else None
