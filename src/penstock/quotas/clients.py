"""What clients have used of their quotas, and how long they are to be muted. Bounded: who was silent longest
is forgotten first.

Handlers ask here; with no quota set, one look at a flag is all it costs.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Final, Generic, TypeVar

from penstock.clock import Clock
from penstock.quotas.entities import Limit, Quotas, Scope, find_ip_limit, find_limit
from penstock.quotas.rates import Rate, TokenBucket, Window

PRODUCE: Final = "producer_byte_rate"
FETCH: Final = "consumer_byte_rate"
REQUEST: Final = "request_percentage"
MUTATION: Final = "controller_mutation_rate"
CONNECTION: Final = "connection_creation_rate"

MAX_CLIENTS: Final = 10_000  # that are measured at once, for each kind of quota

Meter = TypeVar("Meter", Rate, TokenBucket)


class _Meters(Generic[Meter]):
    """The meters of one kind of quota, each with the limit that holds for its client."""

    def __init__(self, key: str, window: Window, make: Callable[[Window], Meter]) -> None:
        self._key = key
        self._window = window
        self._make: Callable[[Window], Meter] = make
        self._quotas: Quotas = {}
        self._limits: dict[Scope, Limit | None] = {}
        self._meters: dict[Scope, Meter] = {}
        self.are_set = False

    def update(self, quotas: Quotas) -> None:
        self._quotas = quotas
        self._limits.clear()
        self.are_set = any(self._key in values for values in quotas.values())
        if not self.are_set:
            self._meters.clear()

    def limit(self, user: str, client_id: str) -> Limit | None:
        who = Scope(user, client_id)
        if who not in self._limits:
            _forget_first(self._limits)
            self._limits[who] = find_limit(self._quotas, self._key, user, client_id)
        return self._limits[who]

    def meter(self, scope: Scope) -> Meter:
        meter = self._meters.pop(scope, None)
        if meter is None:
            _forget_first(self._meters)
            meter = self._make(self._window)
        self._meters[scope] = meter  # the last one used is the last to be forgotten
        return meter


def _forget_first(known: dict[Scope, Any]) -> None:
    if len(known) >= MAX_CLIENTS:
        del known[next(iter(known))]


class ClientQuotas:
    """All quotas of a broker. Threads may call it; times come from the clock that was handed in."""

    def __init__(self, clock: Clock, window: Window, controller_window: Window) -> None:
        self._clock = clock
        self._window = window
        self._lock = Lock()
        self._produce = _Meters(PRODUCE, window, Rate)
        self._fetch = _Meters(FETCH, window, Rate)
        self._request = _Meters(REQUEST, window, Rate)
        self._mutation = _Meters(MUTATION, controller_window, TokenBucket)
        self._quotas: Quotas = {}
        self.on_update: Callable[[], None] = lambda: None
        """Called after every `update`."""

    def update(self, quotas: Quotas) -> None:
        """From now on these are the quotas. What was used stays used."""
        with self._lock:
            self._quotas = quotas
            self._produce.update(quotas)
            self._fetch.update(quotas)
            self._request.update(quotas)
            self._mutation.update(quotas)
        self.on_update()

    # Bytes

    def produced(self, user: str, client_id: str, size_bytes: int) -> int:
        """Account for a produce request; for how many milliseconds is its sender to be muted?"""
        if not self._produce.are_set:
            return 0
        return self._record(self._produce, user, client_id, size_bytes)

    def fetched(self, user: str, client_id: str, size_bytes: int) -> int:
        """Account for the answer to a fetch. One that is too large is not sent, and not accounted for."""
        if not self._fetch.are_set:
            return 0
        throttle_ms = self._record(self._fetch, user, client_id, size_bytes)
        if throttle_ms > 0:
            self._record(self._fetch, user, client_id, -size_bytes)
        return throttle_ms

    def largest_fetch(self, user: str, client_id: str) -> int | None:
        """Bytes that may be sent at once: more could never be sent, however long the client waits."""
        if not self._fetch.are_set:
            return None
        with self._lock:
            limit = self._fetch.limit(user, client_id)
        if limit is None:
            return None
        return int(limit.per_second * (self._window.samples - 1) * self._window.sample_ms / 1000)

    # Time

    @property
    def limits_requests(self) -> bool:
        return self._request.are_set

    @property
    def limits_producers(self) -> bool:
        """Whether produce requests have to be accounted for."""
        return self._produce.are_set or self._request.are_set

    def spent(self, user: str, client_id: str, seconds: float) -> int:
        """Account for the time that a request took; nobody is muted for longer than a sample."""
        return min(self._record(self._request, user, client_id, seconds * 100), self._window.sample_ms)

    # Mutations

    def mutations(self, user: str, client_id: str, *, strict: bool) -> MutationQuota:
        """What one request may change in the metadata."""
        if not self._mutation.are_set:
            return MutationQuota()
        with self._lock:
            limit = self._mutation.limit(user, client_id)
            if limit is None:
                return MutationQuota()
            return _Limited(self._mutation.meter(limit.scope), limit.per_second, self._clock, strict=strict)

    # Connections

    def connection_rate(self, address: str) -> float | None:
        """New connections in a second that this address may make; None for any number."""
        return find_ip_limit(self._quotas, CONNECTION, address)

    def _record(self, meters: _Meters[Rate], user: str, client_id: str, value: float) -> int:
        now_ms = _milliseconds(self._clock)
        with self._lock:
            limit = meters.limit(user, client_id)
            if limit is None:
                return 0
            rate = meters.meter(limit.scope)
            rate.record(value, now_ms)
            return rate.throttle_ms(limit.per_second, now_ms)


class MutationQuota:
    """Without a limit: everything may be changed."""

    def take(self, partitions: int) -> bool:
        """Account for partitions that are made or deleted. False when that must not be."""
        return True

    def throttle_ms(self) -> int:
        """How long the client is to be muted."""
        return 0


class _Limited(MutationQuota):
    """Strict: nothing is given while the bucket is empty. Otherwise everything is, and the client muted."""

    def __init__(self, bucket: TokenBucket, per_second: float, clock: Clock, *, strict: bool) -> None:
        self._bucket = bucket
        self._per_second = per_second
        self._clock = clock
        self._is_strict = strict
        self._until_ms = 0

    def take(self, partitions: int) -> bool:
        now_ms = _milliseconds(self._clock)
        refused = self._is_strict and self._bucket.tokens(self._per_second, now_ms) < 0
        if not refused:
            self._bucket.take(partitions, self._per_second, now_ms)
        if refused or not self._is_strict:
            self._until_ms = now_ms + self._bucket.throttle_ms(self._per_second, now_ms)
        return not refused

    def throttle_ms(self) -> int:
        return max(0, self._until_ms - _milliseconds(self._clock))


def _milliseconds(clock: Clock) -> int:
    """Of the clock that never goes back: a quota is about durations."""
    return int(clock.monotonic() * 1000)
