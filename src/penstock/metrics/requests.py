"""Requests by API: how many, how long each part of their way takes, how many wait. Kafka's RequestMetrics.

Most requests never wait. For them one duration is counted: it is their local time and their total time. Of an
API that is used a lot, one request in `TIMED_EVERY` is timed and stands for all of them: timing costs three
times as much as all other counting. How many requests and bytes there are is always exact.
"""

from __future__ import annotations

from typing import Final

from penstock.metrics.histogram import Histogram

TIMED_EVERY: Final = 8
ALL_TIMED_BEFORE: Final = 1024
"""So many requests of an API are all timed: those that come seldom always are."""


class ApiRequests:
    """Requests of one API. Threads of connections add to it without a lock (see `metrics.counter`)."""

    __slots__ = (
        "bytes_in",
        "count",
        "ended_waits",
        "local_of_waited",
        "remote",
        "sending",
        "served",
        "waited",
        "waits",
    )

    def __init__(self) -> None:
        self.served = Histogram()
        """How long handling took, of requests that were answered at once."""
        self.waited = Histogram()
        """The same and the wait, of requests that waited."""
        self.local_of_waited = Histogram()
        self.remote = Histogram()
        """How long requests waited: for records, for replicas, for a coordinator or a controller."""
        self.sending = Histogram()
        """How long an answer took that was not held back to be sent with others."""
        self.count = 0
        self.waits = 0
        self.ended_waits = 0
        self.bytes_in = 0

    def ended_waiting(self, local_seconds: float, remote_seconds: float, weight: int = 1) -> None:
        """A request was answered, or given up, after it had waited."""
        self.ended_waits += 1
        if weight:
            self.local_of_waited.record(local_seconds, weight)
            self.remote.record(remote_seconds, weight)
            self.waited.record(local_seconds + remote_seconds, weight)

    @property
    def waiting(self) -> int:
        """How many requests wait now: the size of Kafka's purgatory."""
        return self.waits - self.ended_waits

    @property
    def total(self) -> tuple[Histogram, ...]:
        return self.served, self.waited

    @property
    def local(self) -> tuple[Histogram, ...]:
        return self.served, self.local_of_waited

    @property
    def histograms(self) -> tuple[Histogram, ...]:
        return self.served, self.waited, self.local_of_waited, self.remote, self.sending


class Requests(dict[int, ApiRequests]):
    """All APIs, by their key; `requests[key]` makes one that is asked for the first time.

    A dictionary itself, so that each request looks its API up without a call of Python.
    """

    def __missing__(self, api_key: int) -> ApiRequests:
        return self.setdefault(api_key, ApiRequests())
