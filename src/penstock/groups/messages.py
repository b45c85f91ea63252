"""Requests to the group coordinator and their answers, as the protocols of groups see them.

Handlers translate between these and the bytes of each version.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from penstock.protocol.errors import ErrorCode

UNKNOWN_MEMBER_ID: Final = ""
NO_GENERATION: Final = -1


class Client(NamedTuple):
    """The client that sent a request, as `DescribeGroups` shows it."""

    client_id: str
    host: str


class JoinRequest(NamedTuple):
    group_id: str
    member_id: str
    instance_id: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]  # name and metadata, the most wanted first
    client: Client
    requires_known_member_id: bool  # from v4 on a new member joins twice (KIP-394)
    supports_skipping_assignment: bool  # from v9 on a static leader is told to (KIP-814)


class JoinedMember(NamedTuple):
    """A member as the leader of the group sees it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


class JoinResult(NamedTuple):
    error: ErrorCode
    member_id: str
    generation_id: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


class SyncRequest(NamedTuple):
    group_id: str
    member_id: str
    instance_id: str | None
    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    assignments: Mapping[str, bytes]


class SyncResult(NamedTuple):
    error: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class HeartbeatRequest(NamedTuple):
    group_id: str
    member_id: str
    instance_id: str | None
    generation_id: int


class Leaver(NamedTuple):
    """One member that leaves. An administrator names the instance alone, without a member id."""

    member_id: str
    instance_id: str | None


class LeaveResult(NamedTuple):
    member_id: str
    instance_id: str | None
    error: ErrorCode


class CommitIdentity(NamedTuple):
    """The client that commits offsets: a member, or a client without a group, with generation -1."""

    member_id: str
    instance_id: str | None
    generation_or_epoch: int
    api_version: int


class GroupKind(Enum):
    """Kafka's names of the types of groups, as ListGroups shows them."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"


class ListedGroup(NamedTuple):
    """A group, as ListGroups shows it."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str


class DescribedMember(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class DescribedGroup(NamedTuple):
    group_id: str
    state: str
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


class ConsumerHeartbeat(NamedTuple):
    """A heartbeat of the consumer protocol. None means: as I said before."""

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int  # -1 means: as before
    topic_names: tuple[str, ...] | None
    topic_regex: str | None  # the empty one takes an earlier one back
    server_assignor: str | None
    owned: Mapping[bytes, frozenset[int]] | None
    client: Client
    requires_member_id: bool  # from v1 on members name themselves (KIP-1082)


class ConsumerHeartbeatResult(NamedTuple):
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    assignment: Mapping[bytes, frozenset[int]] | None = None  # None: nothing new


class DescribedConsumer(NamedTuple):
    """A member of the consumer protocol, as tools see it."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    topic_names: tuple[str, ...]
    topic_regex: str | None
    assigned: Mapping[bytes, frozenset[int]]
    target: Mapping[bytes, frozenset[int]]
    is_classic: bool


class DescribedConsumerGroup(NamedTuple):
    group_id: str
    state: str
    epoch: int
    target_epoch: int
    assignor: str
    members: tuple[DescribedConsumer, ...]


class ShareHeartbeat(NamedTuple):
    """A heartbeat of a share group. None means: as I said before."""

    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None
    topic_names: tuple[str, ...] | None
    client: Client


class ShareHeartbeatResult(NamedTuple):
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    assignment: Mapping[bytes, frozenset[int]] | None = None  # None: nothing new


class DescribedShareMember(NamedTuple):
    """A member of a share group, as tools see it."""

    member_id: str
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    topic_names: tuple[str, ...]
    assigned: Mapping[bytes, frozenset[int]]


class DescribedShareGroup(NamedTuple):
    group_id: str
    state: str
    epoch: int
    target_epoch: int
    assignor: str
    members: tuple[DescribedShareMember, ...]
