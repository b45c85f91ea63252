"""What the fault tests of a cluster share: which software, which timeouts, the rounds, and an eye on the
leaders.

A test that takes `software` runs on Penstock, and with `--apache` on Apache Kafka, which proves the test.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

import pytest

from penstock.testing.cluster import Cluster, PartitionView, Penstock, Software, read_replica
from penstock.testing.cluster.views import Witnesses
from penstock.testing.history.events import History, Partition, ReplicaLog
from tests.faults.flow import Flow
from tests.peers.apache_cluster import Apache
from tests.peers.apache_kafka import Unavailable, jars

PARTITIONS: Final = 3
RATE: Final = 2_000
"""Records a second of each of two producers, in the long forms."""

SHORT_RATE: Final = 500
"""In the short forms: to judge 2,000 a second takes as long as to make them."""

QUICK: Final = {
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "2500",
    "replica.lag.time.max.ms": "3000",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1500",
    "log.segment.bytes": "2000000",
}
"""Faults are noticed in seconds, so that a test can have many of them."""

FENCED_SECONDS: Final = 4.0
"""After this long a broker that is not heard of has lost what it led."""

LOOK_SECONDS: Final = 0.1


@pytest.fixture(scope="session")
def software(pytestconfig: pytest.Config) -> Software:
    if not pytestconfig.getoption("--apache"):
        return Penstock()
    try:
        jars()
    except Unavailable as reason:
        pytest.skip(str(reason))
    return Apache()


def replica_reader(cluster: Cluster) -> Callable[[Partition, int], list[ReplicaLog]]:
    """Reads a partition in the files of every broker."""

    def read(partition: Partition, high_watermark: int) -> list[ReplicaLog]:
        return [
            read_replica(node.directory_of(str(partition)), partition, number, high_watermark)
            for number, node in cluster.brokers.items()
        ]

    return read


class Elections(threading.Thread):
    """Asks every broker who leads, all the time: two leaders of one partition in one epoch must not be."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._topic = topic
        self._stopping = threading.Event()
        self.leaders: dict[tuple[int, int], set[int]] = {}

    def run(self) -> None:
        witnesses = Witnesses(self._cluster.client_settings)
        while not self._stopping.wait(LOOK_SECONDS):
            for view in witnesses.ask(self._cluster.brokers.values(), self._topic):
                for number, partition in view.partitions.items():
                    self._note(number, partition)
        witnesses.close()

    def _note(self, number: int, partition: PartitionView) -> None:
        if partition.leader >= 0:
            self.leaders.setdefault((number, partition.leader_epoch), set()).add(partition.leader)

    def finish(self) -> None:
        self._stopping.set()
        self.join(30)
        doubled = {key: leaders for key, leaders in self.leaders.items() if len(leaders) > 1}
        assert not doubled, f"two leaders in one epoch, by (partition, epoch): {doubled}"


class Round:
    """One topic, one history: `with Round(cluster, topic) as round_:` lets records flow; its end heals
    nothing, waits until all replicas are in sync, and judges."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        *,
        rate: int = SHORT_RATE,
        partitions: int = PARTITIONS,
        security: dict[str, Any] | None = None,
        **settings: str,
    ) -> None:
        """`security` are settings of librdkafka for every client."""
        self.cluster = cluster
        self.topic = topic
        self.moments: list[float] = []
        self.history: History | None = None
        self._rate = rate
        cluster.create_topic(topic, partitions, **settings)
        self.flow = Flow(cluster.bootstrap_servers, topic, partitions, rate=rate, security=security)
        self._elections = Elections(cluster, topic)

    def __enter__(self) -> Round:
        self.flow.start()
        self._elections.start()
        self.flow.wait_for_acks(PARTITIONS)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.cluster.wait_in_sync(self.topic)
                self.flow.finish()
                self.cluster.wait_in_sync(self.topic)
                self.history = self.flow.judge(replica_reader(self.cluster))
        finally:
            self.flow.stop()
            self._elections.finish()

    def fault(self) -> None:
        """Something is about to break: its time is noted."""
        self.moments.append(self.flow.now)

    def wait_served(self) -> None:
        """Until every partition takes records again."""
        self.flow.wait_for_acks(self._rate // 4)
