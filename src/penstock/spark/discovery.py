"""Which partitions there are to read: what the options name, or whatever their pattern matches now."""

from __future__ import annotations

import re

from penstock.spark.options import ReadOptions
from penstock.wire.cluster import Cluster, TopicPartition
from penstock.wire.deadline import Deadline
from penstock.wire.errors import UnknownTopic
from penstock.wire.fetch import VANISHED_SECONDS


def look(
    cluster: Cluster, options: ReadOptions, deadline: Deadline
) -> tuple[list[TopicPartition], list[str]]:
    """The partitions to read that exist now, and what was asked for by name and does not exist."""
    if options.assign is not None:
        topics = cluster.topics({partition.topic for partition in options.assign}, deadline)
        there = [p for p in options.assign if p.topic in topics and p.partition in topics[p.topic].partitions]
        return sorted(there), [str(partition) for partition in options.assign if partition not in there]
    topics = cluster.topics(options.subscribe, deadline)
    missing = [f"topic {name!r}" for name in options.subscribe or () if name not in topics]
    if options.pattern is not None:
        wanted = re.compile(options.pattern)
        topics = {n: topic for n, topic in topics.items() if wanted.fullmatch(n) and not topic.internal}
    return sorted(
        TopicPartition(name, n) for name, topic in topics.items() for n in topic.partitions
    ), missing


def discover(cluster: Cluster, options: ReadOptions, deadline: Deadline) -> list[TopicPartition]:
    """Every partition to read; `UnknownTopic` when one that was named does not exist."""
    partitions, missing = look(cluster, options, deadline)
    if missing:
        raise UnknownTopic(f"{missing[0]} does not exist at {options.bootstrap_servers}: create it first")
    return partitions


def look_again(
    cluster: Cluster, options: ReadOptions, deadline: Deadline
) -> tuple[list[TopicPartition], list[str]]:
    """As `look`, later: what has vanished is waited for, since a broker that starts may miss it at first."""
    patience, attempt = deadline.sooner(VANISHED_SECONDS), 0
    while True:
        partitions, missing = look(cluster, options, deadline)
        if not missing or patience.passed:
            return partitions, missing
        patience.pause(attempt)
        attempt += 1
