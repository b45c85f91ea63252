"""Records a second of each topic, from the ends of its partitions seen a few times.

Pure; `overview` feeds it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

WINDOW_S = 4.0
HISTORY = 40
GAP_S = 15.0
"""After so long without a look, what was seen before says nothing about now."""


class Rates:
    """A moving average over the last seconds, and a short history for the small charts."""

    def __init__(self) -> None:
        self._samples: dict[str, deque[tuple[float, int]]] = {}
        self._histories: dict[str, deque[float]] = {}
        self._updated_at = float("-inf")

    def update(self, ends: Mapping[str, int | None], at: float) -> dict[str, float | None]:
        """Rates at monotonic time `at`; None where a topic has been seen only once or its end is unknown."""
        self._forget_all_but(ends if at - self._updated_at <= GAP_S else {})
        self._updated_at = at
        rates: dict[str, float | None] = {}
        for topic, end in ends.items():
            rate = None if end is None else self._rate(topic, end, at)
            rates[topic] = rate
            self._histories.setdefault(topic, deque(maxlen=HISTORY)).append(rate or 0.0)
        return rates

    def history(self, topic: str) -> list[float]:
        """Oldest first, at most HISTORY of them."""
        return list(self._histories.get(topic, ()))

    def _rate(self, topic: str, end: int, at: float) -> float | None:
        samples = self._samples.setdefault(topic, deque())
        if samples and end < samples[-1][1]:
            samples.clear()  # deleted and created again: its offsets began anew
        samples.append((at, end))
        while len(samples) > 2 and samples[1][0] <= at - WINDOW_S:
            samples.popleft()
        (began, first), (now, last) = samples[0], samples[-1]
        return (last - first) / (now - began) if now > began else None

    def _forget_all_but(self, topics: Mapping[str, object]) -> None:
        for gone in self._samples.keys() - topics.keys():
            del self._samples[gone]
        for gone in self._histories.keys() - topics.keys():
            del self._histories[gone]
