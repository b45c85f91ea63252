"""Offsets of a consumer group that has no members: committed, read back, and how long a broker keeps them.

For those who keep their place elsewhere (a Spark checkpoint) and want it shown to ordinary lag tools, or use
a group's offsets as their memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.cluster import Cluster
from penstock.wire.connection import Connection
from penstock.wire.coordinators import Coordinator, Kind, call
from penstock.wire.deadline import Deadline
from penstock.wire.errors import Refused, error_code

_NO_GENERATION: Final = -1
_NO_EPOCH: Final = -1
_COMMIT_VERSIONS: Final = (5, 9)
_FETCH_VERSIONS: Final = (7, 7)  # 7 can insist on stable offsets, 8 and later ask for many groups at once
_DELETE_VERSIONS: Final = (0, 0)
_DESCRIBE_VERSIONS: Final = (1, 4)
_BROKER: Final = 4
_RETENTION: Final = "offsets.retention.minutes"
_MEMBERS: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.STALE_MEMBER_EPOCH)


class Committed(NamedTuple):
    offset: int
    metadata: str


def commit(
    cluster: Cluster, group_id: str, positions: Mapping[TopicPartition, int], deadline: Deadline
) -> None:
    """Commit the next offset to read of each partition. `Refused` when the group has members of its own."""
    if not positions:
        return
    by_topic: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for (topic, partition), offset in positions.items():
        by_topic[topic].append(
            {
                "partition_index": partition,
                "committed_offset": offset,
                "committed_leader_epoch": _NO_EPOCH,
                "committed_metadata": "",
            }
        )
    fields = {
        "group_id": group_id,
        "generation_id_or_member_epoch": _NO_GENERATION,
        "member_id": "",
        "group_instance_id": None,
        "topics": [{"name": name, "partitions": partitions} for name, partitions in by_topic.items()],
    }

    def request(connection: Connection) -> None:
        answer = call(connection, Api.OFFSET_COMMIT, fields, _COMMIT_VERSIONS, deadline)
        for topic in answer.topics:
            for result in topic.partitions:
                _check(result.error_code, group_id)

    _coordinator(cluster, group_id).ask(f"offsets of group {group_id!r}", request, deadline)


def committed(cluster: Cluster, group_id: str, deadline: Deadline) -> dict[TopicPartition, Committed]:
    """Everything that the group has committed. Waits while an open transaction would change some of it."""
    fields = {"group_id": group_id, "topics": None, "require_stable": True}

    def request(connection: Connection) -> dict[TopicPartition, Committed]:
        answer = call(connection, Api.OFFSET_FETCH, fields, _FETCH_VERSIONS, deadline)
        _check(answer.error_code, group_id)
        found = {}
        for topic in answer.topics:
            for result in topic.partitions:
                _check(result.error_code, group_id)
                if result.committed_offset >= 0:
                    partition = TopicPartition(topic.name, result.partition_index)
                    found[partition] = Committed(result.committed_offset, result.metadata or "")
        return found

    return _coordinator(cluster, group_id).ask(f"offsets of group {group_id!r}", request, deadline)


def forget(cluster: Cluster, group_id: str, partitions: Iterable[TopicPartition], deadline: Deadline) -> None:
    """The group has no offset of these partitions any more."""
    by_topic: dict[str, list[dict[str, int]]] = defaultdict(list)
    for topic, partition in partitions:
        by_topic[topic].append({"partition_index": partition})
    topics = [{"name": name, "partitions": found} for name, found in by_topic.items()]

    def request(connection: Connection) -> None:
        fields = {"group_id": group_id, "topics": topics}
        answer = call(connection, Api.OFFSET_DELETE, fields, _DELETE_VERSIONS, deadline)
        _check(answer.error_code, group_id)
        for topic in answer.topics:
            for result in topic.partitions:
                _check(result.error_code, group_id)

    _coordinator(cluster, group_id).ask(f"offsets of group {group_id!r}", request, deadline)


def retention_ms(cluster: Cluster, group_id: str, deadline: Deadline) -> int | None:
    """How long the group's coordinator keeps offsets of a group without members; None if it does not say."""
    coordinator = _coordinator(cluster, group_id)

    def request(connection: Connection) -> int | None:
        resource = {
            "resource_type": _BROKER,
            "resource_name": str(coordinator.node_id),
            "configuration_keys": [_RETENTION],
        }
        answer = call(
            connection, Api.DESCRIBE_CONFIGS, {"resources": [resource]}, _DESCRIBE_VERSIONS, deadline
        )
        told = {setting.name: setting.value for result in answer.results for setting in result.configs}
        minutes = told.get(_RETENTION)
        return None if minutes is None else int(minutes) * 60_000

    return coordinator.ask(f"settings of the coordinator of group {group_id!r}", request, deadline)


def _coordinator(cluster: Cluster, group_id: str) -> Coordinator:
    return Coordinator(cluster, Kind.GROUP, group_id)


def _check(number: int, group_id: str) -> None:
    code = error_code(number)
    if code in _MEMBERS:
        raise Refused(
            code,
            f"group {group_id!r} has members ({code.name}): choose a group id that no consumer uses",
        )
    if code is not ErrorCode.NONE:
        raise Refused(code, f"offsets of group {group_id!r}: the broker says {code.name}")
