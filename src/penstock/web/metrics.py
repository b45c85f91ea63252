"""What every HTTP service counts: requests by route and status, and how long they take, for `GET /metrics`.

One event loop serves all requests of a process, so nothing here needs a lock.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from penstock.metrics.histogram import WINDOW_SECONDS, Histogram, percentiles
from penstock.metrics.text import Family, Sample, summary

REQUESTS: Final = Family(
    "penstock_http_requests_total",
    "counter",
    "Requests that were answered, by the path of their route; it is empty when no route has it.",
    ("method", "path", "status"),
)
DURATIONS: Final = Family(
    "penstock_http_request_duration_seconds",
    "summary",
    "Seconds from a request's arrival until its answer was sent.",
    ("method", "path"),
)
IN_FLIGHT: Final = Family("penstock_http_requests_in_flight", "gauge", "Requests that are being served.")
FAMILIES: Final = (REQUESTS, DURATIONS, IN_FLIGHT)

QUANTILES: Final = ("0.5", "0.95", "0.99", "0.999")
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER_METHOD: Final = "other"
"""Instead of a word that a client made up: labels are bounded."""


class _Place(NamedTuple):
    method: str
    path: str


class Served:
    """One request under way. The code that serves it fills in the fields as they become known."""

    __slots__ = ("path", "status")

    def __init__(self) -> None:
        self.path = ""
        self.status = 500


class HttpMetrics:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._requests: Counter[tuple[_Place, int]] = Counter()
        self._durations: dict[_Place, Histogram] = {}
        self._in_flight = 0
        self._rotated = now()

    @contextmanager
    def serving(self, method: str) -> Iterator[Served]:
        """Counts and times one request."""
        served, began = Served(), self._now()
        self._in_flight += 1
        try:
            yield served
        finally:
            self._in_flight -= 1
            place = _Place(method if method in METHODS else OTHER_METHOD, served.path)
            self._requests[place, served.status] += 1
            ended = self._now()
            self._rotate(ended)
            self._durations.setdefault(place, Histogram()).record(ended - began)

    def _rotate(self, now: float) -> None:
        if now - self._rotated >= WINDOW_SECONDS:
            self._rotated = now
            for histogram in self._durations.values():
                histogram.rotate()

    def samples(self) -> Iterator[Sample]:
        self._rotate(self._now())
        for (place, status), count in sorted(self._requests.items()):
            yield Sample(REQUESTS, {**place._asdict(), "status": str(status)}, count)
        shares = [float(quantile) for quantile in QUANTILES]
        for place, histogram in sorted(self._durations.items()):
            found = dict(zip(QUANTILES, percentiles(histogram.recent(), shares), strict=True))
            yield from summary(DURATIONS, place._asdict(), histogram.count, histogram.sum_seconds, found)
        yield Sample(IN_FLIGHT, {}, self._in_flight)
