"""How long nobody is served when a leader goes, killed or asked to stop: as an idempotent producer of
librdkafka sees it, with acks=all, from the last acknowledgement before to the first one after.

A leader that is the active controller, too, is a case of its own: its voters miss it first and elect another,
and that one gives every broker a whole session before it fences anybody, in Kafka as here.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from confluent_kafka import ElectionType, TopicPartition

from benchmarks.bench import Bench, say
from benchmarks.clusters import MeasuredCluster, running, software
from benchmarks.results import Metric, Row, Sample, Table
from penstock.testing.cluster import Cluster, Node
from penstock.testing.history.availability import longest_gaps
from tests.faults.flow import Flow

PARTITIONS: Final = 3
RATE: Final = 1_000
KILLS: Final = 10
STOPS: Final = 4
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


class Case(NamedTuple):
    way: Callable[[Node], None]
    is_controller: bool  # whether the leader that goes is the active controller

    def __str__(self) -> str:
        who = "leader and active controller" if self.is_controller else "leader"
        return f"{who} {'killed with -9' if self.way is kill else 'asked to stop (SIGTERM)'}"


CASES: Final = {
    Case(kill, is_controller=False): KILLS,
    Case(kill, is_controller=True): KILLS,
    Case(stop, is_controller=False): STOPS,
    Case(stop, is_controller=True): STOPS,
}
SETTINGS: Final = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
"""A third of the default session, so that the wait for it leaves time for many kills."""


def run(bench: Bench) -> Iterator[Table]:
    table = Table("Time without acknowledgements when a leader goes", METRICS)
    table.notes.append(
        "Three nodes on one machine, each broker and controller, broker.session.timeout.ms=3000; "
        f"{PARTITIONS} partitions with three copies, min.insync.replicas=2, two producers "
        f"with {RATE:,} records a second each. The longest gap of any partition, for each leader that goes; "
        "it is started again, and all get in sync before the next."
    )
    turns = _turns(bench)
    rows = {case: Row(str(case)) for case in dict.fromkeys(turns)}
    for chosen in software(bench):
        with running(bench, chosen, SETTINGS) as system:
            for case, sample in _samples(system, turns).items():
                rows[case].samples[system.name] = [sample]
                say(f"  {case} | {system.name}: {sample}")
    table.rows += rows.values()
    yield table


def _turns(bench: Bench) -> list[Case]:
    """Every case once, and again those that are not through yet."""
    if bench.effort.quick:
        return [case for case in CASES if case.way is kill] * QUICK_TIMES
    return [case for turn in range(KILLS) for case, times in CASES.items() if turn < times]


def _samples(system: MeasuredCluster, turns: list[Case]) -> dict[Case, Sample]:
    cluster, topic = system.cluster, f"failover-{next(_topics)}"
    cluster.create_topic(topic, PARTITIONS)
    flow, moments = Flow(cluster.bootstrap_servers, topic, PARTITIONS, rate=RATE), list[float]()
    flow.start()
    for case in turns:
        _lead_as_preferred(cluster, topic)
        flow.wait_for_acks(RATE)
        time.sleep(SETTLED_SECONDS)
        controller = cluster.active_controller()
        leaders = {view.leader for view in cluster.partitions(topic).values()}
        victim = controller if case.is_controller else min(leaders - {controller})
        moments.append(flow.now)
        case.way(cluster.brokers[victim])
        cluster.wait_for_brokers(set(cluster.brokers) - {victim})
        flow.wait_for_acks(RATE)
        cluster.brokers[victim].start()
        cluster.wait_in_sync(topic)
        say(f"  {case} | {system.name}: done")
    flow.finish()
    gaps: dict[Case, list[float]] = {}
    for case, gap in zip(turns, longest_gaps(flow.judge(), moments), strict=True):
        gaps.setdefault(case, []).append(gap)
    return {case: _sample(seen) for case, seen in gaps.items()}


def _lead_as_preferred(cluster: Cluster, topic: str) -> None:
    """Every broker leads one partition, as in the beginning."""
    numbers = [TopicPartition(topic, number) for number in range(PARTITIONS)]

    def is_preferred() -> bool:
        cluster.admin.elect_leaders(ElectionType.PREFERRED, numbers).result(60)
        return all(view.leader == view.replicas[0] for view in cluster.partitions(topic).values())

    cluster.wait_until(is_preferred, f"preferred leaders of {topic}")


def _sample(gaps: list[float]) -> Sample:
    return {
        "p50 s": statistics.median(gaps),
        "p99 s": statistics.quantiles(gaps, n=100, method="inclusive")[98],
        "longest s": max(gaps),
        "times": len(gaps),
    }
