"""What a group is to the shard that holds it, whatever protocol its members speak.

To add a kind of group: a class that satisfies `Group`, a `GroupProtocol` that serves it, its records in
`groups.replay`, and one line in `groups.shard:GroupShard`.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from penstock.coordinator.decision import Decision
from penstock.coordinator.promise import Promise
from penstock.groups.messages import (
    CommitIdentity,
    GroupKind,
    HeartbeatRequest,
    JoinRequest,
    JoinResult,
    Leaver,
    LeaveResult,
    ListedGroup,
    SyncRequest,
    SyncResult,
)
from penstock.groups.offset_records import CommittedOffset
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.record import Record


class Group(Protocol):
    """The state of one group."""

    group_id: str

    @property
    def kind(self) -> GroupKind: ...

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members."""
        ...

    @property
    def is_awaited(self) -> bool:
        """Whether a client was given a member id and may join at any moment."""
        ...

    def listed(self) -> ListedGroup:
        """As ListGroups shows it."""
        ...

    def tombstones(self, now_ms: int) -> list[Record]:
        """The records that remove this group, when it is empty; its offsets are not among them."""
        ...

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads the topic, as far as that is known."""
        ...

    def check_commit(self, identity: CommitIdentity, *, transactional: bool) -> None:
        """KafkaError unless this client may commit offsets of the group."""
        ...

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """KafkaError unless this client may fetch the offsets of the group."""
        ...

    def check_offsets_deletable(self) -> None:
        """KafkaError when it is not known which topics the members read, so that no offset may go."""
        ...

    def expires_since_ms(self, committed: CommittedOffset) -> int | None:
        """From when on the retention of an offset counts; None while it cannot expire (KIP-211)."""
        ...


class GroupProtocol(Protocol):
    """Serves the groups of one kind: requests of the classic protocol, and the life of their shard."""

    def join(self, request: JoinRequest, promise: Promise[JoinResult]) -> Decision: ...

    def sync(self, request: SyncRequest, promise: Promise[SyncResult]) -> Decision: ...

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode: ...

    def leave(self, group_id: str, leavers: tuple[Leaver, ...]) -> tuple[Decision, list[LeaveResult]]: ...

    def renew(self, group_id: str, member_id: str) -> None:
        """A member has shown that it is alive by committing."""
        ...

    def on_loaded(self, group_id: str) -> None:
        """The shard is this broker's from now on: watch over the members."""
        ...

    def on_unloaded(self, group_id: str, error: KafkaError) -> None:
        """The shard is another broker's from now on: answer the requests that wait."""
        ...


G = TypeVar("G", bound=Group)


class Groups(dict[str, Group]):
    """The groups of one shard, by id."""

    def find(self, group_id: str, form: type[G]) -> G | None:
        """The group, if it is there and of this kind."""
        group = self.get(group_id)
        return group if isinstance(group, form) else None
