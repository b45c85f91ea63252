"""Where partitions begin and end, and the first offset at or after a time (ListOffsets)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any, Final

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.fetch import READ_COMMITTED, READ_UNCOMMITTED
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.cluster import REQUEST_SECONDS, Cluster
from penstock.wire.deadline import Deadline, retrying
from penstock.wire.errors import Refused, WireError, error_code

LATEST: Final = -1
EARLIEST: Final = -2
_NOT_FOUND: Final = -1
_CONSUMER: Final = -1
_VERSIONS: Final = (2, 7)

Offsets = dict[TopicPartition, int]


def earliest(cluster: Cluster, partitions: Collection[TopicPartition], deadline: Deadline) -> Offsets:
    """The first offset of each partition that is still there."""
    return _certain(at(cluster, dict.fromkeys(partitions, EARLIEST), deadline))


def latest(
    cluster: Cluster,
    partitions: Collection[TopicPartition],
    deadline: Deadline,
    *,
    read_committed: bool = False,
) -> Offsets:
    """The end of each partition: the offset after the last record that a reader may see."""
    return _certain(at(cluster, dict.fromkeys(partitions, LATEST), deadline, read_committed=read_committed))


def at(
    cluster: Cluster,
    times: Mapping[TopicPartition, int],
    deadline: Deadline,
    *,
    read_committed: bool = False,
) -> dict[TopicPartition, int | None]:
    """The first offset at or after each time (in ms, or `EARLIEST`, `LATEST`); None when there is none."""
    found: dict[TopicPartition, int | None] = {}

    def attempt() -> None:
        missing = {partition: time for partition, time in times.items() if partition not in found}
        for node_id, wanted in _by_leader(cluster, missing, deadline).items():
            found.update(_ask(cluster, node_id, wanted, deadline, read_committed=read_committed))

    def forget(error: WireError) -> None:
        for partition in times:
            cluster.forget(partition.topic)

    retrying(deadline, f"offsets from {cluster.bootstrap_servers}", attempt, forget)
    return found


def _certain(found: Mapping[TopicPartition, int | None]) -> Offsets:
    return {partition: offset for partition, offset in found.items() if offset is not None}


def _by_leader(
    cluster: Cluster, times: Mapping[TopicPartition, int], deadline: Deadline
) -> dict[int, dict[TopicPartition, int]]:
    grouped: dict[int, dict[TopicPartition, int]] = defaultdict(dict)
    for partition, time in times.items():
        grouped[cluster.leader(partition, deadline).node_id][partition] = time
    return grouped


def _ask(
    cluster: Cluster,
    node_id: int,
    times: Mapping[TopicPartition, int],
    deadline: Deadline,
    *,
    read_committed: bool,
) -> dict[TopicPartition, int | None]:
    by_topic: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for partition, time in times.items():
        by_topic[partition.topic].append(
            {"partition_index": partition.partition, "current_leader_epoch": -1, "timestamp": time}
        )
    fields = {
        "replica_id": _CONSUMER,
        "isolation_level": READ_COMMITTED if read_committed else READ_UNCOMMITTED,
        "topics": [{"name": name, "partitions": wanted} for name, wanted in by_topic.items()],
    }
    with cluster.connection(node_id, deadline) as connection:
        limit = deadline.sooner(REQUEST_SECONDS)
        answer = connection.call(Api.LIST_OFFSETS, fields, limit, oldest=_VERSIONS[0], newest=_VERSIONS[1])
    found: dict[TopicPartition, int | None] = {}
    for topic in answer.topics:
        for result in topic.partitions:
            partition = TopicPartition(topic.name, result.partition_index)
            code = error_code(result.error_code)
            if code is not ErrorCode.NONE:
                raise Refused(code, f"offsets of {partition}: the broker says {code.name}")
            found[partition] = None if result.offset == _NOT_FOUND else result.offset
    return found
