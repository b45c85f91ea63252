"""Thousands of partitions on three brokers: created, led by others when a broker dies or stops, and served
again after all were killed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from confluent_kafka.admin import NewTopic

from benchmarks.bench import Bench, say
from benchmarks.clusters import COPIES, MeasuredCluster, running, software
from benchmarks.processes import cpu_seconds, rss_mb
from benchmarks.results import Metric, Row, Sample, Table
from penstock.testing.cluster import Node

FULL_COUNT: Final = 5_000
QUICK_COUNT: Final = 300
A_REQUEST: Final = 1_000
PATIENCE_SECONDS: Final = 600.0
POLL_SECONDS: Final = 0.25
IDLE_SECONDS: Final = 10.0
TOPIC: Final = "many"
METRICS: Final = (
    Metric("creation s", 1),
    Metric("all in sync s", 1),
    Metric("RSS MB a node", 0),
    Metric("idle CPU %", 1),
    Metric("failover s", 1),
    Metric("back in sync s", 1),
    Metric("one stops s", 1),
    Metric("one is back s", 1),
    Metric("all killed, restart s", 1),
    Metric("CPU s", 0),
)


def run(bench: Bench) -> Iterator[Table]:
    count = QUICK_COUNT if bench.effort.quick else FULL_COUNT
    table = Table("Thousands of partitions on three brokers", METRICS)
    table.notes.append(
        "Topics of 1,000 partitions with three copies. Created: every partition says where it ends. "
        "Failover: from kill -9 of a broker until every partition does again, with the default session of "
        "9 s; back in sync: from its start. Then the same broker stops and starts as in a rolling restart. "
        "At last all three are killed and started again. Idle is one node's share of a core, CPU that of "
        "all nodes in all of it."
    )
    row = Row(f"{count:,} partitions")
    for chosen in software(bench):
        with running(bench, chosen) as system:
            row.samples[system.name] = [_sample(system, count)]
            say(f"  {row.case} | {system.name}: {row.samples[system.name][0]}")
    table.rows.append(row)
    yield table


def _sample(system: MeasuredCluster, count: int) -> Sample:
    """The whole cluster is never asked to stop: the last nodes of a quorum that is gone have nobody to say
    goodbye to, and Apache Kafka's wait five minutes for it."""
    cluster, spent = system.cluster, _Spent()
    sizes = {f"{TOPIC}-{at}": min(A_REQUEST, count - at) for at in range(0, count, A_REQUEST)}

    def all_answer() -> bool:
        return all(system.answers(name, size) for name, size in sizes.items())

    def all_in_sync() -> bool:
        return all(cluster.is_in_sync(name) for name in sizes)

    def start_all() -> None:
        for node in cluster.nodes:
            node.start()

    sample = {
        "creation s": _timed(lambda: _create(system, sizes), all_answer),
        "all in sync s": _timed(lambda: None, all_in_sync),
        "RSS MB a node": max(rss_mb(pid) for pid in system.pids),
        "idle CPU %": _idle_percent(system),
    }
    victim = cluster.brokers[cluster.leader_of(next(iter(sizes)))]
    spent.before_end_of(victim)
    sample["failover s"] = _timed(victim.kill, all_answer)
    sample["back in sync s"] = _timed(victim.start, all_in_sync)
    spent.before_end_of(victim)
    sample["one stops s"] = _timed(lambda: victim.stop(PATIENCE_SECONDS), all_answer)
    sample["one is back s"] = _timed(victim.start, all_in_sync)
    for node in cluster.nodes:
        spent.before_end_of(node)
        node.kill()
    sample["all killed, restart s"] = _timed(start_all, all_answer)
    sample["CPU s"] = spent.seconds + system.cpu_seconds()
    return sample


class _Spent:
    """CPU of processes that have ended."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def before_end_of(self, node: Node) -> None:
        self.seconds += cpu_seconds(node.pid)


def _idle_percent(system: MeasuredCluster) -> float:
    before = system.cpu_seconds()
    time.sleep(IDLE_SECONDS)
    return 100 * (system.cpu_seconds() - before) / IDLE_SECONDS / len(system.pids)


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
