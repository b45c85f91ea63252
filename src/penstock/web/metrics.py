"""What every HTTP service counts: requests by route and status, and how long they take, for `GET /metrics`.

One event loop serves all requests of a process, so nothing here needs a lock.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from types import TracebackType
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

    __slots__ = ("_began", "_method", "_metrics", "path", "status")

    def __init__(self, metrics: HttpMetrics, method: str) -> None:
        self.path = ""
        self.status = 500
        self._metrics = metrics
        self._method = method

    def __enter__(self) -> Served:
        self._began = self._metrics.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._metrics.end(self._method, self.path, self.status, self._began)


class HttpMetrics:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._requests: Counter[tuple[_Place, int]] = Counter()
        self._durations: dict[_Place, Histogram] = {}
        self._in_flight = 0
        self._rotated = now()

    def serving(self, method: str) -> Served:
        """Counts and times one request: `with metrics.serving(method) as served`."""
        return Served(self, method)

    def begin(self) -> float:
        self._in_flight += 1
        return self._now()

    def end(self, method: str, path: str, status: int, began: float) -> None:
        self._in_flight -= 1
        place = _Place(method if method in METHODS else OTHER_METHOD, path)
        self._requests[place, status] += 1
        ended = self._now()
        self._rotate(ended)
        durations = self._durations.get(place)
        if durations is None:
            durations = self._durations[place] = Histogram()
        durations.record(ended - began)

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
