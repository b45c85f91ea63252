"""Builds what lets the partitions of a broker lead and follow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from penstock.handlers.broker import Broker
from penstock.metrics.traffic import Traffic
from penstock.replication.surroundings import Surroundings
from penstock.replication.throttle import ReplicationThrottle
from penstock.server.cluster.isr_changes import IsrChanges
from penstock.server.cluster.node_security import to_brokers
from penstock.server.cluster.replica_fetchers import ReplicaFetchers, Replicas
from penstock.server.composition.ground import Ground
from penstock.server.composition.metadata import Questions
from penstock.server.following.follower import Fetchers, MetadataFollower
from penstock.storage.logs import Logs


class Replication(NamedTuple):
    isr_changes: IsrChanges
    fetchers: ReplicaFetchers
    """The machine's own; the simulator has others, and never starts these."""
    follower: MetadataFollower


def build_replication(
    ground: Ground,
    questions: Questions,
    logs: Logs,
    broker: Broker,
    fetchers_of: Callable[[Replicas], Fetchers] | None,
) -> Replication:
    """`broker` is whole: partitions read its settings and its epoch as they are at the time."""
    isr_changes = IsrChanges(ground.settings.node_id, lambda: broker.broker_epoch, broker.metrics.isrs)
    replicas = Replicas(
        ground.settings,
        ground.clock,
        questions.address_of,
        lambda: broker.broker_epoch,
        to_brokers(ground.settings),
        traffic=broker.metrics.traffic,
    )
    fetchers = ReplicaFetchers(replicas)
    surroundings = Surroundings(
        ground.settings.node_id,
        ground.clock,
        lambda: broker.settings.replica_lag_time_max_ms / 1000,
        questions.may_join,
        isr_changes.wanted,
        ReplicationThrottle(ground.clock, lambda: broker.settings.leader_replication_throttled_rate),
        ReplicationThrottle(ground.clock, lambda: broker.settings.follower_replication_throttled_rate),
        produced=partial(_count_produced, broker.metrics.traffic),
    )
    used = fetchers if fetchers_of is None else fetchers_of(replicas)
    follower = MetadataFollower(broker, logs, surroundings, used, ground.together)
    return Replication(isr_changes, fetchers, follower)


def _count_produced(traffic: Traffic, topic: str, requests: int, size_bytes: int, records: int) -> None:
    counts = traffic.of(topic)
    counts.produce_requests += requests
    counts.bytes_in += size_bytes
    counts.messages_in += records
