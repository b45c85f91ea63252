"""What a synchronous producer and a tailing consumer notice while the log of another topic is compacted.

Whether it was compacted is measured too: the share of the written bytes that the cleaner took away meanwhile.
Where that is nothing, the latencies say nothing about compaction, and a note below the table says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.batches import batch_of
from benchmarks.bench import Bench
from benchmarks.plan import Plan
from benchmarks.results import Metric, Sample, Table
from benchmarks.systems import System
from benchmarks.topics import topic

PARTITIONS: Final = 4
KEYS: Final = 1000
BATCH_BYTES: Final = 100 * 1024
BYTES_PER_SECOND: Final = 40_000_000
PROBE_INTERVAL_NS: Final = 2_000_000
SECOND_NS: Final = 1_000_000_000
PROBE_LANE: Final = 0
SETTINGS: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": str(8 * 1024 * 1024),
    "min.cleanable.dirty.ratio": "0.01",
}
COMPACTED: Final = "compacted away %"
LEAST_COMPACTED_PERCENT: Final = 1.0
METRICS: Final = (
    Metric(COMPACTED, 0, ratio=False),
    Metric("produce p50 ms", 2),
    Metric("produce p99 ms", 2),
    Metric("to consumer p50 ms", 2),
    Metric("to consumer p99 ms", 2),
    Metric("broker CPU %", 0),
)


def run(bench: Bench) -> Iterator[Table]:
    table = Table("Latency while another topic is compacted", METRICS)
    table.notes.append(
        f"{PARTITIONS} producers write {BYTES_PER_SECOND // 1_000_000} MB a second with {KEYS:,} keys to "
        "segments of 8 MB, to be cleaned at once; the cleaner looks every second."
    )
    with bench.systems() as systems:
        row = bench.alternate("probe: one record at a time", systems, partial(_sample, bench))
    table.rows.append(row)
    idle = [name for name in row.samples if (row.median(name, COMPACTED) or 0.0) < LEAST_COMPACTED_PERCENT]
    table.notes += [f"{name} compacted nothing: its latencies are those of an idle cleaner." for name in idle]
    yield table


def _sample(bench: Bench, system: System) -> Sample:
    batch = batch_of(100, BATCH_BYTES, keys=KEYS)
    interval_ns = SECOND_NS * PARTITIONS * len(batch.data) // BYTES_PER_SECOND
    with topic(system, PARTITIONS, SETTINGS) as name, topic(system, 1) as probe_name:
        plan = Plan()
        plan.producer(
            *(probe_name, [0], batch_of(100, 0)),
            lane=PROBE_LANE,
            in_flight=1,
            interval_ns=PROBE_INTERVAL_NS,
        )
        plan.consumer(probe_name, 0, lane=PROBE_LANE)
        for partition in range(PARTITIONS):
            plan.producer(name, [partition], batch, group=1, interval_ns=interval_ns)
        outcome = bench.load(system, plan, warm_ms=3 * bench.effort.warm_ms, run_ms=5 * bench.effort.run_ms)
        kept = _log_bytes(system, name)
    written = sum(outcome.answered[2:]) * len(batch.data)
    probe = outcome.groups[0]
    return {
        COMPACTED: 100 * (1 - kept / written),
        "produce p50 ms": probe.answered.p50_ms,
        "produce p99 ms": probe.answered.p99_ms,
        "to consumer p50 ms": probe.consumed.p50_ms,
        "to consumer p99 ms": probe.consumed.p99_ms,
        "broker CPU %": outcome.broker_cpu_seconds / outcome.seconds * 100,
    }


def _log_bytes(system: System, name: str) -> int:
    """What the segments of the topic hold now; files on their way to being deleted do not count."""
    logs = [
        path for index in range(PARTITIONS) for path in Path(system.data, f"{name}-{index}").glob("*.log")
    ]
    return sum(path.stat().st_size for path in logs)
