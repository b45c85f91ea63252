"""A member of a consumer group of the classic protocol: joins, keeps its place, leaves. Reads nothing.

What members tell each other is Kafka's own form of subscriptions and assignments, so that every tool shows
who has which partitions. Used by applications of Streams, of which one instance runs and the others stand
by.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.cluster import Cluster
from penstock.wire.connection import Connection
from penstock.wire.coordinators import Coordinator, Kind, call
from penstock.wire.deadline import Deadline
from penstock.wire.errors import Fenced, Refused, error_code

_PROTOCOL_TYPE: Final = "consumer"
_JOIN_VERSIONS: Final = (5, 5)
_SYNC_VERSIONS: Final = (3, 3)
_HEARTBEAT_VERSIONS: Final = (3, 3)
_LEAVE_VERSIONS: Final = (3, 3)
_REBALANCE_MS: Final = 20_000  # an answer to a join is awaited for so long, and not longer than a request
_NOBODY: Final = ""
_AGAIN: Final = (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)


class Member(NamedTuple):
    member_id: str
    instance_id: str | None
    topics: tuple[str, ...]
    told: bytes
    """What it tells the others about itself."""


Assigned = Collection[TopicPartition]
Assign = Callable[[list[Member]], Mapping[str, Assigned]]
"""Partitions by member id; asked of the one member that the coordinator has chosen."""


class Membership:
    """For one thread. `join`, then `heartbeat` until it says that the group is being divided anew."""

    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        instance_id: str | None,
        *,
        protocol: str,
        session_timeout_ms: int,
        announce: Callable[[list[Member]], bytes] | None = None,
    ) -> None:
        """`announce` gives what every member learns with its assignment. The member that assigns is asked."""
        self._announce = announce
        self.announced = b""
        """What was announced when this member last joined."""
        self._group_id, self._instance_id = group_id, instance_id
        self._protocol, self._session_ms = protocol, session_timeout_ms
        self._coordinator = Coordinator(cluster, Kind.GROUP, group_id)
        self._member_id = _NOBODY
        self._generation = -1

    @property
    def member_id(self) -> str:
        return self._member_id

    def join(
        self, topics: Collection[str], told: bytes, assign: Assign, deadline: Deadline
    ) -> list[TopicPartition]:
        """Be one of the group; what this member is given. Waits until all who are there have joined."""
        while True:
            answer = self._joined(topics, told, deadline)
            code = error_code(answer.error_code)
            if code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
                self._member_id = answer.member_id
            else:
                self._check(code)
            if code is not ErrorCode.NONE:
                continue
            self._generation = answer.generation_id
            assigned: Mapping[str, Assigned] = {}
            announced = b""
            if answer.leader == answer.member_id and answer.members:
                members = [_member(member) for member in answer.members]
                assigned = assign(members)
                announced = self._announce(members) if self._announce is not None else b""
            synced = self._synced(assigned, announced, deadline)
            code = error_code(synced.error_code)
            if code is ErrorCode.NONE:
                places, self.announced = decode_assignment(synced.assignment)
                return places
            self._check(code)

    def heartbeat(self, deadline: Deadline) -> bool:
        """Whether everything is as it was; if not, join again."""
        answer = self._ask(Api.HEARTBEAT, self._identity(), _HEARTBEAT_VERSIONS, deadline)
        code = error_code(answer.error_code)
        if code is ErrorCode.NONE:
            return True
        self._check(code)
        return False

    def leave(self, deadline: Deadline) -> None:
        if self._member_id == _NOBODY:
            return
        member = {"member_id": self._member_id, "group_instance_id": self._instance_id}
        fields = {"group_id": self._group_id, "members": [member]}
        self._ask(Api.LEAVE_GROUP, fields, _LEAVE_VERSIONS, deadline)
        self._member_id = _NOBODY

    def _joined(self, topics: Collection[str], told: bytes, deadline: Deadline) -> Any:
        subscription = encode_subscription(topics, told)
        fields = {
            "group_id": self._group_id,
            "session_timeout": self._session_ms,
            "rebalance_timeout": min(self._session_ms, _REBALANCE_MS),
            "member_id": self._member_id,
            "group_instance_id": self._instance_id,
            "protocol_type": _PROTOCOL_TYPE,
            "protocols": [{"name": self._protocol, "metadata": subscription}],
        }
        return self._ask(Api.JOIN_GROUP, fields, _JOIN_VERSIONS, deadline)

    def _synced(self, assigned: Mapping[str, Assigned], announced: bytes, deadline: Deadline) -> Any:
        assignments = [
            {"member_id": member_id, "assignment": encode_assignment(places, announced)}
            for member_id, places in assigned.items()
        ]
        fields = {**self._identity(), "assignments": assignments}
        return self._ask(Api.SYNC_GROUP, fields, _SYNC_VERSIONS, deadline)

    def _identity(self) -> dict[str, Any]:
        return {
            "group_id": self._group_id,
            "generation_id": self._generation,
            "member_id": self._member_id,
            "group_instance_id": self._instance_id,
        }

    def _ask(self, api: Api, fields: Mapping[str, Any], versions: tuple[int, int], deadline: Deadline) -> Any:
        def request(connection: Connection) -> Any:
            answer = call(connection, api, fields, versions, deadline)
            code = error_code(answer.error_code)
            if code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
                raise Refused(code, f"group {self._group_id!r}: {code.name}")
            return answer

        return self._coordinator.ask(f"membership of group {self._group_id!r}", request, deadline)

    def _check(self, code: ErrorCode) -> None:
        """Nothing for what joining again settles."""
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = _NOBODY
        if code is ErrorCode.FENCED_INSTANCE_ID:
            raise Fenced(
                code, f"another member of group {self._group_id!r} is instance {self._instance_id!r}"
            )
        if code not in _AGAIN:
            raise Refused(code, f"membership of group {self._group_id!r}: the broker says {code.name}")


def encode_subscription(topics: Collection[str], told: bytes) -> bytes:
    named = b"".join(_string(topic) for topic in sorted(topics))
    return struct.pack(">hi", 0, len(topics)) + named + struct.pack(">i", len(told)) + told


def encode_assignment(places: Assigned, announced: bytes = b"") -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(places):
        by_topic.setdefault(topic, []).append(partition)
    body = b"".join(
        _string(topic) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
        for topic, numbers in by_topic.items()
    )
    user_data = struct.pack(">i", len(announced)) + announced if announced else struct.pack(">i", -1)
    return struct.pack(">hi", 0, len(by_topic)) + body + user_data


def decode_assignment(data: bytes) -> tuple[list[TopicPartition], bytes]:
    """The partitions of a member, and what was announced to all."""
    if not data:
        return [], b""
    _, topics = struct.unpack_from(">hi", data)
    at, found = 6, []
    for _ in range(topics):
        topic, at = _read_string(data, at)
        (count,) = struct.unpack_from(">i", data, at)
        found += [TopicPartition(topic, n) for n in struct.unpack_from(f">{count}i", data, at + 4)]
        at += 4 + 4 * count
    (length,) = struct.unpack_from(">i", data, at) if len(data) >= at + 4 else (-1,)
    return found, data[at + 4 : at + 4 + max(length, 0)]


def _member(member: Any) -> Member:
    data = bytes(member.metadata)
    _, count = struct.unpack_from(">hi", data)
    at, topics = 6, []
    for _ in range(count):
        topic, at = _read_string(data, at)
        topics.append(topic)
    (length,) = struct.unpack_from(">i", data, at)
    told = data[at + 4 : at + 4 + max(length, 0)]
    return Member(member.member_id, member.group_instance_id, tuple(topics), told)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _read_string(data: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">h", data, at)
    return data[at + 2 : at + 2 + length].decode(), at + 2 + length
