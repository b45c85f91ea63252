"""The classic protocol: join, sync, heartbeat and leave of groups whose members assign partitions themselves.

Pure: requests and timers in, decisions and answers (through the shard's context) out. A group of the consumer
protocol that has classic members is served by `groups.mixed`.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.coordinator.decision import NOTHING, Context, Decision
from penstock.coordinator.promise import Promise
from penstock.groups.classic_group import ClassicGroup, ClassicMember, ClassicState
from penstock.groups.classic_join import Joining
from penstock.groups.classic_rebalance import Rebalance, heartbeat_key, join_key, sync_key
from penstock.groups.group import Groups
from penstock.groups.group_records import group_record
from penstock.groups.messages import (
    UNKNOWN_MEMBER_ID,
    HeartbeatRequest,
    JoinRequest,
    JoinResult,
    Leaver,
    LeaveResult,
    SyncRequest,
    SyncResult,
)
from penstock.groups.settings import GroupSettings
from penstock.protocol.errors import ErrorCode, KafkaError


class ClassicProtocol:
    """Decides for the classic groups of one shard."""

    def __init__(
        self, context: Context, groups: Groups, settings: GroupSettings, new_id: Callable[[], str]
    ) -> None:
        self._context = context
        self._settings = settings
        self._phases = Rebalance(context, groups, settings)
        self._joining = Joining(context, groups, settings, self._phases, new_id)

    def join(self, request: JoinRequest, promise: Promise[JoinResult]) -> Decision:
        """Join a group that is classic, or that is not there yet."""
        return self._joining.join(request, promise)

    # Sync

    def sync(self, request: SyncRequest, promise: Promise[SyncResult]) -> Decision:
        group = self._phases.find(request.group_id)
        if group is None or group.is_empty:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"The group {request.group_id} has no members.")
        member = self._check_sync(group, request)
        if group.state is ClassicState.PREPARING:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS, "Members are joining.")
        group.pending_sync.discard(member.member_id)
        if not group.pending_sync:
            self._context.cancel(sync_key(group.group_id))
        if group.state is ClassicState.STABLE:
            self._context.complete(
                promise,
                SyncResult(ErrorCode.NONE, group.protocol_type, group.protocol, member.assignment),
            )
            return NOTHING
        if member.syncing is not None:
            self._context.complete(member.syncing, SyncResult(ErrorCode.REBALANCE_IN_PROGRESS))
        member.syncing = promise
        return self._take_assignment(group, request) if group.leader == member.member_id else NOTHING

    def _check_sync(self, group: ClassicGroup, request: SyncRequest) -> ClassicMember:
        member = group.check_member(request.member_id, request.instance_id)
        if request.generation_id != group.generation_id:
            raise _illegal_generation(group, request.generation_id)
        if request.protocol_type not in (None, group.protocol_type) or request.protocol_name not in (
            None,
            group.protocol,
        ):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "The group has chosen another protocol.")
        return member

    def _take_assignment(self, group: ClassicGroup, request: SyncRequest) -> Decision:
        """The leader has spoken: the generation is written, and is complete when it is."""
        record = group_record(group.group_id, group.value(dict(request.assignments)), self._context.now_ms())

        def failed(error: KafkaError) -> None:
            self._phases.propagate(group, error.code)
            rebalance = self._phases.maybe_prepare(group)
            assert not rebalance.records, "nobody has joined yet"

        return Decision((record,), lambda: self._phases.propagate(group), failed)

    # Heartbeat and leave

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        group = self._phases.find(request.group_id)
        if group is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"There is no group {request.group_id}.")
        member = group.check_member(request.member_id, request.instance_id)
        if request.generation_id != group.generation_id:
            raise _illegal_generation(group, request.generation_id)
        self._phases.renew_heartbeat(group, member)
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state is ClassicState.PREPARING else ErrorCode.NONE

    def leave(self, group_id: str, leavers: tuple[Leaver, ...]) -> tuple[Decision, list[LeaveResult]]:
        group = self._phases.find(group_id)
        if group is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"There is no group {group_id}.")
        results = [self._leave_one(group, leaver) for leaver in leavers]
        decision = NOTHING
        if any(result.error is ErrorCode.NONE for result in results):
            decision = self._phases.after_removal(group)
        self._phases.forget_if_nothing(group)
        return decision, results

    def _leave_one(self, group: ClassicGroup, leaver: Leaver) -> LeaveResult:
        member_id = leaver.member_id
        if member_id == UNKNOWN_MEMBER_ID and leaver.instance_id is not None:
            member_id = group.static_members.get(leaver.instance_id, UNKNOWN_MEMBER_ID)
        error = ErrorCode.NONE
        if member_id not in group.pending:
            try:
                group.check_member(member_id, leaver.instance_id)
            except KafkaError as refused:
                error = refused.code
        if error is ErrorCode.NONE:
            self._phases.drop(group, member_id)
        return LeaveResult(leaver.member_id, leaver.instance_id, error)

    # Sessions

    def renew(self, group_id: str, member_id: str) -> None:
        """A commit is as good as a heartbeat."""
        group = self._phases.find(group_id)
        member = None if group is None else group.members.get(member_id)
        if group is None or member is None:
            return
        if group.state in (ClassicState.STABLE, ClassicState.PREPARING):
            self._phases.renew_heartbeat(group, member)

    def on_loaded(self, group_id: str) -> None:
        """Members have a whole session to come back after a restart."""
        group = self._phases.find(group_id)
        assert group is not None, f"{group_id} is no classic group"
        for member in group.members.values():
            self._phases.renew_heartbeat(group, member)
        if len(group.members) > self._settings.classic_max_size:
            decision = self._phases.prepare(group)
            assert not decision.records, "a group that has members is not empty"

    def on_unloaded(self, group_id: str, error: KafkaError) -> None:
        group = self._phases.find(group_id)
        assert group is not None, f"{group_id} is no classic group"
        for member in group.members.values():
            if member.joining is not None:
                self._context.fail(member.joining, error)
            if member.syncing is not None:
                self._context.fail(member.syncing, error)

    def start_downgraded(self, group: ClassicGroup, *, rebalance: bool) -> Decision:
        """A group that was of the consumer protocol until now."""
        for member in group.members.values():
            self._phases.renew_heartbeat(group, member)
        return self._phases.prepare(group) if rebalance else NOTHING

    def stop_upgraded(self, group: ClassicGroup) -> None:
        """The group goes over to the consumer protocol: members that wait have to join again there."""
        self._context.cancel(join_key(group.group_id))
        self._context.cancel(sync_key(group.group_id))
        for member in group.members.values():
            self._phases.answer_waiting(member, ErrorCode.REBALANCE_IN_PROGRESS)
            self._context.cancel(heartbeat_key(group.group_id, member.member_id))
        for member_id in group.pending:
            self._context.cancel(heartbeat_key(group.group_id, member_id))


def _illegal_generation(group: ClassicGroup, generation_id: int) -> KafkaError:
    return KafkaError(
        ErrorCode.ILLEGAL_GENERATION,
        f"The generation of {group.group_id} is {group.generation_id}, not {generation_id}.",
    )
