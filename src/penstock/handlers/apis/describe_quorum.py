"""DescribeQuorum, v0-v2: the leader of the metadata quorum, its members, and how far each has followed the
log. Only the leader knows; other nodes forward the request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from penstock.controller.controller import METADATA_TOPIC
from penstock.handlers.parts import ControllerParts
from penstock.handlers.reply import Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import encode_response, read_request
from penstock.protocol.primitives import ZERO_UUID
from penstock.raft.roles import Leader, Progress
from penstock.raft.state import State
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 2)
ACCESS: Final = (Access(Operation.DESCRIBE, ResourceType.CLUSTER),)


def handle(request: Request, broker: ControllerParts) -> Reply:
    wanted = read_request(Api.DESCRIBE_QUORUM, request.version, request.reader)
    allowed = request.may(broker, Operation.DESCRIBE, ResourceType.CLUSTER)
    topics = [
        {"topic_name": topic.topic_name, "partitions": list(_partitions(topic, broker))}
        for topic in wanted.topics
        if allowed
    ]
    fields = {
        "error_code": ErrorCode.NONE if allowed else ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        "error_message": None,
        "topics": topics,
        "nodes": _nodes(broker) if allowed else [],
    }
    return Reply([encode_response(Api.DESCRIBE_QUORUM, request.version, fields)])


def _partitions(topic: Any, broker: ControllerParts) -> Iterable[dict[str, Any]]:
    for partition in topic.partitions:
        index = partition.partition_index
        yield (
            _described(broker, index) if (topic.topic_name, index) == (METADATA_TOPIC, 0) else _unknown(index)
        )


def _unknown(index: int) -> dict[str, Any]:
    return _partition(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1, -1, [])


def _nodes(broker: ControllerParts) -> list[dict[str, Any]]:
    """The addresses of the voters."""
    names = broker.settings.controller_listener_names
    return [
        {"node_id": node, "listeners": [{"name": names[0], "host": host, "port": port}] if names else []}
        for node, (host, port) in broker.settings.voters.items()
    ]


def _described(broker: ControllerParts, index: int) -> dict[str, Any]:
    with broker.controller.looking_at_quorum() as state:
        leader = state.role
        if not isinstance(leader, Leader):
            return _partition(index, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, state.epoch, -1, [])
        members = {node: _member(broker, state, node, progress) for node, progress in leader.progress.items()}
    voters = [member for node, member in members.items() if node in state.voters]
    observers = [member for node, member in members.items() if node not in state.voters]
    return _partition(
        index, ErrorCode.NONE, state.node_id, state.epoch, state.high_watermark, voters, observers
    )


def _member(broker: ControllerParts, state: State, node: int, progress: Progress) -> dict[str, Any]:
    elapsed = broker.clock.now_ms() - state.now_ms()  # from the monotonic clock to the wall clock
    return {
        "replica_id": node,
        "replica_directory_id": ZERO_UUID,
        "log_end_offset": progress.end_offset,
        "last_fetch_timestamp": int(progress.fetched_at + elapsed) if progress.fetched_at else -1,
        "last_caught_up_timestamp": int(progress.caught_up_at + elapsed) if progress.caught_up_at else -1,
    }


def _partition(
    index: int,
    code: ErrorCode,
    leader_id: int,
    leader_epoch: int,
    high_watermark: int,
    voters: list[dict[str, Any]],
    observers: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    return {
        "partition_index": index,
        "error_code": code,
        "error_message": None,
        "leader_id": leader_id,
        "leader_epoch": leader_epoch,
        "high_watermark": high_watermark,
        "current_voters": voters,
        "observers": observers or [],
    }
