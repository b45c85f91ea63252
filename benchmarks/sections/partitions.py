"""Thousands of partitions: made, written to one after the other, and found again after a restart."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Final

from benchmarks.batches import batch_of
from benchmarks.bench import Bench
from benchmarks.plan import Plan
from benchmarks.probing import seconds_until_ready
from benchmarks.processes import rss_mb
from benchmarks.results import Metric, Sample, Table
from benchmarks.systems import System
from benchmarks.topics import create

CONNECTIONS: Final = 16
BATCH_BYTES: Final = 16 * 1024
METRICS: Final = (
    Metric("creation s", 2),
    Metric("RSS MB", 0),
    Metric("produce MB/s", 0),
    Metric("CPU s/GB", 2),
    Metric("RSS after produce MB", 0),
    Metric("clean stop s", 2),
    Metric("restart s", 2),
)


def run(bench: Bench) -> Iterator[Table]:
    table = Table("Many partitions", METRICS)
    table.notes.append(
        f"One topic, one request. {CONNECTIONS} connections write batches of {BATCH_BYTES // 1024} KB "
        "to all partitions in turn. A restart ends when the broker answers."
    )
    for count in (1000, 5000):
        with bench.systems() as systems:
            sample = partial(_sample, bench, count)
            table.rows.append(bench.alternate(f"{count:,} partitions", systems, sample, rounds=1))
    yield table


def _sample(bench: Bench, count: int, system: System) -> Sample:
    name = f"bench-{count}-partitions"
    begun = time.monotonic()
    create(system, name, count)
    creation = time.monotonic() - begun
    created_mb = rss_mb(system.pid)
    plan = Plan()
    each = count // CONNECTIONS
    for first in range(CONNECTIONS):
        mine = range(first * each, (first + 1) * each)
        plan.producer(name, mine, batch_of(100, BATCH_BYTES))
    outcome = bench.load(system, plan)
    produced_mb = rss_mb(system.pid)
    begun = time.monotonic()
    system.stop()
    stop = time.monotonic() - begun
    return {
        "creation s": creation,
        "RSS MB": created_mb,
        "produce MB/s": outcome.megabytes_per_second,
        "CPU s/GB": outcome.cpu_seconds_per_gigabyte,
        "RSS after produce MB": produced_mb,
        "clean stop s": stop,
        "restart s": seconds_until_ready(system.start, system.address),
    }
