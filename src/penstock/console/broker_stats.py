"""Brokers by what they publish for Prometheus: traffic and request times, as rates between two looks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpx

from penstock.console.feed import Feed
from penstock.console.prometheus import BrokerMetrics, broker_metrics, page_at

POLL_S = 3.0
TIMEOUT_S = 3.0


@dataclass(frozen=True, slots=True)
class ApiStats:
    api: str
    per_second: float
    count: float
    median_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True, slots=True)
class Traffic:
    """All brokers whose metrics are known, together. Rates are None at the first look."""

    configured: int
    answering: int
    bytes_in: float | None = None
    bytes_out: float | None = None
    messages_in: float | None = None
    failed: float | None = None
    connections: float | None = None
    cpu_percent: float | None = None
    memory_bytes: float | None = None
    apis: tuple[ApiStats, ...] = ()

    def api(self, name: str) -> ApiStats | None:
        return next((each for each in self.apis if each.api == name), None)


def traffic_feed(
    urls: Sequence[str], interval_s: float = POLL_S, transport: httpx.AsyncBaseTransport | None = None
) -> Feed[Traffic]:
    before: dict[str, tuple[float, BrokerMetrics]] = {}

    async def fetch() -> Traffic:
        async with httpx.AsyncClient(timeout=TIMEOUT_S, transport=transport, trust_env=False) as client:
            pages = await asyncio.gather(*(page_at(client, url) for url in urls))
        at = time.monotonic()
        now = {url: (at, broker_metrics(url, page)) for url, page in zip(urls, pages, strict=True) if page}
        traffic = measured(len(urls), before, now)
        before.clear()
        before.update(now)
        return traffic

    return Feed(fetch, interval_s)


Looks = Mapping[str, tuple[float, BrokerMetrics]]


def measured(configured: int, before: Looks, now: Looks) -> Traffic:
    pairs = [(*before[url], *now[url]) for url in now if url in before and before[url][0] < now[url][0]]

    def rate(name: str) -> float | None:
        if not pairs:
            return None
        return sum(
            max(0.0, getattr(new, name) - getattr(old, name)) / (t1 - t0) for t0, old, t1, new in pairs
        )

    def total(name: str) -> float | None:
        known = [getattr(new, name) for _, new in now.values() if getattr(new, name) is not None]
        return sum(known) if known else None

    cpu = rate("cpu_seconds") if total("cpu_seconds") is not None else None
    return Traffic(
        configured,
        len(now),
        rate("bytes_in"),
        rate("bytes_out"),
        rate("messages_in"),
        rate("failed"),
        total("connections"),
        None if cpu is None else 100 * cpu,
        total("memory_bytes"),
        _apis(before, now),
    )


def _apis(before: Looks, now: Looks) -> tuple[ApiStats, ...]:
    """Counts are added up; of several brokers the slowest gives the times."""
    found: dict[str, ApiStats] = {}
    for url, (at, new) in now.items():
        earlier, old = before.get(url, (at, new))
        for api, times in new.requests.items():
            known = found.get(api, ApiStats(api, 0.0, 0.0, None, None))
            passed = times.count - (old.requests[api].count if api in old.requests else 0.0)
            found[api] = ApiStats(
                api,
                known.per_second + (max(0.0, passed) / (at - earlier) if at > earlier else 0.0),
                known.count + times.count,
                _larger(known.median_ms, times.median_ms),
                _larger(known.p99_ms, times.p99_ms),
            )
    return tuple(sorted(found.values(), key=lambda each: -each.count))


def _larger(a: float | None, b: float | None) -> float | None:
    known = [value for value in (a, b) if value is not None]
    return max(known, default=None)
