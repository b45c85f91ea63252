"""The protocol of share groups (KIP-932): one heartbeat carries everything, the server assigns.

Pure: a heartbeat or a timer in, a decision and an answer out. Nothing is given up before another gets it, so
a member has its target as soon as it hears of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from penstock.coordinator.decision import NOTHING, Context, Decision
from penstock.coordinator.promise import Promise
from penstock.groups.consumer_records import NO_PARTITIONS, Assignment
from penstock.groups.group import Groups
from penstock.groups.messages import (
    HeartbeatRequest,
    JoinRequest,
    JoinResult,
    Leaver,
    LeaveResult,
    ShareHeartbeat,
    ShareHeartbeatResult,
    SyncRequest,
    SyncResult,
)
from penstock.groups.settings import GroupSettings
from penstock.groups.share_group import NO_METADATA, ShareGroup, ShareMember
from penstock.groups.share_records import ShareCurrentValue, ShareMemberValue, ShareRecords, StateTopic
from penstock.groups.simple_assignor import assign
from penstock.groups.topics import Topics
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.record import Record

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1

Followed = tuple[Decision, ShareHeartbeatResult]


class ShareProtocol:
    """Decides for the share groups of one shard."""

    def __init__(self, context: Context, groups: Groups, settings: GroupSettings, topics: Topics) -> None:
        self._context = context
        self._groups = groups
        self._settings = settings
        self._topics = topics

    # Heartbeats

    def heartbeat_of(self, request: ShareHeartbeat) -> Followed:
        _check_request(request)
        if request.member_epoch == LEAVE_EPOCH:
            return self._leave(request)
        draft = self._draft(request)
        member = self._member(draft.group, request)
        metadata = _updated(member.metadata, request)
        changed = request.member_id not in draft.group.members or metadata != member.metadata
        if changed:
            draft.put_member(member.member_id, metadata)
        resubscribed = changed and metadata.topic_names != member.metadata.topic_names
        self._assign(draft, resubscribed or not draft.group.epoch)
        after = self._reconciled(draft, member.member_id)
        is_full = request.member_epoch == JOIN_EPOCH or request.topic_names is not None
        is_new = after.current.assigned != member.current.assigned
        config = self._topics.group_config(request.group_id)
        result = ShareHeartbeatResult(
            after.member_id,
            after.epoch,
            self._settings.share_heartbeat_ms(config),
            after.current.assigned if is_full or is_new else None,
        )
        return Decision(tuple(draft.records), lambda: self._after(draft, request.member_id)), result

    def _draft(self, request: ShareHeartbeat) -> _Draft:
        present = self._groups.get(request.group_id)
        if present is not None and not isinstance(present, ShareGroup):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {request.group_id} is not a share group.")
        if present is None:
            if request.member_epoch != JOIN_EPOCH:
                raise _no_group(request.group_id)
            present = ShareGroup(request.group_id)
        return _Draft(present, self._context.now_ms())

    def _member(self, group: ShareGroup, request: ShareHeartbeat) -> ShareMember:
        """The member as it was until now."""
        present = group.members.get(request.member_id)
        if request.member_epoch == JOIN_EPOCH:
            if present is None and len(group.members) >= self._settings.share_max_size:
                raise KafkaError(
                    ErrorCode.GROUP_MAX_SIZE_REACHED,
                    f"The share group has reached its maximum capacity of {self._settings.share_max_size} "
                    "members.",
                )
            return ShareMember(request.member_id, NO_METADATA) if present is None else present
        member = group.member(request.member_id)
        if request.member_epoch not in (member.epoch, member.current.previous_member_epoch):
            relation = "greater" if request.member_epoch > member.epoch else "smaller"
            raise KafkaError(
                ErrorCode.FENCED_MEMBER_EPOCH,
                f"The share group member has a {relation} member epoch ({request.member_epoch}) than the one "
                f"known by the group coordinator ({member.epoch}). The member must abandon all its "
                "partitions and rejoin.",
            )
        return member

    def _assign(self, draft: _Draft, changed: bool) -> None:
        """A new epoch with a new target, when subscriptions or topics have changed."""
        group, version = draft.group, self._topics.version
        if not changed and group.seen_topics is version:
            return
        targets = self._targets(group)
        if changed or targets != {member_id: group.targets.get(member_id) for member_id in group.members}:
            draft.put_epoch(group.epoch + 1)
            for member_id, target in targets.items():
                if group.targets.get(member_id) != target:
                    draft.put_target(member_id, target)
            draft.put_target_epoch(group.epoch)
            self._note_states(draft)
        group.seen_topics = version

    def _targets(self, group: ShareGroup) -> dict[str, Assignment]:
        names = {name for member in group.members.values() for name in member.metadata.topic_names}
        found = {name: topic for name in names if (topic := self._topics.find(name)) is not None}
        members = {
            member_id: frozenset(found[n].topic_id for n in member.metadata.topic_names if n in found)
            for member_id, member in group.members.items()
        }
        return assign(members, {topic.topic_id: topic.partitions for topic in found.values()})

    def _note_states(self, draft: _Draft) -> None:
        """Remember what the share coordinator may come to know, so that it can be deleted with the group."""
        known = dict(draft.group.state_topics)
        for target in draft.group.targets.values():
            for topic_id, indexes in target.items():
                name = self._topics.name_of(topic_id) or ""
                before = known.get(topic_id, StateTopic(name, frozenset()))
                known[topic_id] = StateTopic(name, before.partitions | indexes)
        known = {topic_id: topic for topic_id, topic in known.items() if self._topics.name_of(topic_id)}
        if known != draft.group.state_topics:
            draft.put_state_topics(known)

    def _reconciled(self, draft: _Draft, member_id: str) -> ShareMember:
        group = draft.group
        member = group.members[member_id]
        target = group.targets.get(member_id, NO_PARTITIONS)
        value = ShareCurrentValue(group.target_epoch, member.epoch, target)
        if (member.epoch, member.current.assigned) != (group.target_epoch, target):
            draft.put_current(member_id, value)
        return group.members[member_id]

    def _after(self, draft: _Draft, member_id: str) -> None:
        group_id = draft.group.group_id
        self._note_topics(group_id, draft.group.seen_topics)
        self._watch_session(group_id, member_id)

    # Leaving

    def _leave(self, request: ShareHeartbeat) -> Followed:
        group = self._groups.find(request.group_id, ShareGroup)
        if group is None:
            raise _no_group(request.group_id)
        member = group.member(request.member_id)
        result = ShareHeartbeatResult(request.member_id, LEAVE_EPOCH)
        return self._remove(group, member.member_id), result

    def _remove(self, group: ShareGroup, member_id: str) -> Decision:
        """The others share its partitions in the next epoch."""
        draft = _Draft(group, self._context.now_ms())
        draft.remove_member(member_id)
        self._assign(draft, True)

        def after() -> None:
            self._context.cancel(("session", group.group_id, member_id))
            self._note_topics(group.group_id, draft.group.seen_topics)

        return Decision(tuple(draft.records), after)

    # Tools

    def note_topics(self, group_id: str, topics: dict[bytes, StateTopic]) -> Decision:
        """The topics of which states are kept, as a tool has changed them. A group that is not there is made:
        it has a place, and no members yet."""
        present = self._groups.get(group_id)
        if present is not None and not isinstance(present, ShareGroup):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
        draft = _Draft(ShareGroup(group_id) if present is None else present, self._context.now_ms())
        if present is None:
            draft.put_epoch(0)
        if topics != draft.group.state_topics:
            draft.put_state_topics(topics)
        return Decision(tuple(draft.records))

    # The life of the shard

    def _watch_session(self, group_id: str, member_id: str) -> None:
        timeout_ms = self._settings.share_session_ms(self._topics.group_config(group_id))

        def expire() -> Decision:
            group = self._groups.find(group_id, ShareGroup)
            return (
                NOTHING if group is None or member_id not in group.members else self._remove(group, member_id)
            )

        self._context.schedule(("session", group_id, member_id), timeout_ms, expire)

    def _note_topics(self, group_id: str, version: object) -> None:
        group = self._groups.find(group_id, ShareGroup)
        if group is not None:
            group.seen_topics = version

    def on_loaded(self, group_id: str) -> None:
        group = self._groups.find(group_id, ShareGroup)
        for member_id in () if group is None else group.members:
            self._watch_session(group_id, member_id)

    def on_unloaded(self, group_id: str, error: KafkaError) -> None:
        """No request waits: each heartbeat is answered by itself."""

    # The classic protocol is not spoken here

    def join(self, request: JoinRequest, promise: Promise[JoinResult]) -> Decision:
        self._context.complete(promise, JoinResult(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id))
        return NOTHING

    def sync(self, request: SyncRequest, promise: Promise[SyncResult]) -> Decision:
        self._context.complete(promise, SyncResult(ErrorCode.UNKNOWN_MEMBER_ID))
        return NOTHING

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        return ErrorCode.UNKNOWN_MEMBER_ID

    def leave(self, group_id: str, leavers: tuple[Leaver, ...]) -> tuple[Decision, list[LeaveResult]]:
        unknown = ErrorCode.UNKNOWN_MEMBER_ID
        return NOTHING, [LeaveResult(each.member_id, each.instance_id, unknown) for each in leavers]

    def renew(self, group_id: str, member_id: str) -> None:
        """Nothing is committed here."""


class _Draft:
    """A change while it is being decided: every record is noted and replayed on a copy."""

    def __init__(self, group: ShareGroup, now_ms: int) -> None:
        self.group = replace(
            group,
            members=dict(group.members),
            targets=dict(group.targets),
            state_topics=dict(group.state_topics),
        )
        self.records: list[Record] = []
        self._make = ShareRecords(group.group_id, now_ms)

    def put_member(self, member_id: str, metadata: ShareMemberValue) -> None:
        self.records.append(self._make.member(member_id, metadata))
        self.group.replay_member(member_id, metadata)

    def put_epoch(self, epoch: int) -> None:
        self.records.append(self._make.epoch(epoch))
        self.group.epoch = epoch

    def put_target(self, member_id: str, target: Assignment) -> None:
        self.records.append(self._make.target(member_id, target))
        self.group.replay_target(member_id, target)

    def put_target_epoch(self, epoch: int) -> None:
        self.records.append(self._make.target_epoch(epoch))
        self.group.target_epoch = epoch

    def put_current(self, member_id: str, value: ShareCurrentValue) -> None:
        self.records.append(self._make.current(member_id, value))
        self.group.replay_current(member_id, value)

    def put_state_topics(self, topics: dict[bytes, StateTopic]) -> None:
        self.records.append(self._make.state_topics(topics))
        self.group.state_topics = topics

    def remove_member(self, member_id: str) -> None:
        self.records += self._make.remove_member(member_id)
        self.group.members.pop(member_id, None)
        self.group.targets.pop(member_id, None)


def _check_request(request: ShareHeartbeat) -> None:
    if not request.group_id:
        raise _invalid("GroupId can't be empty.")
    if not request.member_id:
        raise _invalid("MemberId can't be empty.")
    if request.rack_id == "":
        raise _invalid("RackId can't be empty.")
    if request.member_epoch == JOIN_EPOCH and not request.topic_names:
        raise _invalid("SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVE_EPOCH:
        raise _invalid("MemberEpoch is invalid.")


def _updated(metadata: ShareMemberValue, request: ShareHeartbeat) -> ShareMemberValue:
    names = request.topic_names
    return ShareMemberValue(
        metadata.rack_id if request.rack_id is None else request.rack_id,
        request.client.client_id,
        request.client.host,
        metadata.topic_names if names is None else tuple(sorted(set(names))),
    )


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)


def _no_group(group_id: str) -> KafkaError:
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {group_id} not found.")
