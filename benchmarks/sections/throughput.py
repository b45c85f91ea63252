"""Produce and consume flat out, over the whole matrix of record sizes, connections, codecs and batch sizes.

Each connection has a partition of its own. A producer keeps five requests in flight, a consumer one. Bytes
are those of batches as they are on the wire, compressed or not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from benchmarks.batches import MAX_BATCH_BYTES, Batch, batch_of
from benchmarks.bench import Bench
from benchmarks.generator import Outcome
from benchmarks.plan import Plan
from benchmarks.results import Metric, Sample, Table
from benchmarks.systems import System
from benchmarks.topics import topic
from penstock.records.codecs import Codec

METRICS: Final = (
    Metric("MB/s", 0),
    Metric("k records/s", 0, ratio=False),
    Metric("CPU s/GB", 2),
    Metric("generator busy %", 0, ratio=False),
)
# Consumers read what was written in circles: less data is enough, and small batches take long to write.
LOADED_BYTES: Final = 400_000_000
LOAD_MS: Final = 1500
UNBOUNDED: Final = 1 << 40


class Case(NamedTuple):
    record_bytes: int
    connections: int
    codec: Codec
    batch_bytes: int

    def __str__(self) -> str:
        batch = f"{self.batch_bytes // 1024} KB" if self.batch_bytes < MAX_BATCH_BYTES else "1 MB"
        plural = "s" if self.connections > 1 else ""
        return (
            f"{self.record_bytes} B, {self.codec.name.lower()}, "
            f"{self.connections} connection{plural}, batch {batch}"
        )

    @property
    def batch(self) -> Batch:
        return batch_of(self.record_bytes, self.batch_bytes, self.codec)


def cases(*, quick: bool) -> list[Case]:
    batch_sizes = [1024, 16 * 1024, 100 * 1024, MAX_BATCH_BYTES]
    if quick:
        return [Case(100, connections, Codec.NONE, size) for connections in (1, 16) for size in batch_sizes]
    everything = itertools.product([100, 1000], [1, 16], [Codec.NONE, Codec.LZ4], batch_sizes)
    return [Case(*case) for case in everything]


def produce(bench: Bench) -> Iterator[Table]:
    table = Table("Produce", METRICS)
    with bench.systems() as systems:
        for case in cases(quick=bench.effort.quick):
            table.rows.append(bench.alternate(str(case), systems, partial(_produce, bench, case)))
    yield table


def consume(bench: Bench) -> Iterator[Table]:
    table = Table("Consume", METRICS)
    with bench.systems() as systems:
        for case in cases(quick=bench.effort.quick):
            table.rows.append(bench.alternate(str(case), systems, partial(_consume, bench, case)))
    yield table


def _produce(bench: Bench, case: Case, system: System) -> Sample:
    with topic(system, case.connections) as name:
        return sample(bench.load(system, producers(name, case)))


def _consume(bench: Bench, case: Case, system: System) -> Sample:
    with topic(system, case.connections) as name:
        load_ms = min(LOAD_MS, bench.effort.run_ms)
        plan = producers(name, case)
        written = bench.load(system, plan, warm_ms=0, run_ms=load_ms, max_bytes=LOADED_BYTES)
        plan = Plan()
        for partition, batches in enumerate(written.answered):
            plan.consumer(name, partition, end=batches * case.batch.records)
        return sample(bench.load(system, plan, max_bytes=UNBOUNDED))


def producers(name: str, case: Case) -> Plan:
    plan = Plan()
    for partition in range(case.connections):
        plan.producer(name, [partition], case.batch)
    return plan


def sample(outcome: Outcome) -> Sample:
    return {
        "MB/s": outcome.megabytes_per_second,
        "k records/s": outcome.records_per_second / 1e3,
        "CPU s/GB": outcome.cpu_seconds_per_gigabyte,
        "generator busy %": outcome.generator_busy * 100,
    }
