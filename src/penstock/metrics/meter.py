"""Rates as Kafka's meters have them: averages over one, five and fifteen minutes that weigh the present most.

The counter is added to where something happens; a housekeeping thread calls `tick` every now and then. Kafka
averages over intervals of five seconds with exponential weights, and so does this.
"""

from __future__ import annotations

import math
from typing import Final

INTERVAL_SECONDS: Final = 5.0
MINUTES: Final = (1, 5, 15)
_WEIGHTS: Final = tuple(1 - math.exp(-INTERVAL_SECONDS / 60 / minutes) for minutes in MINUTES)


class Meter:
    """The rates of one growing number."""

    def __init__(self, now: float) -> None:
        self._began = now
        self._ticked = now
        self._counted = 0.0
        self._rates: tuple[float, ...] | None = None  # None before the first interval has passed

    def tick(self, count: float, now: float) -> None:
        """`count` is what the number is now. Intervals that nobody has looked at count as quiet ones, except
        the first: it has everything that came since the last look."""
        intervals = int((now - self._ticked) // INTERVAL_SECONDS)
        for _ in range(min(intervals, _FORGOTTEN_AFTER)):
            self._rates = _next(self._rates, (count - self._counted) / INTERVAL_SECONDS)
            self._counted = count
        self._ticked += intervals * INTERVAL_SECONDS

    @property
    def rates(self) -> tuple[float, ...]:
        """A second, over the last one, five and fifteen minutes."""
        return self._rates or (0.0, 0.0, 0.0)

    def mean(self, count: float, now: float) -> float:
        """A second, since the meter began."""
        return count / (now - self._began) if now > self._began else 0.0


_FORGOTTEN_AFTER: Final = 2000
"""After so many quiet intervals, hours of them, every rate is zero to the last digit that matters."""


def _next(rates: tuple[float, ...] | None, present: float) -> tuple[float, ...]:
    if rates is None:
        return (present,) * len(MINUTES)
    return tuple(rate + weight * (present - rate) for rate, weight in zip(rates, _WEIGHTS, strict=True))
