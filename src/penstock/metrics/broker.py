"""What a broker counts while it works. Whatever counts is handed it through `handlers.broker:Broker`.

What can be looked up at any time (partitions, groups, the quorum) is not here: `server.metrics` reads it when
it is scraped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.metrics.counter import Counter
from penstock.metrics.histogram import WINDOW_SECONDS, Histogram
from penstock.metrics.meter import Meter
from penstock.metrics.requests import Requests
from penstock.metrics.traffic import COUNTS, Traffic

ISR_COUNTS: Final = ("shrinks", "expands", "failed_updates")


class IsrCounts:
    """How often the sets of replicas in sync have changed, of partitions that this broker leads."""

    def __init__(self) -> None:
        self.shrinks = Counter()
        self.expands = Counter()
        self.failed_updates = Counter()

    def changed(self, before: int, after: int) -> None:
        """A set of so many replicas has become one of so many."""
        if after != before:
            (self.expands if after > before else self.shrinks).add()


class BrokerMetrics:
    def __init__(self, now: float) -> None:
        self.requests = Requests()
        self.traffic = Traffic()
        self.isrs = IsrCounts()
        self.histograms: list[Histogram] = []
        """Those of others, whose windows go on with the broker's: of log directories, for example."""
        self.before_reading: list[Callable[[], None]] = []
        """Called before these numbers are looked at: they bring what was counted elsewhere."""
        self._meters = {name: Meter(now) for name in (*COUNTS, *ISR_COUNTS)}
        self._rotated = now

    def count(self, name: str) -> float:
        """A number that has a meter: one of `traffic.COUNTS` over all topics, or one of ISRs."""
        if name in ISR_COUNTS:
            counter: Counter = getattr(self.isrs, name)
            return counter.value
        return self.traffic.total(name)

    def meter(self, name: str) -> Meter:
        return self._meters[name]

    def gather(self) -> None:
        """Let the numbers be those of now."""
        for bring in self.before_reading:
            bring()

    def tick(self, now: float) -> None:
        """Rates and windows go on. Called every second or so by a housekeeping thread."""
        self.gather()
        for name, meter in self._meters.items():
            meter.tick(self.count(name), now)
        if now - self._rotated >= WINDOW_SECONDS:
            self._rotated = now
            ours = [each for requests in list(self.requests.values()) for each in requests.histograms]
            for histogram in (*ours, *self.histograms):
                histogram.rotate()
