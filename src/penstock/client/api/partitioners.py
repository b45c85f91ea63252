"""Partitioners: an object with `partition(topic, key, key_bytes, value, value_bytes, cluster)`.

Java's default is left to librdkafka, which does the same: murmur2 of the key, and a sticky partition for
records without one. These classes are for people who choose another, or write their own. `cluster` is a
`ClusterView`: what a partitioner may know.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.partitioner import partition_for_key


class ClusterView:
    """The partitions of topics, as the producer knows them now."""

    def __init__(self, partition_count: Callable[[str], int]) -> None:
        self._partition_count = partition_count

    def partition_count_for_topic(self, topic: str) -> int:
        return self._partition_count(topic)

    def partitions_for_topic(self, topic: str) -> Sequence[TopicPartition]:
        return [TopicPartition(topic, index) for index in range(self._partition_count(topic))]


class Partitioner(Protocol):
    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterView,
    ) -> int: ...


class Murmur2Partitioner:
    """Java's choice for records with a key; a random partition for those without."""

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterView,
    ) -> int:
        count = cluster.partition_count_for_topic(topic)
        if key_bytes is None:
            return random.randrange(count)
        return partition_for_key(key_bytes, count)


class RoundRobinPartitioner:
    """One partition after the other, whatever the key."""

    def __init__(self) -> None:
        self._next: defaultdict[str, int] = defaultdict(int)

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterView,
    ) -> int:
        chosen = self._next[topic] % cluster.partition_count_for_topic(topic)
        self._next[topic] = chosen + 1
        return chosen


class StickyPartitioner:
    """One partition for `records_each` records, then another one, whatever the key: full batches."""

    def __init__(self, records_each: int = 100) -> None:
        self._records_each = records_each
        self._chosen: dict[str, tuple[int, int]] = {}

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterView,
    ) -> int:
        count = cluster.partition_count_for_topic(topic)
        chosen, left = self._chosen.get(topic, (-1, 0))
        if left == 0 or chosen >= count:
            others = [index for index in range(count) if index != chosen] or [0]
            chosen, left = random.choice(others), self._records_each
        self._chosen[topic] = chosen, left - 1
        return chosen


DEFAULT: Final = "murmur2_random"
"""librdkafka's own partitioner that does what Java's default does."""

BY_JAVA_NAME: Final[dict[str, type | None]] = {
    "org.apache.kafka.clients.producer.internals.DefaultPartitioner": None,
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": RoundRobinPartitioner,
    "org.apache.kafka.clients.producer.UniformStickyPartitioner": StickyPartitioner,
}
