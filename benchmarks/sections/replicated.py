"""Produce with three copies and acks=all: what a cluster of three on one machine carries.

Partitions are led by all three brokers in equal parts; each broker has its own generator. Six followers'
shares of the work are done on the same cores, so this is a figure of the whole, for both alike.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from benchmarks.batches import batch_of
from benchmarks.bench import Bench
from benchmarks.clusters import MeasuredCluster, all_running
from benchmarks.plan import Plan
from benchmarks.results import Metric, Sample, Table

PARTITIONS: Final = 6
METRICS: Final = (
    Metric("MB/s", 0),
    Metric("k records/s", 0, ratio=False),
    Metric("p50 ms", 1),
    Metric("p99 ms", 1),
    Metric("CPU s/GB", 2),
)

_topics = itertools.count(1)


class Case(NamedTuple):
    record_bytes: int
    batch_bytes: int

    def __str__(self) -> str:
        return f"{self.record_bytes} B, batch {self.batch_bytes // 1024} KB"


CASES: Final = (Case(100, 16 * 1024), Case(100, 100 * 1024), Case(1000, 100 * 1024))


def run(bench: Bench) -> Iterator[Table]:
    table = Table("Produce, three copies, acks=all, min.insync.replicas=2", METRICS)
    table.notes.append(
        f"{PARTITIONS} partitions, led by three brokers in equal parts, one connection each with five "
        "requests in flight. CPU is that of all three nodes."
    )
    with all_running(bench) as systems:
        for system in systems:
            _produce(bench, CASES[0], system)  # for a JVM to compile what it runs most
        for case in CASES[:1] if bench.effort.quick else CASES:
            table.rows.append(bench.alternate(str(case), systems, partial(_produce, bench, case)))
    yield table


def _produce(bench: Bench, case: Case, system: MeasuredCluster) -> Sample:
    topic, cluster = f"replicated-{next(_topics)}", system.cluster
    cluster.create_topic(topic, PARTITIONS)
    cluster.wait_until(lambda: system.answers(topic, PARTITIONS), f"leaders of {topic}")
    plans: dict[int, Plan] = {}
    for number, view in cluster.partitions(topic).items():
        plan = plans.setdefault(view.leader, Plan())
        plan.producer(topic, [number], batch_of(case.record_bytes, case.batch_bytes))
    used, begun = system.cpu_seconds(), time.monotonic()
    outcomes = system.load(plans, bench)
    seconds, used = time.monotonic() - begun, system.cpu_seconds() - used
    cluster.admin.delete_topics([topic])[topic].result(60)
    answered = [group.answered for outcome in outcomes for group in outcome.groups]
    rate = sum(outcome.megabytes_per_second for outcome in outcomes)
    return {
        "MB/s": rate,
        "k records/s": sum(outcome.records_per_second for outcome in outcomes) / 1e3,
        "p50 ms": max(latency.p50_ms for latency in answered),
        "p99 ms": max(latency.p99_ms for latency in answered),
        "CPU s/GB": used / (rate * seconds / 1e3),
    }
