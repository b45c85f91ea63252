"""Thousands of partitions on three brokers: created, led by others when a broker dies, and served again after
a restart of everything."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from confluent_kafka.admin import NewTopic

from benchmarks.bench import Bench, say
from benchmarks.clusters import COPIES, MeasuredCluster, running, software
from benchmarks.processes import rss_mb
from benchmarks.results import Metric, Row, Sample, Table

FULL_COUNT: Final = 5_000
QUICK_COUNT: Final = 300
A_REQUEST: Final = 1_000
PATIENCE_SECONDS: Final = 600.0
POLL_SECONDS: Final = 0.25
TOPIC: Final = "many"
METRICS: Final = (
    Metric("creation s", 1),
    Metric("all in sync s", 1),
    Metric("RSS MB a node", 0),
    Metric("failover s", 1),
    Metric("back in sync s", 1),
    Metric("clean stop s", 1),
    Metric("restart s", 1),
)


def run(bench: Bench) -> Iterator[Table]:
    count = QUICK_COUNT if bench.effort.quick else FULL_COUNT
    table = Table("Thousands of partitions on three brokers", METRICS)
    table.notes.append(
        "Topics of 1,000 partitions with three copies. Created: every partition says where it ends. "
        "Failover: from kill -9 of a broker until every partition does again, with the default session of "
        "9 s. "
        "Restart: all three, after a controlled shutdown, until every partition answers."
    )
    row = Row(f"{count:,} partitions")
    for chosen in software(bench):
        with running(bench, chosen) as system:
            row.samples[system.name] = [_sample(system, count)]
            say(f"  {row.case} | {system.name}: {row.samples[system.name][0]}")
    table.rows.append(row)
    yield table


def _sample(system: MeasuredCluster, count: int) -> Sample:
    cluster = system.cluster
    sizes = {f"{TOPIC}-{at}": min(A_REQUEST, count - at) for at in range(0, count, A_REQUEST)}
    creation = _timed(lambda: _create(system, sizes), lambda: _all_answer(system, sizes))
    in_sync = _timed(lambda: None, lambda: _all_in_sync(system, sizes))
    memory = max(rss_mb(pid) for pid in system.pids)
    victim = cluster.brokers[cluster.leader_of(next(iter(sizes)))]
    failover = _timed(victim.kill, lambda: _all_answer(system, sizes))
    back = _timed(victim.start, lambda: _all_in_sync(system, sizes))
    begun = time.monotonic()
    for node in cluster.nodes:
        node.stop(patience_seconds=PATIENCE_SECONDS)
    stopped = time.monotonic() - begun

    def start_all() -> None:
        for node in cluster.nodes:
            node.start()

    return {
        "creation s": creation,
        "all in sync s": in_sync,
        "RSS MB a node": memory,
        "failover s": failover,
        "back in sync s": back,
        "clean stop s": stopped,
        "restart s": _timed(start_all, lambda: _all_answer(system, sizes)),
    }


def _timed(act: Callable[[], object], is_done: Callable[[], bool]) -> float:
    begun = time.monotonic()
    act()
    while not is_done():
        if time.monotonic() > begun + PATIENCE_SECONDS:
            raise TimeoutError(f"not done after {PATIENCE_SECONDS:g} s")
        time.sleep(POLL_SECONDS)
    return time.monotonic() - begun


def _create(system: MeasuredCluster, sizes: dict[str, int]) -> None:
    topics = [NewTopic(name, size, COPIES) for name, size in sizes.items()]
    for future in system.cluster.admin.create_topics(
        topics, request_timeout=PATIENCE_SECONDS, operation_timeout=PATIENCE_SECONDS
    ).values():
        future.result(PATIENCE_SECONDS)


def _all_answer(system: MeasuredCluster, sizes: dict[str, int]) -> bool:
    return all(system.answers(name, size) for name, size in sizes.items())


def _all_in_sync(system: MeasuredCluster, sizes: dict[str, int]) -> bool:
    return all(system.cluster.is_in_sync(name) for name in sizes)
