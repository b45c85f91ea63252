"""Transactions a second, and how long one takes from its beginning to the answer to its commit.

The client is librdkafka, the same for both brokers; each producer is a thread with a transactional id of its
own and begins the next transaction when the one before is committed.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.bench import Bench
from benchmarks.processes import cpu_seconds
from benchmarks.results import Metric, Sample, Table
from benchmarks.systems import System
from benchmarks.topics import topic

TIMEOUT_SECONDS: Final = 30.0
PARTITIONS: Final = 4
RECORDS: Final = 10
RECORD_BYTES: Final = 100
METRICS: Final = (
    Metric("transactions/s", 0),
    Metric("p50 ms", 2, ratio=False),
    Metric("p99 ms", 2),
    Metric("broker CPU ms each", 2),
)
_names = itertools.count(1)


class Case(NamedTuple):
    producers: int
    with_offsets: bool

    def __str__(self) -> str:
        offsets = ", offsets of a group in each" if self.with_offsets else ""
        return f"{self.producers} producer{'s' if self.producers > 1 else ''}{offsets}"


def run(bench: Bench) -> Iterator[Table]:
    title = f"Transactions: {RECORDS} records of {RECORD_BYTES} B in {PARTITIONS} partitions, then a commit"
    table = Table(title, METRICS)
    cases = [Case(1, False), Case(8, False), Case(1, True), Case(8, True)]
    with bench.systems() as systems:
        for case in cases[:1] if bench.effort.quick else cases:
            table.rows.append(bench.alternate(str(case), systems, partial(_sample, bench, case)))
    yield table


def _sample(bench: Bench, case: Case, system: System) -> Sample:
    with topic(system, PARTITIONS) as name:
        writers = [_Writer(system, name, case.with_offsets) for _ in range(case.producers)]
        _together(writers, bench.effort.warm_ms / 1000)
        for writer in writers:
            writer.seconds.clear()
        cpu, begin = cpu_seconds(system.pid), time.monotonic()
        _together(writers, 2 * bench.effort.run_ms / 1000)
        elapsed, cpu = time.monotonic() - begin, cpu_seconds(system.pid) - cpu
    taken = sorted(seconds for writer in writers for seconds in writer.seconds)
    return {
        "transactions/s": len(taken) / elapsed,
        "p50 ms": 1000 * taken[len(taken) // 2],
        "p99 ms": 1000 * taken[len(taken) * 99 // 100],
        "broker CPU ms each": 1000 * cpu / len(taken),
    }


def _together(writers: list[_Writer], seconds: float) -> None:
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=writer.run_until, args=(end,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for writer in writers:
        if writer.error is not None:
            raise writer.error


class _Writer:
    def __init__(self, system: System, topic_name: str, with_offsets: bool) -> None:
        number = next(_names)
        settings = {"bootstrap.servers": system.address, "log_level": 0}
        self.seconds: list[float] = []
        self.error: BaseException | None = None
        self._topic = topic_name
        self._producer = Producer({**settings, "transactional.id": f"bench-{number}", "linger.ms": 0})
        self._producer.init_transactions(TIMEOUT_SECONDS)
        self._member = Consumer({**settings, "group.id": f"bench-{number}"}) if with_offsets else None

    def run_until(self, end: float) -> None:
        try:
            while (begin := time.monotonic()) < end:
                self._one()
                self.seconds.append(time.monotonic() - begin)
        except BaseException as error:
            self.error = error

    def _one(self) -> None:
        self._producer.begin_transaction()
        for index in range(RECORDS):
            self._producer.produce(self._topic, bytes(RECORD_BYTES), partition=index % PARTITIONS)
        if self._member is not None:
            position = [TopicPartition(self._topic, 0, len(self.seconds))]
            group = self._member.consumer_group_metadata()
            self._producer.send_offsets_to_transaction(position, group, TIMEOUT_SECONDS)
        self._producer.commit_transaction(TIMEOUT_SECONDS)
