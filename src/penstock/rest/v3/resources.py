"""From what the Kafka client says to the resources of version 3. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.client.configs import Owner
from penstock.client.metadata import (
    BrokerInfo,
    ClusterInfo,
    ConfigEntry,
    GroupInfo,
    GroupMember,
    PartitionInfo,
    PartitionLag,
    TopicInfo,
)
from penstock.rest.v3 import shapes
from penstock.rest.v3.links import Links

REASSIGNMENT = "reassignment"


def cluster(links: Links, found: ClusterInfo) -> shapes.Cluster:
    controller = found.controller_id
    return shapes.Cluster(
        "KafkaCluster",
        links.metadata(()),
        links.cluster_id,
        None if controller is None else links.related("brokers", controller),
        links.related("acls"),
        links.related("brokers"),
        links.related("broker-configs"),
        links.related("consumer-groups"),
        links.related("topics"),
        links.related("topics", "-", "partitions", "-", REASSIGNMENT),
    )


def broker(links: Links, found: BrokerInfo) -> shapes.Broker:
    at = ("brokers", found.node_id)
    return shapes.Broker(
        "KafkaBroker",
        links.metadata(at, ("broker", found.node_id)),
        links.cluster_id,
        found.node_id,
        found.host,
        found.port,
        None,
        links.related(*at, "configs"),
        links.related(*at, "partition-replicas"),
    )


def topic(links: Links, found: TopicInfo) -> shapes.Topic:
    at = ("topics", found.name)
    return shapes.Topic(
        "KafkaTopic",
        links.metadata(at, ("topic", found.name)),
        links.cluster_id,
        found.name,
        found.internal,
        found.replication_factor,
        len(found.partitions),
        links.related(*at, "partitions"),
        links.related(*at, "configs"),
        links.related(*at, "partitions", "-", REASSIGNMENT),
    )


def partition(links: Links, name: str, found: PartitionInfo) -> shapes.Partition:
    at = ("topics", name, "partitions", found.index)
    return shapes.Partition(
        "KafkaPartition",
        links.metadata(at, ("topic", name), ("partition", found.index)),
        links.cluster_id,
        name,
        found.index,
        None if found.leader is None else links.related(*at, "replicas", found.leader),
        links.related(*at, "replicas"),
        links.related(*at, REASSIGNMENT),
    )


def partition_offsets(
    links: Links, name: str, index: int, start: int, end: int
) -> shapes.PartitionWithOffsets:
    at = ("topics", name, "partitions", index)
    metadata = links.metadata(at, ("topic", name), ("partition", index))
    return shapes.PartitionWithOffsets("KafkaPartition", metadata, links.cluster_id, name, index, start, end)


def replica(links: Links, name: str, found: PartitionInfo, node_id: int) -> shapes.Replica:
    at = ("topics", name, "partitions", found.index, "replicas", node_id)
    return shapes.Replica(
        "KafkaReplica",
        links.metadata(at, ("topic", name), ("partition", found.index), ("replica", node_id)),
        links.cluster_id,
        name,
        found.index,
        node_id,
        node_id == found.leader,
        node_id in found.isr,
        links.related("brokers", node_id),
    )


def config(links: Links, owner: Owner, found: ConfigEntry) -> shapes.Config:
    made = shapes.Config(
        config_kind(owner),
        links.metadata((*config_parts(owner), found.name), *_config_steps(owner, found.name)),
        links.cluster_id,
        found.name,
        None if found.is_sensitive else found.value,
        found.is_default,
        found.is_read_only,
        found.is_sensitive,
        found.source,
        [shapes.Synonym(each.name, each.value, each.source) for each in found.synonyms],
    )
    if owner.kind == "TOPIC":
        made.topic_name = owner.name
    elif owner.name:
        made.broker_id = int(owner.name)
    else:
        made.config_type = "BROKER"
    return made


def group(links: Links, found: GroupInfo) -> shapes.ConsumerGroup:
    at = ("consumer-groups", found.group_id)
    return shapes.ConsumerGroup(
        "KafkaConsumerGroup",
        links.metadata(at, ("consumer-group", found.group_id)),
        links.cluster_id,
        found.group_id,
        found.is_simple,
        found.assignor,
        found.state,
        found.kind,
        False,
        None if found.coordinator is None else links.related("brokers", found.coordinator),
        links.related(*at, "consumers"),
        links.related(*at, "lag-summary"),
    )


def member(links: Links, group_id: str, found: GroupMember) -> shapes.Consumer:
    at = ("consumer-groups", group_id, "consumers", found.member_id)
    return shapes.Consumer(
        "KafkaConsumer",
        links.metadata(at, ("consumer-group", group_id), ("consumer", found.member_id)),
        links.cluster_id,
        group_id,
        found.member_id,
        found.instance_id,
        found.client_id,
        links.related(*at, "assignments"),
    )


def assignment(links: Links, group_id: str, found: GroupMember, name: str, index: int) -> shapes.Assignment:
    at = ("consumer-groups", group_id, "consumers", found.member_id, "assignments", name, "partitions", index)
    steps = (("consumer-group", group_id), ("consumer", found.member_id))
    return shapes.Assignment(
        "KafkaConsumerAssignment",
        links.metadata(at, *steps, ("assignment", name), ("partition", index)),
        links.cluster_id,
        group_id,
        found.member_id,
        name,
        index,
        links.related("topics", name, "partitions", index),
        links.related("consumer-groups", group_id, "lags", name, "partitions", index),
    )


def lag(links: Links, group_id: str, found: PartitionLag) -> shapes.Lag:
    at = ("consumer-groups", group_id, "lags", found.topic, "partitions", found.partition)
    steps = (("consumer-group", group_id), ("lag", found.topic), ("partition", found.partition))
    owner = found.member
    return shapes.Lag(
        "KafkaConsumerLag",
        links.metadata(at, *steps),
        links.cluster_id,
        group_id,
        found.topic,
        found.partition,
        owner.member_id if owner else "",
        owner.instance_id if owner else None,
        owner.client_id if owner else "",
        found.committed_offset,
        found.end_offset,
        found.lag,
    )


def lag_summary(links: Links, group_id: str, lags: Sequence[PartitionLag]) -> shapes.LagSummary:
    """`lags` has at least one item."""
    worst = max(lags, key=lambda each: each.lag)
    owner = worst.member
    at = ("consumer-groups", group_id)
    return shapes.LagSummary(
        "KafkaConsumerGroupLagSummary",
        links.metadata((*at, "lag-summary"), ("consumer-group", group_id), ("lag-summary", group_id)),
        links.cluster_id,
        group_id,
        owner.member_id if owner else "",
        owner.instance_id if owner else None,
        owner.client_id if owner else "",
        worst.topic,
        worst.partition,
        worst.lag,
        sum(each.lag for each in lags),
        links.related(*at, "consumers", owner.member_id if owner else ""),
        links.related("topics", worst.topic, "partitions", worst.partition),
    )


def config_parts(owner: Owner) -> tuple[object, ...]:
    """Where an owner's settings are, below the cluster."""
    if owner.kind == "TOPIC":
        return ("topics", owner.name, "configs")
    return ("brokers", owner.name, "configs") if owner.name else ("broker-configs",)


def config_kind(owner: Owner) -> str:
    if owner.kind == "TOPIC":
        return "KafkaTopicConfig"
    return "KafkaBrokerConfig" if owner.name else "KafkaClusterConfig"


def _config_steps(owner: Owner, name: str) -> tuple[tuple[str, object], ...]:
    if not owner.name:
        return (("broker-config", name),)
    return ((owner.kind.lower(), owner.name), ("config", name))
