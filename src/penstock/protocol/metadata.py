"""Metadata (key 3, v0-v13): brokers, topics, partitions and their leaders. Hand-written: every client asks
often, and for all topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.protocol.errors import ErrorCode
from penstock.protocol.primitives import ZERO_UUID, Reader, Writer

OPERATIONS_NOT_ASKED: Final = -(2**31)


class TopicWanted(NamedTuple):
    """A topic asked for by name, or from v10 on by id."""

    name: str | None
    topic_id: bytes


class MetadataRequest(NamedTuple):
    """`topics` is None when all are wanted."""

    topics: list[TopicWanted] | None
    allow_auto_creation: bool
    include_topic_operations: bool
    include_cluster_operations: bool = False


class Node(NamedTuple):
    """A broker as a client reaches it."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


class PartitionInfo(NamedTuple):
    error: ErrorCode
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()


class TopicInfo(NamedTuple):
    error: ErrorCode
    name: str | None
    topic_id: bytes
    is_internal: bool
    partitions: Sequence[PartitionInfo]
    operations: int = OPERATIONS_NOT_ASKED


def read_request(reader: Reader, version: int) -> MetadataRequest:
    count = reader.nullable_array(1)
    topics: list[TopicWanted] | None = None
    if count > 0 or (count == 0 and version >= 1):  # v0 says "all" with an empty list
        topics = [_read_topic(reader, version) for _ in range(count)]
    allow_auto_creation = reader.boolean() if version >= 4 else True
    # Operations on the cluster were told here until DescribeCluster took over.
    include_cluster_operations = reader.boolean() if 8 <= version <= 10 else False
    include_topic_operations = reader.boolean() if version >= 8 else False
    return MetadataRequest(topics, allow_auto_creation, include_topic_operations, include_cluster_operations)


def _read_topic(reader: Reader, version: int) -> TopicWanted:
    topic_id = reader.uuid() if version >= 10 else ZERO_UUID
    name = reader.nullable_string() if version >= 10 else reader.string()
    reader.tags()
    return TopicWanted(name, topic_id)


def encode_response(
    version: int,
    *,
    brokers: Sequence[Node],
    cluster_id: str,
    controller_id: int,
    topics: Sequence[TopicInfo],
    cluster_operations: int = OPERATIONS_NOT_ASKED,
    throttle_ms: int = 0,
) -> bytes:
    writer = Writer(flexible=version >= 9)
    if version >= 3:
        writer.int32(throttle_ms)
    _write_brokers(writer, version, brokers)
    if version >= 2:
        writer.nullable_string(cluster_id)
    if version >= 1:
        writer.int32(controller_id)
    writer.array(len(topics))
    for topic in topics:
        _write_topic(writer, version, topic)
    if 8 <= version <= 10:
        writer.int32(cluster_operations)
    if version >= 13:
        writer.int16(ErrorCode.NONE)
    writer.tags()
    return bytes(writer.data)


def _write_brokers(writer: Writer, version: int, brokers: Sequence[Node]) -> None:
    writer.array(len(brokers))
    for broker in brokers:
        writer.int32(broker.node_id)
        writer.string(broker.host)
        writer.int32(broker.port)
        if version >= 1:
            writer.nullable_string(broker.rack)
        writer.tags()


def _write_topic(writer: Writer, version: int, topic: TopicInfo) -> None:
    writer.int16(topic.error)
    writer.nullable_string(topic.name if topic.name is not None or version >= 12 else "")
    if version >= 10:
        writer.uuid(topic.topic_id)
    if version >= 1:
        writer.boolean(topic.is_internal)
    writer.array(len(topic.partitions))
    for partition in topic.partitions:
        writer.int16(partition.error)
        writer.int32(partition.partition)
        writer.int32(partition.leader)
        if version >= 7:
            writer.int32(partition.leader_epoch)
        writer.int32_array(partition.replicas)
        writer.int32_array(partition.isr)
        if version >= 5:
            writer.int32_array(partition.offline)
        writer.tags()
    if version >= 8:
        writer.int32(topic.operations)
    writer.tags()
