"""How many connections there may be, and how fast new ones may come: for all, and for each address.

The limits are read at each connection, so that a change while the broker runs holds for the next one. Above
`max.connections` and `max.connection.creation.rate` the accepting thread waits; an address with too many
connections, or too many new ones (its quota), is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Condition
from typing import Final

from penstock.handlers.broker import Broker
from penstock.quotas.rates import Rate, Window
from penstock.settings import BrokerSettings

MAX_ADDRESSES: Final = 10_000  # whose rates are measured at once
LOOK_SECONDS: Final = 1.0  # a limit may be raised while an accepting thread waits for a place


class ConnectionRefused(Exception):
    """Close the connection, after a delay if there is one: a client that is cut off at once comes back at
    once."""

    def __init__(self, reason: str, delay_ms: int = 0) -> None:
        super().__init__(reason)
        self.delay_ms = delay_ms


class ConnectionLimits:
    """Counts connections. Accepting threads call `enter`, connections call `leave` when they are gone."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        settings = broker.settings
        self._window = Window(settings.quota_window_num, settings.quota_window_size_seconds * 1000)
        self._rate = Rate(self._window)
        self._rates: dict[str, Rate] = {}
        self._counts: Counter[str] = Counter()
        self._total = 0
        self._changed = Condition()

    def enter(self, address: str, is_closing: Callable[[], bool]) -> None:
        """Take a place, waiting for one if need be. Raises ConnectionRefused."""
        with self._changed:
            self._wait(self._rate_delay_ms(), is_closing)
            self._check_quota(address)
            limit = _limit_of(address, self._broker.settings)
            if self._counts[address] >= limit:
                raise ConnectionRefused(f"{address} has {limit} connections, which is all it may have")
            self._counts[address] += 1
            self._total += 1

    def leave(self, address: str) -> None:
        with self._changed:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]
            self._total -= 1
            self._changed.notify_all()

    def wake(self) -> None:
        """Wake the accepting threads that wait for a place: the server may be closing."""
        with self._changed:
            self._changed.notify_all()

    def _wait(self, delay_ms: int, is_closing: Callable[[], bool]) -> None:
        clock = self._broker.clock
        end = clock.monotonic() + delay_ms / 1000
        while not is_closing():
            remaining = end - clock.monotonic()
            is_full = self._total >= self._broker.settings.max_connections
            if remaining <= 0 and not is_full:
                return
            self._changed.wait(LOOK_SECONDS if remaining <= 0 else min(remaining, LOOK_SECONDS))
        raise ConnectionRefused("the server is closing")

    def _rate_delay_ms(self) -> int:
        """How long the accepting thread waits, one sample at most."""
        now_ms = self._now_ms()
        self._rate.record(1, now_ms)
        limit = self._broker.settings.max_connection_creation_rate
        return min(self._rate.throttle_ms(limit, now_ms), self._window.sample_ms) if limit else 0

    def _check_quota(self, address: str) -> None:
        limit = self._broker.quotas.connection_rate(address)
        if limit is None:
            return
        rate = self._rates.pop(address, None)
        if rate is None:
            if len(self._rates) >= MAX_ADDRESSES:
                del self._rates[next(iter(self._rates))]
            rate = Rate(self._window)
        self._rates[address] = rate
        now_ms = self._now_ms()
        rate.record(1, now_ms)
        delay_ms = min(rate.throttle_ms(limit, now_ms), self._window.sample_ms)
        if delay_ms > 0:
            rate.record(-1, now_ms)
            self._rate.record(-1, now_ms)
            raise ConnectionRefused(f"{address} makes more than {limit:g} connections a second", delay_ms)

    def _now_ms(self) -> int:
        return int(self._broker.clock.monotonic() * 1000)


def _limit_of(address: str, settings: BrokerSettings) -> int:
    return dict(settings.max_connections_per_ip_overrides).get(address, settings.max_connections_per_ip)
