"""How fast the load generator goes when nobody holds it back: against a server that only throws away.

A broker's figure far below this one is the broker's own.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from benchmarks.batches import MAX_BATCH_BYTES, batch_of
from benchmarks.bench import Bench, say
from benchmarks.generator import compiled
from benchmarks.plan import Plan
from benchmarks.requests import fetch_frame, produce_frame
from benchmarks.results import Metric, Row, Table

SERVER: Final = "a server that throws away"
TOPIC: Final = "bench-00000"
UNBOUNDED: Final = 1 << 40
METRICS: Final = (Metric("MB/s", 0), Metric("requests/s", 0), Metric("generator busy %", 0))


def run(bench: Bench) -> Iterator[Table]:
    table = Table("The load generator alone", METRICS, notes=["Sent to and answered by a C program."])
    for batch_bytes in (1024, 16 * 1024, 100 * 1024, MAX_BATCH_BYTES):
        batch = batch_of(100, batch_bytes)
        plan = Plan()
        for partition in range(16):
            plan.producer(TOPIC, [partition], batch)
        error_at = produce_frame(TOPIC, 0, batch.data).error_at
        case = f"produce, 16 connections, batch {batch_bytes // 1024} KB"
        table.rows.append(_measure(bench, case, plan, bytes(error_at + 64)))
    batch = batch_of(100, MAX_BATCH_BYTES)
    plan = Plan()
    for partition in range(16):
        plan.consumer(TOPIC, partition, end=1)
    length = len(batch.data) + 1
    varint = bytes([length & 0x7F | 0x80, length >> 7 & 0x7F | 0x80, length >> 14])
    answer = bytes(fetch_frame(TOPIC, 0).records_at) + varint + batch.data + bytes(3)
    table.rows.append(_measure(bench, "consume, 16 connections, 1 MB a fetch", plan, answer))
    yield table


def _measure(bench: Bench, case: str, plan: Plan, answer: bytes) -> Row:
    row = Row(case, {SERVER: []})
    with _sink(bench, answer) as (address, pid):
        for _ in range(bench.effort.rounds):
            outcome = bench.generator.run(
                *(plan, address),
                pid=pid,
                warm_ms=bench.effort.warm_ms,
                run_ms=bench.effort.run_ms,
                max_bytes=UNBOUNDED,
            )
            sample = {
                "MB/s": outcome.megabytes_per_second,
                "requests/s": outcome.groups[0].requests / outcome.seconds,
                "generator busy %": outcome.generator_busy * 100,
            }
            row.samples[SERVER].append(sample)
            say(f"  {case}: {sample['MB/s']:,.0f} MB/s, {sample['requests/s']:,.0f} requests/s")
    return row


@contextmanager
def _sink(bench: Bench, answer: bytes) -> Iterator[tuple[str, int]]:
    path = bench.work / "answer"
    path.write_bytes(struct.pack(">i", len(answer)) + answer)
    command = [str(compiled("sink.c", bench.work)), str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"127.0.0.1:{int(process.stdout.readline())}", process.pid
        finally:
            process.stdin.close()
