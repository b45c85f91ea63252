"""Which partitions there are to read: what the options name, or whatever their pattern matches now; and
whether a topic is still the one that it was."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock.protocol.topic_partition import TopicPartition
from penstock.spark.options import ReadOptions
from penstock.wire.cluster import Cluster
from penstock.wire.deadline import Deadline
from penstock.wire.errors import UnknownTopic
from penstock.wire.fetch import VANISHED_SECONDS

_UNKNOWN_ID: Final = bytes(16)


class Found(NamedTuple):
    partitions: list[TopicPartition]
    """Those to read that exist now."""
    missing: list[str]
    """What was asked for by name and does not exist."""
    topic_ids: dict[str, bytes]


class TopicIds:
    """The ids that topics were last seen with: offsets alone do not show that a topic was created anew."""

    def __init__(self) -> None:
        self._seen: dict[str, bytes] = {}

    def changed(self, now: Mapping[str, bytes]) -> set[str]:
        """The topics that had another id before; those that are not there now keep theirs until they are."""
        known = {name: each for name, each in now.items() if each != _UNKNOWN_ID}
        others = {name for name, each in known.items() if self._seen.get(name, each) != each}
        self._seen |= known
        return others


def look(cluster: Cluster, options: ReadOptions, deadline: Deadline) -> Found:
    if options.assign is not None:
        topics = cluster.topics({partition.topic for partition in options.assign}, deadline)
        there = [p for p in options.assign if p.topic in topics and p.partition in topics[p.topic].partitions]
        missing = [str(partition) for partition in options.assign if partition not in there]
        return Found(sorted(there), missing, {name: topic.topic_id for name, topic in topics.items()})
    topics = cluster.topics(options.subscribe, deadline)
    missing = [f"topic {name!r}" for name in options.subscribe or () if name not in topics]
    if options.pattern is not None:
        wanted = re.compile(options.pattern)
        topics = {n: topic for n, topic in topics.items() if wanted.fullmatch(n) and not topic.internal}
    partitions = sorted(TopicPartition(name, n) for name, topic in topics.items() for n in topic.partitions)
    return Found(partitions, missing, {name: topic.topic_id for name, topic in topics.items()})


def discover(cluster: Cluster, options: ReadOptions, deadline: Deadline) -> Found:
    """Every partition to read; `UnknownTopic` when one that was named does not exist."""
    found = look(cluster, options, deadline)
    if found.missing:
        raise UnknownTopic(
            f"{found.missing[0]} does not exist at {options.client.bootstrap_servers}: create it first"
        )
    return found


def look_again(cluster: Cluster, options: ReadOptions, deadline: Deadline) -> Found:
    """As `look`, later: what has vanished is waited for, since a broker that starts may miss it at first."""
    patience, attempt = deadline.sooner(VANISHED_SECONDS), 0
    while True:
        found = look(cluster, options, deadline)
        if not found.missing or patience.passed:
            return found
        patience.pause(attempt)
        attempt += 1
