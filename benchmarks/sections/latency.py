"""How long a producer waits for its acknowledgement, and a consumer for the record: idle, and under a million
records a second.

The load has a fixed timetable: latency counts from the moment at which a batch was due, so a broker that
stalls cannot hide it by being sent less. The probe is synchronous: one record, its answer, a pause. Consumers
have a fetch waiting at the tail when a record comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from benchmarks.batches import Batch, batch_of
from benchmarks.bench import Bench
from benchmarks.generator import Latency
from benchmarks.plan import Plan
from benchmarks.results import Metric, Row, Sample, Table
from benchmarks.systems import System
from benchmarks.topics import topic

RECORDS_PER_SECOND: Final = 1_000_000
LOAD_CONNECTIONS: Final = 16
PROBE_INTERVAL_NS: Final = 2_000_000
SECOND_NS: Final = 1_000_000_000
PROBE_GROUP: Final = 0
LOAD_GROUP: Final = 1
PROBE_LANE: Final = LOAD_CONNECTIONS
# A million records of 100 bytes are 110 MB a second: ten seconds fit into the page cache.
MAX_BYTES: Final = 3_000_000_000
METRICS: Final = (
    Metric("p50 ms", 2),
    Metric("p99 ms", 2),
    Metric("p99.9 ms", 2, ratio=False),
    Metric("max ms", 1, ratio=False),
)
LOAD_METRICS: Final = (
    Metric("k records/s", 0),
    *METRICS,
    Metric("broker CPU %", 0),
)


def run(bench: Bench) -> Iterator[Table]:
    with bench.systems() as systems:
        yield Table("Latency, idle", METRICS, _idle(bench, systems))
        table = Table("Latency under one million records of 100 B a second, written and read", LOAD_METRICS)
        for batch_bytes in (16 * 1024, 100 * 1024):
            table.rows += _loaded(bench, systems, batch_of(100, batch_bytes), batch_bytes // 1024)
        table.notes.append(
            f"{LOAD_CONNECTIONS} producers and {LOAD_CONNECTIONS} consumers, a partition each, are the load. "
            "The probe is one more producer, which sends single records one at a time, and one more consumer."
        )
        yield table


def _idle(bench: Bench, systems: list[System]) -> list[Row]:
    probe = batch_of(100, 0)

    def produce(system: System) -> Sample:
        with topic(system, 1) as name:
            plan = Plan()
            plan.producer(name, [0], probe, in_flight=1, interval_ns=PROBE_INTERVAL_NS)
            return _sample(bench.load(system, plan, run_ms=_run_ms(bench)).groups[0].answered)

    def produce_to_consume(system: System) -> Sample:
        with topic(system, 1) as name:
            plan = Plan()
            _add_probe(plan, name, probe)
            return _sample(bench.load(system, plan, run_ms=_run_ms(bench)).groups[0].consumed)

    return [
        bench.alternate("synchronous produce", systems, produce),
        bench.alternate("produce to consume", systems, produce_to_consume),
    ]


def _loaded(bench: Bench, systems: list[System], batch: Batch, batch_kb: int) -> list[Row]:
    """Three rows from one run: what the probe sees at both ends, and what the load itself sees."""
    rows = [
        Row(f"{what}, batch {batch_kb} KB", {system.name: [] for system in systems})
        for what in ("probe: synchronous produce", "probe: produce to consume", "load: produce to consume")
    ]

    def measure(system: System) -> Sample:
        with topic(system, LOAD_CONNECTIONS) as name, topic(system, 1) as probe_name:
            plan = Plan()
            _add_probe(plan, probe_name, batch_of(100, 0))
            _add_load(plan, name, batch)
            outcome = bench.load(system, plan, run_ms=_run_ms(bench), max_bytes=MAX_BYTES)
        probe, load = outcome.groups
        shared = {
            "k records/s": load.records / 2 / outcome.seconds / 1e3,  # each is counted at both ends
            "broker CPU %": outcome.broker_cpu_seconds / outcome.seconds * 100,
        }
        for row, latency in zip(rows, (probe.answered, probe.consumed, load.consumed), strict=True):
            row.samples[system.name].append({**shared, **_sample(latency)})
        return {**shared, **_sample(load.consumed)}

    bench.alternate(f"one million records/s, batch {batch_kb} KB", systems, measure)
    return rows


def _add_probe(plan: Plan, name: str, batch: Batch) -> None:
    plan.producer(
        name, [0], batch, group=PROBE_GROUP, lane=PROBE_LANE, in_flight=1, interval_ns=PROBE_INTERVAL_NS
    )
    plan.consumer(name, 0, group=PROBE_GROUP, lane=PROBE_LANE)


def _add_load(plan: Plan, name: str, batch: Batch) -> None:
    interval_ns = SECOND_NS * LOAD_CONNECTIONS * batch.records // RECORDS_PER_SECOND
    for partition in range(LOAD_CONNECTIONS):
        delay_ns = interval_ns * partition // LOAD_CONNECTIONS
        plan.producer(
            *(name, [partition], batch),
            group=LOAD_GROUP,
            lane=partition,
            interval_ns=interval_ns,
            delay_ns=delay_ns,
        )
        plan.consumer(name, partition, group=LOAD_GROUP, lane=partition)


def _run_ms(bench: Bench) -> int:
    return 3 * bench.effort.run_ms


def _sample(latency: Latency) -> Sample:
    assert latency.count, "nothing was measured"
    return {
        "p50 ms": latency.p50_ms,
        "p99 ms": latency.p99_ms,
        "p99.9 ms": latency.p999_ms,
        "max ms": latency.max_ms,
    }
