"""Kafka's own kafka-producer-perf-test and kafka-consumer-perf-test: what a real client gets.

The Java client shares the cores with the broker and takes most of them. These figures are of the whole; the
broker's part in them is its CPU time.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from benchmarks.bench import Bench
from benchmarks.processes import cpu_seconds
from benchmarks.results import Metric, Sample, Table
from benchmarks.systems import System
from benchmarks.topics import topic
from tests.peers.apache_kafka import Unavailable, tool_jars

TIMEOUT_SECONDS: Final = 300
PARTITIONS: Final = 4
TOTAL_BYTES: Final = 300_000_000
QUICK_BYTES: Final = 40_000_000
PRODUCER_METRICS: Final = (
    Metric("MB/s", 0),
    Metric("k records/s", 0, ratio=False),
    Metric("p50 ms", 0, ratio=False),
    Metric("p99 ms", 0),
    Metric("broker CPU s/GB", 2),
)
CONSUMER_METRICS: Final = (
    Metric("MB/s", 0),
    Metric("k records/s", 0, ratio=False),
    Metric("broker CPU s/GB", 2),
)
_SENT: Final = re.compile(
    r"([\d.]+) records/sec \(([\d.]+) MB/sec\).*?(\d+) ms 50th, \d+ ms 95th, (\d+) ms 99th", re.DOTALL
)
_MEBIBYTE: Final = 1024 * 1024


class Case(NamedTuple):
    record_bytes: int
    codec: str
    batch_bytes: int

    def __str__(self) -> str:
        return f"{self.record_bytes} B, {self.codec}, batch.size {self.batch_bytes // 1024} KB"


def run(bench: Bench) -> Iterator[Table]:
    producer = Table("kafka-producer-perf-test: acks=all, idempotent, one producer", PRODUCER_METRICS)
    consumer = Table("kafka-consumer-perf-test: one consumer in a group", CONSUMER_METRICS)
    try:
        tool_jars()
    except Unavailable as reason:
        producer.notes.append(f"Not measured: {reason}.")
        yield producer
        return
    with bench.systems() as systems:
        for case in _cases(quick=bench.effort.quick):
            row = bench.alternate(str(case), systems, partial(_produce, bench, case))
            producer.rows.append(row)
        yield producer
        for record_bytes in (100, 1000):
            row = bench.alternate(f"{record_bytes} B", systems, partial(_consume, bench, record_bytes))
            consumer.rows.append(row)
        yield consumer


def _cases(*, quick: bool) -> list[Case]:
    default = [Case(100, "none", 16 * 1024)]
    if quick:
        return default
    return [
        *default,
        Case(100, "none", 100 * 1024),
        Case(100, "lz4", 100 * 1024),
        Case(1000, "none", 16 * 1024),
        Case(1000, "none", 100 * 1024),
    ]


def _produce(bench: Bench, case: Case, system: System) -> Sample:
    with topic(system, PARTITIONS) as name:
        return _produce_to(bench, case, system, name)


def _produce_to(bench: Bench, case: Case, system: System, name: str) -> Sample:
    """Half of the records warm the client up."""
    count = _bytes(bench) // case.record_bytes
    used = cpu_seconds(system.pid)
    said = _tool(
        "ProducerPerformance",
        *("--bootstrap-server", system.address, "--topic", name, "--throughput", "-1"),
        *("--num-records", str(count), "--warmup-records", str(count // 2)),
        *("--record-size", str(case.record_bytes)),
        *("--command-property", f"batch.size={case.batch_bytes}", f"compression.type={case.codec}"),
    )
    rate, mebibytes, p50, p99 = map(float, _SENT.findall(said)[-1])
    return {
        "MB/s": mebibytes * _MEBIBYTE / 1e6,
        "k records/s": rate / 1e3,
        "p50 ms": p50,
        "p99 ms": p99,
        "broker CPU s/GB": (cpu_seconds(system.pid) - used) / (count * case.record_bytes / 1e9),
    }


def _consume(bench: Bench, record_bytes: int, system: System) -> Sample:
    with topic(system, PARTITIONS) as name:
        _produce_to(bench, Case(record_bytes, "none", 100 * 1024), system, name)
        count = _bytes(bench) // record_bytes
        used = cpu_seconds(system.pid)
        said = _tool(
            "ConsumerPerformance",
            *("--bootstrap-server", system.address, "--topic", name, "--hide-header"),
            *("--num-records", str(count), "--group", f"{name}-readers"),
        )
        # start, end, MB, MB/s, records, records/s, rebalance ms, fetch ms, fetch MB/s, fetch records/s
        fields = said.strip().splitlines()[-1].split(", ")
        return {
            "MB/s": float(fields[8]) * _MEBIBYTE / 1e6,
            "k records/s": float(fields[9]) / 1e3,
            "broker CPU s/GB": (cpu_seconds(system.pid) - used) / (count * record_bytes / 1e9),
        }


def _bytes(bench: Bench) -> int:
    return QUICK_BYTES if bench.effort.quick else TOTAL_BYTES


def _tool(name: str, *arguments: str) -> str:
    command = ["java", "-Xmx512M", "-cp", f"{tool_jars()}/*", f"org.apache.kafka.tools.{name}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    if done.returncode:
        raise RuntimeError(f"{name} failed: {done.stdout[-500:]}{done.stderr[-1500:]}")
    return done.stdout
