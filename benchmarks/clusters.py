"""The two clusters that are measured: three nodes each, broker and controller in one, on this one machine.

Both have the defaults of their makers but for the factors of replication. They are up side by side where
samples are taken in turns, and alone where a single sample takes minutes.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from benchmarks.bench import Bench
from benchmarks.generator import Generator, Outcome
from benchmarks.plan import Plan
from benchmarks.processes import cpu_seconds
from benchmarks.systems import JAVA_OPTIONS, allow_many_files
from penstock.testing.cluster import Cluster, Penstock, Software
from tests.peers.apache_cluster import Apache

COPIES: Final = 3
ANSWER_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class MeasuredCluster:
    cluster: Cluster
    generators: dict[int, Generator]
    """One for each broker: a producer speaks with the leader of its partition."""

    @property
    def name(self) -> str:
        return self.cluster.software.name

    @property
    def pids(self) -> list[int]:
        return [node.pid for node in self.cluster.nodes]

    def cpu_seconds(self) -> float:
        return sum(map(cpu_seconds, self.pids))

    def answers(self, topic: str, partitions: int) -> bool:
        """Whether each partition has a leader that says where it ends: one is known a little before it is
        ready."""
        wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(partitions)}
        try:
            for future in self.cluster.admin.list_offsets(wanted, request_timeout=ANSWER_SECONDS).values():
                future.result(2 * ANSWER_SECONDS)
        except KafkaException:
            return False
        return True

    def load(self, plans: Mapping[int, Plan], bench: Bench) -> list[Outcome]:
        """Every broker gets its plan, all at the same time."""
        outcomes: list[Outcome] = []

        def run(number: int) -> None:
            outcomes.append(
                self.generators[number].run(
                    plans[number],
                    self.cluster.brokers[number].address,
                    warm_ms=bench.effort.warm_ms,
                    run_ms=bench.effort.run_ms,
                    max_bytes=bench.effort.max_bytes // len(plans),
                )
            )

        threads = [threading.Thread(target=run, args=(number,)) for number in plans]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(outcomes) == len(plans), "a generator failed; its words are above"
        return outcomes


def software(bench: Bench) -> Sequence[Software]:
    return [Penstock(), Apache(JAVA_OPTIONS)] if bench.with_kafka else [Penstock()]


@contextmanager
def running(
    bench: Bench, chosen: Software, settings: Mapping[str, str] | None = None
) -> Iterator[MeasuredCluster]:
    """A cluster on empty directories; it and its data are gone afterwards."""
    allow_many_files()
    home = bench.work / f"cluster-{chosen.name.split()[0].lower()}"
    try:
        with Cluster(home, chosen, settings=settings) as cluster:
            generators = {number: Generator(_made(home / f"load-{number}")) for number in cluster.brokers}
            yield MeasuredCluster(cluster, generators)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def all_running(bench: Bench) -> Iterator[list[MeasuredCluster]]:
    with ExitStack() as stack:
        yield [stack.enter_context(running(bench, chosen)) for chosen in software(bench)]


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True)
    return directory
