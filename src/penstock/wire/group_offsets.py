"""Offsets committed for a consumer group that has no members: progress that ordinary lag tools can see.

For readers that keep their place elsewhere (a Spark checkpoint) and only want it shown. Nothing is read back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.wire.cluster import REQUEST_SECONDS, Cluster, TopicPartition
from penstock.wire.deadline import Deadline, retrying
from penstock.wire.errors import Refused, error_code

_GROUP: Final = 0
_NO_GENERATION: Final = -1
_NO_EPOCH: Final = -1
_FIND_VERSIONS: Final = (1, 4)
_COMMIT_VERSIONS: Final = (5, 9)
_MEMBERS: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.STALE_MEMBER_EPOCH)


def commit(
    cluster: Cluster, group_id: str, positions: Mapping[TopicPartition, int], deadline: Deadline
) -> None:
    """Commit the next offset to read of each partition. `Refused` when the group has members of its own."""
    if not positions:
        return
    retrying(
        deadline, f"offsets of group {group_id!r}", lambda: _commit(cluster, group_id, positions, deadline)
    )


def _commit(
    cluster: Cluster, group_id: str, positions: Mapping[TopicPartition, int], deadline: Deadline
) -> None:
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
    limit = deadline.sooner(REQUEST_SECONDS)
    oldest, newest = _COMMIT_VERSIONS
    with cluster.connection(_coordinator(cluster, group_id, deadline), deadline) as connection:
        answer = connection.call(Api.OFFSET_COMMIT, fields, limit, oldest=oldest, newest=newest)
    for topic in answer.topics:
        for result in topic.partitions:
            _check(error_code(result.error_code), group_id)


def _coordinator(cluster: Cluster, group_id: str, deadline: Deadline) -> int:
    fields = {"key": group_id, "coordinator_keys": [group_id], "key_type": _GROUP}
    oldest, newest = _FIND_VERSIONS
    with cluster.any_connection(deadline) as connection:
        limit = deadline.sooner(REQUEST_SECONDS)
        answer = connection.call(Api.FIND_COORDINATOR, fields, limit, oldest=oldest, newest=newest)
    found = answer.coordinators[0] if hasattr(answer, "coordinators") else answer
    _check(error_code(found.error_code), group_id)
    return int(found.node_id)


def _check(code: ErrorCode, group_id: str) -> None:
    if code in _MEMBERS:
        raise Refused(
            code,
            f"group {group_id!r} has members ({code.name}): choose a group id that no consumer uses",
        )
    if code is not ErrorCode.NONE:
        raise Refused(code, f"offsets of group {group_id!r}: the broker says {code.name}")
