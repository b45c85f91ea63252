"""The figures that Kafka's two performance tests print."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

MEGABYTE: Final = 1024 * 1024
QUANTILES: Final = {"50th": 0.5, "95th": 0.95, "99th": 0.99, "99.9th": 0.999}


class SendFigures:
    """Latencies of acknowledged records: a line for each interval, and one for all. The first `warmup`
    records are left out of a last line of their own kind, the steady state."""

    def __init__(self, interval_s: float, warmup: int = 0) -> None:
        self._interval_s = interval_s
        self._warmup = warmup
        self._latencies: list[float] = []
        self._bytes = 0
        self._warm_bytes = 0
        self._start = self._warm_start = self._window_start = time.monotonic()
        self._window_first = 0
        self._window_bytes = 0

    def count(self, latency_s: float, size: int) -> None:
        self._latencies.append(latency_s)
        self._bytes += size
        self._window_bytes += size
        now = time.monotonic()
        if len(self._latencies) == self._warmup:
            self._warm_bytes, self._warm_start = self._bytes, now
        if now - self._window_start >= self._interval_s:
            self._print_window(now)

    def _print_window(self, now: float) -> None:
        latencies = self._latencies[self._window_first :]
        head = _rates(len(latencies), self._window_bytes, now - self._window_start)
        milliseconds = [each * 1000 for each in latencies]
        average = sum(milliseconds) / len(milliseconds)
        print(f"{head}, {average:.1f} ms avg latency, {max(milliseconds):.1f} ms max latency.", flush=True)
        self._window_first, self._window_bytes, self._window_start = len(self._latencies), 0, now

    def print_total(self) -> None:
        now = time.monotonic()
        print(_total("", self._latencies, self._bytes, now - self._start))
        if self._warmup:
            steady = self._latencies[self._warmup :]
            elapsed = now - self._warm_start
            print(_total("steady state ", steady, self._bytes - self._warm_bytes, elapsed))


def _rates(count: int, size: int, elapsed_s: float, what: str = "") -> str:
    elapsed_s = max(elapsed_s, 0.001)
    return (
        f"{count} {what}records sent, {count / elapsed_s:.1f} records/sec "
        f"({size / elapsed_s / MEGABYTE:.2f} MB/sec)"
    )


def _total(what: str, latencies: list[float], size: int, elapsed_s: float) -> str:
    ordered = sorted(each * 1000 for each in latencies) or [0.0]
    quantiles = ", ".join(
        f"{int(ordered[min(len(ordered) - 1, int(share * len(ordered)))])} ms {name}"
        for name, share in QUANTILES.items()
    )
    average = sum(ordered) / len(ordered)
    return (
        f"{_rates(len(latencies), size, elapsed_s, what)}, {average:.2f} ms avg latency, "
        f"{ordered[-1]:.2f} ms max latency, {quantiles}."
    )


def print_metrics(metrics: Mapping[str, object]) -> None:
    """A table of names and values; nothing without metrics."""
    if not metrics:
        return
    width = max(map(len, metrics))
    print(f"\n{'Metric Name':<{width}} Value")
    for name, value in sorted(metrics.items()):
        shown = f"{value:.3f}" if isinstance(value, float) else value
        print(f"{name:<{width}} : {shown}")
