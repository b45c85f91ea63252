"""Everything that one partition of `__consumer_offsets` holds: its groups and their committed offsets.

`groups.replay` rebuilds them from records. A request goes to what serves groups of that kind.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final

from penstock.coordinator.decision import NOTHING, Context, Decision
from penstock.coordinator.promise import Promise
from penstock.coordinator.shard_log import Entry, Marker
from penstock.groups.classic import ClassicProtocol
from penstock.groups.classic_group import ClassicGroup
from penstock.groups.commits import Commits
from penstock.groups.consumer import ConsumerProtocol
from penstock.groups.consumer_group import ConsumerGroup
from penstock.groups.group import GroupProtocol, Groups
from penstock.groups.messages import (
    ConsumerHeartbeat,
    ConsumerHeartbeatResult,
    DescribedConsumerGroup,
    DescribedGroup,
    DescribedShareGroup,
    GroupKind,
    HeartbeatRequest,
    JoinRequest,
    JoinResult,
    Leaver,
    LeaveResult,
    ListedGroup,
    ShareHeartbeat,
    ShareHeartbeatResult,
    SyncRequest,
    SyncResult,
)
from penstock.groups.mixed import MixedProtocol
from penstock.groups.offsets import Offsets
from penstock.groups.replay import Replay
from penstock.groups.settings import GroupSettings
from penstock.groups.share import ShareProtocol
from penstock.groups.share_group import ShareGroup
from penstock.groups.share_records import StateTopic
from penstock.groups.topics import Topics
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.record import Record

_log = logging.getLogger(__name__)

_EXPIRY: Final = "expire offsets"
_EXPIRED_AT_ONCE: Final = 1000  # tombstones in one batch


class GroupShard:
    """State of one shard, and its protocols."""

    def __init__(
        self, context: Context, settings: GroupSettings, topics: Topics, new_id: Callable[[], str]
    ) -> None:
        self._context = context
        self._settings = settings
        self._groups = Groups()
        self._offsets = Offsets()
        self._replay = Replay(self._groups, self._offsets)
        classic = ClassicProtocol(context, self._groups, settings, new_id)
        self._consumer = ConsumerProtocol(context, self._groups, settings, topics, new_id, classic)
        self._share = ShareProtocol(context, self._groups, settings, topics)
        self._protocols: dict[GroupKind, GroupProtocol] = {
            GroupKind.CLASSIC: classic,
            GroupKind.CONSUMER: MixedProtocol(context, self._groups, self._consumer, classic, new_id),
            GroupKind.SHARE: self._share,
        }
        self.commits = Commits(context, self._groups, self._offsets, settings)

    # Replay

    def replay(self, entry: Entry) -> None:
        self._replay.replay(entry)

    def replay_marker(self, marker: Marker) -> None:
        self._offsets.replay_marker(marker)

    def on_loaded(self) -> None:
        for group in list(self._groups.values()):
            self._protocols[group.kind].on_loaded(group.group_id)
        self._wait_for_expiry()

    def on_unloaded(self, error: KafkaError) -> None:
        for group in self._groups.values():
            self._protocols[group.kind].on_unloaded(group.group_id, error)

    # The classic protocol

    def _protocol_of(self, group_id: str) -> GroupProtocol:
        """What serves this group. A group that is not there yet begins as a classic one."""
        group = self._groups.get(group_id)
        return self._protocols[GroupKind.CLASSIC if group is None else group.kind]

    def join(self, request: JoinRequest, promise: Promise[JoinResult]) -> Decision:
        return self._protocol_of(request.group_id).join(request, promise)

    def sync(self, request: SyncRequest, promise: Promise[SyncResult]) -> Decision:
        return self._protocol_of(request.group_id).sync(request, promise)

    def heartbeat(self, request: HeartbeatRequest) -> tuple[Decision, ErrorCode]:
        return NOTHING, self._protocol_of(request.group_id).heartbeat(request)

    def leave(self, group_id: str, leavers: tuple[Leaver, ...]) -> tuple[Decision, list[LeaveResult]]:
        return self._protocol_of(group_id).leave(group_id, leavers)

    def renew(self, group_id: str, member_id: str) -> None:
        """A member has shown that it is alive by committing."""
        self._protocol_of(group_id).renew(group_id, member_id)

    # The consumer protocol

    def consumer_heartbeat(self, request: ConsumerHeartbeat) -> tuple[Decision, ConsumerHeartbeatResult]:
        return self._consumer.heartbeat(request)

    # Share groups

    def share_heartbeat(self, request: ShareHeartbeat) -> tuple[Decision, ShareHeartbeatResult]:
        return self._share.heartbeat_of(request)

    def describe_share(self, group_id: str) -> DescribedShareGroup:
        """As ShareGroupDescribe shows it."""
        return self._share_group(group_id).describe()

    def share_topics(self, group_id: str, *, of_empty: bool) -> dict[bytes, StateTopic]:
        """The topics that a share group has read. With `of_empty`, a group with members is refused."""
        group = self._share_group(group_id)
        if of_empty and not group.is_empty:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP, f"The group {group_id} is not empty.")
        return dict(group.state_topics)

    def note_share_topics(self, group_id: str, topics: dict[bytes, StateTopic]) -> tuple[Decision, None]:
        """A tool has set or taken away the group's place in these topics; an empty group is made."""
        return self._share.note_topics(group_id, topics), None

    def kind_of(self, group_id: str) -> GroupKind | None:
        group = self._groups.get(group_id)
        return None if group is None else group.kind

    def _share_group(self, group_id: str) -> ShareGroup:
        group = self._groups.find(group_id, ShareGroup)
        if group is None:
            what = "not found" if self._groups.get(group_id) is None else "is not a share group"
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")
        return group

    # Tools

    def list_groups(self) -> list[ListedGroup]:
        return [group.listed() for group in self._groups.values()]

    def describe_classic(self, group_id: str) -> DescribedGroup:
        """As DescribeGroups shows it."""
        group = self._groups.find(group_id, ClassicGroup)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group.describe()

    def describe_consumer(self, group_id: str) -> DescribedConsumerGroup:
        """As ConsumerGroupDescribe shows it."""
        group = self._groups.find(group_id, ConsumerGroup)
        if group is None:
            what = "not found" if self._groups.get(group_id) is None else "is not a consumer group"
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")
        return group.describe(self._consumer.default_assignor)

    def delete_group(self, group_id: str) -> tuple[Decision, None]:
        group = self._groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        if not group.is_empty:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP, f"The group {group_id} is not empty.")
        return Decision((*self.commits.delete_all(group_id), *group.tombstones(self._context.now_ms()))), None

    # Offsets

    def topics_deleted(self, names: Iterable[str]) -> Decision:
        records: list[Record] = []
        for name in names:
            records += self.commits.delete_topic(name).records
        return Decision(tuple(records))

    def _wait_for_expiry(self) -> None:
        interval_ms = self._settings.offsets_retention_check_interval_ms
        self._context.schedule(_EXPIRY, interval_ms, self.expire)

    def expire(self) -> Decision:
        """Remove offsets whose retention is over, and empty groups that have none left."""
        self._wait_for_expiry()
        records: list[Record] = []
        for group_id, group in list(self._groups.items()):
            if isinstance(group, ShareGroup):
                continue  # its places are the share coordinator's, and do not expire
            expired, nothing_left = self.commits.expire(group_id, group)
            records += expired
            if nothing_left and group.is_empty and not group.is_awaited:
                records += group.tombstones(self._context.now_ms())
            if len(records) > _EXPIRED_AT_ONCE:
                self._context.schedule(_EXPIRY, 0, self.expire)  # the rest in another batch
                break
        return Decision(tuple(records))
