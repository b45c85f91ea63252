"""Numbers of an `Admin`'s requests, under the names of Java's metrics."""

from __future__ import annotations

from threading import Lock


class RequestCounts:
    """Many threads count."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._sent = 0
        self._answered = 0
        self._seconds = 0.0
        self._longest = 0.0

    def sent(self) -> None:
        with self._lock:
            self._sent += 1

    def answered(self, seconds: float) -> None:
        with self._lock:
            self._answered += 1
            self._seconds += seconds
            self._longest = max(self._longest, seconds)

    def metrics(self) -> dict[str, float]:
        with self._lock:
            return {
                "request-total": self._sent,
                "response-total": self._answered,
                "request-latency-avg": 1000 * self._seconds / max(self._answered, 1),
                "request-latency-max": 1000 * self._longest,
            }
