"""The cluster as every page shows it: a snapshot with the rate of each topic. One `Feed` of it serves all
clients.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from penstock.console.backend import Backend, Snapshot
from penstock.console.feed import Feed
from penstock.console.rates import Rates

POLL_S = 1.0


@dataclass(frozen=True, slots=True)
class TopicStats:
    """One line of the topics table."""

    name: str
    internal: bool
    partitions: int
    replication_factor: int
    records: int | None
    records_per_second: float | None
    size_bytes: int | None
    history: tuple[float, ...]
    """Records a second of the last seconds, oldest first."""


@dataclass(frozen=True, slots=True)
class Overview:
    snapshot: Snapshot
    topics: tuple[TopicStats, ...]

    def topic(self, name: str) -> TopicStats | None:
        return next((topic for topic in self.topics if topic.name == name), None)


def overview_feed(backend: Backend, interval_s: float = POLL_S) -> Feed[Overview]:
    rates = Rates()

    async def fetch() -> Overview:
        snapshot = await backend.snapshot()
        return measured(snapshot, rates, time.monotonic())

    return Feed(fetch, interval_s)


def measured(snapshot: Snapshot, rates: Rates, at: float) -> Overview:
    now = rates.update({topic.name: topic.end_offsets_sum for topic in snapshot.topics}, at)
    topics = tuple(
        TopicStats(
            name=topic.name,
            internal=topic.internal,
            partitions=len(topic.partitions),
            replication_factor=topic.replication_factor,
            records=topic.records,
            records_per_second=now[topic.name],
            size_bytes=topic.size_bytes,
            history=tuple(rates.history(topic.name)),
        )
        for topic in snapshot.topics
    )
    return Overview(snapshot, topics)
