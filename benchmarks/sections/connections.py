"""Thousands of clients that are connected and silent: what they cost, and what a working client notices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from benchmarks.batches import batch_of
from benchmarks.bench import Bench
from benchmarks.plan import Plan
from benchmarks.probing import idle_connections
from benchmarks.processes import rss_mb
from benchmarks.results import Metric, Sample, Table
from benchmarks.systems import System
from benchmarks.topics import topic

INTERVAL_NS: Final = 2_000_000
METRICS: Final = (
    Metric("RSS before MB", 0, ratio=False),
    Metric("RSS MB", 0),
    Metric("KB each", 1),
    Metric("p50 ms", 2),
    Metric("p99 ms", 2),
)


def run(bench: Bench) -> Iterator[Table]:
    table = Table("Idle connections", METRICS)
    table.notes.append("The percentiles are those of one more client, which produces a record every 2 ms.")
    for count in (1000, 5000):
        with bench.systems() as systems:
            case = f"{count:,} connections"
            table.rows.append(bench.alternate(case, systems, partial(_sample, bench, count)))
    yield table


def _sample(bench: Bench, count: int, system: System) -> Sample:
    before_mb = rss_mb(system.pid)
    with idle_connections(system.address, count), topic(system, 1) as name:
        connected_mb = rss_mb(system.pid)
        plan = Plan()
        plan.producer(name, [0], batch_of(100, 0), in_flight=1, interval_ns=INTERVAL_NS)
        healthy = bench.load(system, plan, run_ms=2 * bench.effort.run_ms).groups[0].answered
    return {
        "RSS before MB": before_mb,
        "RSS MB": connected_mb,
        "KB each": (connected_mb - before_mb) * 1000 / count,
        "p50 ms": healthy.p50_ms,
        "p99 ms": healthy.p99_ms,
    }
