"""How far consumer groups are behind, as metrics: the names that kafka_exporter has made known.

A client of any cluster. One scrape asks for all groups, what they have committed and where partitions end,
and reads one record of each partition that lags, for the lag in seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from penstock.client.admin import Admin
from penstock.client.errors import ClientError
from penstock.client.groups import Groups
from penstock.client.metadata import PartitionLag, TopicInfo
from penstock.metrics.text import Family, Sample

_PARTITION: Final = ("topic", "partition")
_GROUP: Final = ("consumergroup", *_PARTITION)
UP: Final = Family("penstock_exporter_up", "gauge", "1 when the cluster answered this scrape.")
BROKERS: Final = Family("kafka_brokers", "gauge", "Brokers of the cluster.")
PARTITIONS: Final = Family("kafka_topic_partitions", "gauge", "Partitions of a topic.", ("topic",))
END: Final = Family("kafka_topic_partition_current_offset", "gauge", "End of a partition.", _PARTITION)
START: Final = Family(
    "kafka_topic_partition_oldest_offset", "gauge", "First offset of a partition.", _PARTITION
)
IN_SYNC: Final = Family("kafka_topic_partition_in_sync_replica", "gauge", "Replicas in sync.", _PARTITION)
MEMBERS: Final = Family("kafka_consumergroup_members", "gauge", "Members of a group.", ("consumergroup",))
COMMITTED: Final = Family(
    "kafka_consumergroup_current_offset", "gauge", "What a group has committed.", _GROUP
)
LAG: Final = Family("kafka_consumergroup_lag", "gauge", "Records that a group has not read.", _GROUP)
LAG_SECONDS: Final = Family(
    "kafka_consumergroup_lag_seconds",
    "gauge",
    "How long the first record has waited that was not read.",
    _GROUP,
)
FAMILIES: Final = (
    UP,
    BROKERS,
    PARTITIONS,
    END,
    START,
    IN_SYNC,
    MEMBERS,
    COMMITTED,
    LAG,
    LAG_SECONDS,
)


def lag_samples(admin: Admin, *, now: float | None = None) -> Iterator[Sample]:
    """Blocking. A cluster that does not answer gives `penstock_exporter_up 0` and nothing else."""
    try:
        found = [*_topics(admin), *_groups(admin, time.time() if now is None else now)]
    except ClientError:
        yield Sample(UP, {}, 0)
        return
    yield Sample(UP, {}, 1)
    yield from found


def _topics(admin: Admin) -> Iterator[Sample]:
    cluster, topics = admin.describe()
    yield Sample(BROKERS, {}, len(cluster.brokers))
    for topic in admin.with_offsets(topics):
        yield Sample(PARTITIONS, {"topic": topic.name}, len(topic.partitions))
        yield from _partitions(topic)


def _partitions(topic: TopicInfo) -> Iterator[Sample]:
    for partition in topic.partitions:
        labels = {"topic": topic.name, "partition": str(partition.index)}
        yield Sample(IN_SYNC, labels, len(partition.isr))
        if partition.high_watermark is not None and partition.log_start_offset is not None:
            yield Sample(END, labels, partition.high_watermark)
            yield Sample(START, labels, partition.log_start_offset)


def _groups(admin: Admin, now: float) -> Iterator[Sample]:
    groups = Groups(admin)
    for group in groups.describe_all():
        yield Sample(MEMBERS, {"consumergroup": group.group_id}, len(group.members))
        _, lags = groups.lags(group.group_id)
        for lag in groups.with_times(lags):
            yield from _lag(group.group_id, lag, now)


def _lag(group_id: str, lag: PartitionLag, now: float) -> Iterator[Sample]:
    labels = {"consumergroup": group_id, "topic": lag.topic, "partition": str(lag.partition)}
    yield Sample(COMMITTED, labels, lag.committed_offset)
    yield Sample(LAG, labels, lag.lag)
    if not lag.lag:
        yield Sample(LAG_SECONDS, labels, 0)
    elif lag.first_unread_ms is not None:
        yield Sample(LAG_SECONDS, labels, max(0.0, now - lag.first_unread_ms / 1000))
