"""How soon a broker answers after its start, and what memory it takes idle, under load and afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Final

from benchmarks.batches import batch_of
from benchmarks.bench import Bench
from benchmarks.plan import Plan
from benchmarks.probing import seconds_until_ready
from benchmarks.processes import peak_rss_mb, rss_mb
from benchmarks.results import Metric, Sample, Table
from benchmarks.systems import System, running
from benchmarks.topics import topic

SETTLE_SECONDS: Final = 2.0
METRICS: Final = (
    Metric("start-up s", 2),
    Metric("idle RSS MB", 0),
    Metric("RSS after load MB", 0),
    Metric("peak RSS MB", 0),
)


def run(bench: Bench) -> Iterator[Table]:
    """Each sample is a fresh start of the process on a directory that was closed cleanly."""
    table = Table("Start-up and memory", METRICS)
    with running(bench.work, with_kafka=bench.with_kafka) as systems:
        case = "no topics; then 16 producers of 100 KB batches"
        table.rows.append(bench.alternate(case, systems, partial(_sample, bench)))
    yield table


def _sample(bench: Bench, system: System) -> Sample:
    system.stop()
    seconds = seconds_until_ready(system.start, system.address)
    time.sleep(SETTLE_SECONDS)  # idle is what is measured
    idle_mb = rss_mb(system.pid)
    with topic(system, 16) as name:
        plan = Plan()
        for partition in range(16):
            plan.producer(name, [partition], batch_of(100, 100 * 1024))
            plan.consumer(name, partition)
        bench.load(system, plan, run_ms=2 * bench.effort.run_ms)
        return {
            "start-up s": seconds,
            "idle RSS MB": idle_mb,
            "RSS after load MB": rss_mb(system.pid),
            "peak RSS MB": peak_rss_mb(system.pid),
        }
