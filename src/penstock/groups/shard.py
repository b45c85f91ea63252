"""Everything that one partition of `__consumer_offsets` holds: its groups and their committed offsets.

Replay dispatches records by the kind of their key; requests go to the protocol that the group speaks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final

from penstock.coordinator.decision import NOTHING, Context, Decision
from penstock.coordinator.promise import Promise
from penstock.coordinator.shard_log import Entry, Marker
from penstock.groups import consumer_records, group_records, offset_records
from penstock.groups.any_group import AnyGroup
from penstock.groups.classic import ClassicProtocol
from penstock.groups.classic_group import ClassicGroup, ClassicState
from penstock.groups.commits import Commits
from penstock.groups.consumer import ConsumerProtocol
from penstock.groups.consumer_group import ConsumerGroup
from penstock.groups.embedded import CONSUMER
from penstock.groups.messages import (
    UNKNOWN_MEMBER_ID,
    ConsumerHeartbeat,
    ConsumerHeartbeatResult,
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedGroup,
    DescribedMember,
    HeartbeatRequest,
    JoinRequest,
    JoinResult,
    Leaver,
    LeaveResult,
    ListedGroup,
    SyncRequest,
    SyncResult,
)
from penstock.groups.mixed import MixedProtocol
from penstock.groups.offsets import Offsets
from penstock.groups.record_keys import KeyKind, read_kind
from penstock.groups.settings import GroupSettings
from penstock.groups.topics import Topics
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.primitives import Reader
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
        self._groups: dict[str, AnyGroup] = {}
        self._offsets = Offsets()
        self._classic = ClassicProtocol(context, self._groups, settings, new_id)
        self._consumer = ConsumerProtocol(context, self._groups, settings, topics, new_id, self._classic)
        self._mixed = MixedProtocol(context, self._consumer, new_id)
        self.commits = Commits(context, self._groups, self._offsets, settings)

    # Replay

    def replay(self, entry: Entry) -> None:
        record = entry.record
        if record.key is None:
            return
        kind, reader = read_kind(record.key)
        if kind in (KeyKind.OFFSET_COMMIT, KeyKind.OFFSET_COMMIT_OLD):
            self._replay_offset(reader, entry)
        elif kind is KeyKind.GROUP:
            self._replay_classic(reader.string(), record.value)
        elif kind is not None:
            self._replay_consumer(kind, reader, record)

    def replay_marker(self, marker: Marker) -> None:
        self._offsets.replay_marker(marker)

    def _replay_offset(self, reader: Reader, entry: Entry) -> None:
        key, value = offset_records.decode_key(reader), entry.record.value
        committed = None if value is None else offset_records.decode_value(value)
        self._offsets.replay(key, committed, entry.producer_id, entry.record.offset)
        if committed is not None and key.group not in self._groups:
            self._groups[key.group] = ClassicGroup(key.group, persisted=True)  # a simple group, so far

    def _replay_classic(self, group_id: str, value: bytes | None) -> None:
        group = self._groups.get(group_id)
        if value is None:
            if isinstance(group, ClassicGroup):
                del self._groups[group_id]
            return
        if not isinstance(group, ClassicGroup):
            group = self._groups[group_id] = ClassicGroup(group_id)
        group.replay(group_records.decode_value(value))

    def _replay_consumer(self, kind: KeyKind, reader: Reader, record: Record) -> None:
        group_id, value = reader.string(), record.value
        group = self._groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            if value is None:
                return  # the tombstone of something that is gone
            group = self._groups[group_id] = ConsumerGroup(group_id)
        match kind:
            case KeyKind.CONSUMER_GROUP:
                if value is None:
                    del self._groups[group_id]
                else:
                    group.epoch = consumer_records.decode_number(value)
                    group.epoch_timestamp_ms = record.timestamp_ms
            case KeyKind.CONSUMER_TOPICS:
                group.topics = {} if value is None else consumer_records.decode_topics(value)
            case KeyKind.CONSUMER_MEMBER:
                told = None if value is None else consumer_records.decode_member(value)
                group.replay_member(reader.string(), told)
            case KeyKind.CONSUMER_TARGET:
                group.target_epoch = 0 if value is None else consumer_records.decode_number(value)
            case KeyKind.CONSUMER_TARGET_MEMBER:
                target = None if value is None else consumer_records.decode_target(value)
                group.replay_target(reader.string(), target)
            case KeyKind.CONSUMER_CURRENT_MEMBER:
                current = None if value is None else consumer_records.decode_current(value)
                group.replay_current(reader.string(), current)
            case KeyKind.CONSUMER_REGEX:
                regex = None if value is None else consumer_records.decode_regex(value)
                group.replay_regex(reader.string(), regex)

    def on_loaded(self) -> None:
        for group in list(self._groups.values()):
            if isinstance(group, ClassicGroup):
                decision = self._classic.on_loaded(group)
                assert not decision.records, "a group that has members is not empty"
            else:
                self._consumer.on_loaded(group)
        self._wait_for_expiry()

    def on_unloaded(self, error: KafkaError) -> None:
        for group in self._groups.values():
            if isinstance(group, ClassicGroup):
                self._classic.on_unloaded(group, error)

    # The classic protocol

    def join(self, request: JoinRequest, promise: Promise[JoinResult]) -> Decision:
        group = self._groups.get(request.group_id)
        if not isinstance(group, ConsumerGroup):
            return self._classic.join(request, promise)
        if not group.is_empty:
            return self._mixed.join(group, request, promise)
        if request.member_id != UNKNOWN_MEMBER_ID:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"The group {request.group_id} has no members.")

        def after() -> None:
            decision = self._classic.join(request, promise)
            assert not decision.records, "a group begins with waiting"

        return Decision(tuple(self._tombstones(group)), after)

    def sync(self, request: SyncRequest, promise: Promise[SyncResult]) -> Decision:
        group = self._groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return self._mixed.sync(group, request, promise)
        return self._classic.sync(request, promise)

    def heartbeat(self, request: HeartbeatRequest) -> tuple[Decision, ErrorCode]:
        group = self._groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return NOTHING, self._mixed.heartbeat(group, request)
        return NOTHING, self._classic.heartbeat(request)

    def leave(self, group_id: str, leavers: tuple[Leaver, ...]) -> tuple[Decision, list[LeaveResult]]:
        group = self._groups.get(group_id)
        if isinstance(group, ClassicGroup):
            return self._classic.leave(group, leavers)
        if isinstance(group, ConsumerGroup):
            return self._mixed.leave(group, leavers)
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"There is no group {group_id}.")

    def renew(self, group_id: str, member_id: str) -> None:
        """A member has shown that it is alive by committing."""
        group = self._groups.get(group_id)
        if isinstance(group, ClassicGroup):
            self._classic.renew(group, member_id)

    # The consumer protocol

    def consumer_heartbeat(self, request: ConsumerHeartbeat) -> tuple[Decision, ConsumerHeartbeatResult]:
        return self._consumer.heartbeat(request)

    # Tools

    def list_groups(self) -> list[ListedGroup]:
        return [_listed(group) for group in self._groups.values()]

    def describe_classic(self, group_id: str) -> DescribedGroup:
        """As DescribeGroups shows it; a group that is not there is `Dead`."""
        group = self._groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        stable = group.state is ClassicState.STABLE
        members = tuple(
            DescribedMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.metadata(group.protocol) if stable else b"",
                member.assignment if stable else b"",
            )
            for member in group.members.values()
        )
        protocol = group.protocol if stable and group.protocol is not None else ""
        return DescribedGroup(group_id, group.state.value, group.protocol_type or "", protocol, members)

    def describe_consumer(self, group_id: str) -> DescribedConsumerGroup:
        group = self._groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        assignor = group.preferred_assignor(group.members.values()) or self._consumer.default_assignor
        members = tuple(
            DescribedConsumer(
                member.member_id,
                member.told.instance_id,
                member.told.rack_id,
                member.epoch,
                member.told.client_id,
                member.told.client_host,
                member.told.topic_names,
                member.told.topic_regex or None,
                member.current.assigned,
                group.targets.get(member.member_id, {}),
                member.is_classic,
            )
            for member in group.members.values()
        )
        return DescribedConsumerGroup(
            group_id, group.state.value, group.epoch, group.target_epoch, assignor, members
        )

    def delete_group(self, group_id: str) -> tuple[Decision, None]:
        group = self._groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        if not group.is_empty:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP, f"The group {group_id} is not empty.")
        return Decision((*self.commits.delete_all(group_id), *self._tombstones(group))), None

    def _tombstones(self, group: AnyGroup) -> list[Record]:
        """Of an empty group itself."""
        now_ms = self._context.now_ms()
        if isinstance(group, ClassicGroup):
            return [group_records.group_record(group.group_id, None, now_ms)]
        make = consumer_records.Records(group.group_id, now_ms)
        regexes = [make.regex(regex, None) for regex in group.regexes]
        return [*regexes, make.target_epoch(None), make.topics(None), make.epoch(None)]

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
        """Offsets that nobody wants any more, and groups without any."""
        self._wait_for_expiry()
        records: list[Record] = []
        for group_id, group in list(self._groups.items()):
            expired, nothing_left = self.commits.expire(group_id, group)
            records += expired
            if nothing_left and group.is_empty and not _is_waited_for(group):
                records += self._tombstones(group)
            if len(records) > _EXPIRED_AT_ONCE:
                self._context.schedule(_EXPIRY, 0, self.expire)  # the rest in another batch
                break
        return Decision(tuple(records))


def _is_waited_for(group: AnyGroup) -> bool:
    """Whether a member was given an id and may join at any moment."""
    return isinstance(group, ClassicGroup) and bool(group.pending or group.members)


def _listed(group: AnyGroup) -> ListedGroup:
    if isinstance(group, ClassicGroup):
        return ListedGroup(group.group_id, group.protocol_type or "", group.state.value, "classic")
    return ListedGroup(group.group_id, CONSUMER, group.state.value, CONSUMER)
