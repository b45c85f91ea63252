"""How a simulated cluster is laid out, and what weather it has: drawn from the seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from penstock.settings import BrokerSettings

CLIENT_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
CLUSTER_ID: Final = "c2ltdWxhdGVkLWNsdXN0ZQ"


@dataclass(frozen=True)
class ClusterPlan:
    """Three brokers; the three controllers are the same processes, or others."""

    separate: bool = False
    """Whether controllers are processes of their own: nodes 4 to 6."""
    power_cuts: bool = False
    flush: bool = False
    """Whether brokers flush before they acknowledge: then nothing is lost whoever loses power. Without it one
    machine at a time does, and nobody else dies until everybody is in sync again; with `min_isr` 1 that would
    not be enough: others that are paused may leave the ISR to the one that has lost something."""
    replication_factor: int = 3
    min_isr: int = 2
    deposed: float = 0.2
    """How probably a leader fails when it has just begun: then logs differ most."""
    fault_every_ms: float = 900.0
    fault_lasts_ms: float = 1_500.0

    @classmethod
    def drawn(cls, random: Random) -> ClusterPlan:
        power_cuts, flush = random.random() < 0.6, random.random() < 0.4
        return cls(
            separate=random.random() < 0.2,
            power_cuts=power_cuts,
            flush=flush,
            min_isr=2 if power_cuts and not flush else random.choice([1, 2]),
            deposed=random.choice([0.0, 0.2, 0.6]),
            fault_every_ms=random.choice([400.0, 800.0, 1_500.0]),
            fault_lasts_ms=random.choice([300.0, 1_200.0, 3_000.0]),
        )

    @property
    def broker_ids(self) -> list[int]:
        return [1, 2, 3]

    @property
    def controller_ids(self) -> list[int]:
        return [4, 5, 6] if self.separate else [1, 2, 3]

    @property
    def node_ids(self) -> list[int]:
        return sorted({*self.broker_ids, *self.controller_ids})

    @property
    def addresses(self) -> Mapping[int, tuple[str, int]]:
        """Where clients begin."""
        return {node_id: (host_of(node_id), CLIENT_PORT) for node_id in self.broker_ids}

    def settings(self, node_id: int) -> BrokerSettings:
        roles = [
            role
            for role, ids in (("broker", self.broker_ids), ("controller", self.controller_ids))
            if node_id in ids
        ]
        host = host_of(node_id)
        ports = {
            "broker": f"PLAINTEXT://{host}:{CLIENT_PORT}",
            "controller": f"CONTROLLER://{host}:{CONTROLLER_PORT}",
        }
        texts = {
            "node.id": str(node_id),
            "process.roles": ",".join(roles),
            "cluster.id": CLUSTER_ID,
            "controller.quorum.voters": ",".join(
                f"{voter}@{host_of(voter)}:{CONTROLLER_PORT}" for voter in self.controller_ids
            ),
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join(ports[role] for role in roles),
            "log.dirs": "/data",
            "log.segment.bytes": "4096",
            "log.index.interval.bytes": "256",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.num.partitions": "2",
            "group.initial.rebalance.delay.ms": "50",
            "group.min.session.timeout.ms": "100",
            "broker.heartbeat.interval.ms": "100",
            "broker.session.timeout.ms": "600",
            "replica.lag.time.max.ms": "900",
            "replica.fetch.wait.max.ms": "100",
            "replica.fetch.backoff.ms": "200",
            "replica.socket.timeout.ms": "600",
            "replica.high.watermark.checkpoint.interval.ms": "1000",
            "controller.quorum.election.timeout.ms": "400",
            "controller.quorum.fetch.timeout.ms": "800",
            "controller.quorum.election.backoff.max.ms": "200",
            "controller.quorum.request.timeout.ms": "300",
            "controller.quorum.retry.backoff.ms": "20",
        }
        if self.flush:
            texts["log.flush.interval.messages"] = "1"
        return BrokerSettings.from_texts(texts)


def host_of(node_id: int) -> str:
    return f"node{node_id}"
