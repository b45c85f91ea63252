"""How long nobody is served when a leader goes, killed or asked to stop: as an idempotent producer of
librdkafka sees it, with acks=all, from the last acknowledgement before to the first one after."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Final

from benchmarks.bench import Bench, say
from benchmarks.clusters import MeasuredCluster, running, software
from benchmarks.results import Metric, Row, Sample, Table
from penstock.testing.cluster import Node
from penstock.testing.history.availability import longest_gaps
from tests.faults.flow import Flow

PARTITIONS: Final = 3
RATE: Final = 1_000
FULL_TIMES: Final = 12
QUICK_TIMES: Final = 2
SETTLED_SECONDS: Final = 2.0
METRICS: Final = (
    Metric("p50 s", 2),
    Metric("p99 s", 2),
    Metric("longest s", 2),
    Metric("times", 0, ratio=False),
)

_topics = itertools.count(1)


def kill(node: Node) -> None:
    node.kill()


def stop(node: Node) -> None:
    node.stop()


CASES: Final[dict[str, tuple[Callable[[Node], None], dict[str, str]]]] = {
    "leader killed with -9, default timeouts": (kill, {}),
    "leader killed with -9, broker.session.timeout.ms=3000": (
        kill,
        {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"},
    ),
    "leader asked to stop (SIGTERM)": (stop, {}),
}


def run(bench: Bench) -> Iterator[Table]:
    table = Table("Time without acknowledgements when a leader goes", METRICS)
    table.notes.append(
        f"Three nodes on one machine, each broker and controller; {PARTITIONS} partitions with three copies, "
        f"min.insync.replicas=2, two producers with {RATE:,} records a second each. The longest gap of any "
        "partition, for each leader that goes; it is started again, and all get in sync before the next."
    )
    for case, (way, settings) in CASES.items():
        row = Row(case)
        for chosen in software(bench):
            with running(bench, chosen, settings) as system:
                row.samples[system.name] = [_sample(bench, system, way)]
                say(f"  {case} | {system.name}: {row.samples[system.name][0]}")
        table.rows.append(row)
    yield table


def _sample(bench: Bench, system: MeasuredCluster, way: Callable[[Node], None]) -> Sample:
    cluster, topic = system.cluster, f"failover-{next(_topics)}"
    cluster.create_topic(topic, PARTITIONS)
    flow, moments = Flow(cluster.bootstrap_servers, topic, PARTITIONS, rate=RATE), list[float]()
    flow.start()
    for turn in range(QUICK_TIMES if bench.effort.quick else FULL_TIMES):
        flow.wait_for_acks(RATE)
        time.sleep(SETTLED_SECONDS)
        leader = cluster.leader_of(topic, turn % PARTITIONS)
        moments.append(flow.now)
        way(cluster.brokers[leader])
        cluster.wait_for_brokers(set(cluster.brokers) - {leader})
        flow.wait_for_acks(RATE)
        cluster.brokers[leader].start()
        cluster.wait_in_sync(topic)
    flow.finish()
    gaps = longest_gaps(flow.judge(), moments)
    return {
        "p50 s": statistics.median(gaps),
        "p99 s": statistics.quantiles(gaps, n=100, method="inclusive")[98],
        "longest s": max(gaps),
        "times": len(gaps),
    }
