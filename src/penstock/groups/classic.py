"""The classic protocol: join, sync, heartbeat and leave of groups whose members assign partitions themselves.

Pure: requests and timers in, decisions and answers (through the shard's context) out. A group of the consumer
protocol that has classic members is served by `groups.mixed`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.coordinator.decision import NOTHING, Context, Decision
from penstock.coordinator.promise import Promise
from penstock.groups.any_group import Groups
from penstock.groups.classic_group import ClassicGroup, ClassicMember, ClassicState
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

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000


class ClassicProtocol:
    """Decides for the classic groups of one shard."""

    def __init__(
        self, context: Context, groups: Groups, settings: GroupSettings, new_id: Callable[[], str]
    ) -> None:
        self._context = context
        self._groups = groups
        self._settings = settings
        self._new_id = new_id

    # Join

    def join(self, request: JoinRequest, promise: Promise[JoinResult]) -> Decision:
        """Into a group that is classic, or that nobody is in yet."""
        group = self._groups.get(request.group_id)
        is_unknown = request.member_id == UNKNOWN_MEMBER_ID
        if group is None:
            if not is_unknown:
                return self._refuse(promise, request, ErrorCode.UNKNOWN_MEMBER_ID)
            group = self._groups[request.group_id] = ClassicGroup(request.group_id)
        assert isinstance(group, ClassicGroup)
        decision = self._join(group, request, promise, is_unknown)
        self.forget_if_nothing(group)
        return decision

    def _join(
        self, group: ClassicGroup, request: JoinRequest, promise: Promise[JoinResult], is_unknown: bool
    ) -> Decision:
        if not self._accepts(group, request.member_id):
            self._drop(group, request.member_id)
            self._context.complete(promise, JoinResult(ErrorCode.GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID))
            return NOTHING
        if not group.supports(request.protocol_type, [name for name, _ in request.protocols]):
            return self._refuse(promise, request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if not is_unknown:
            return self._join_known(group, request, promise)
        if request.instance_id is not None:
            return self._join_new_static(group, request, promise, f"{request.instance_id}-{self._new_id()}")
        return self._join_new_dynamic(group, request, promise, f"{request.client.client_id}-{self._new_id()}")

    def _accepts(self, group: ClassicGroup, member_id: str) -> bool:
        """Whether there is room. While members join, those who have joined count: the last of too many are
        sent away."""
        largest = self._settings.classic_max_size
        if group.state is ClassicState.EMPTY:
            return True
        member = group.members.get(member_id)
        if group.state is ClassicState.PREPARING:
            return (member is not None and member.joining is not None) or group.awaiting_join < largest
        return member is not None or len(group.members) < largest

    def _join_new_dynamic(
        self, group: ClassicGroup, request: JoinRequest, promise: Promise[JoinResult], member_id: str
    ) -> Decision:
        if not request.requires_known_member_id:
            return self._add(group, request, member_id, promise)
        group.pending.add(member_id)
        self._watch_heartbeat(group.group_id, member_id, request.session_timeout_ms)
        self._context.complete(promise, JoinResult(ErrorCode.MEMBER_ID_REQUIRED, member_id))
        return NOTHING

    def _join_new_static(
        self, group: ClassicGroup, request: JoinRequest, promise: Promise[JoinResult], member_id: str
    ) -> Decision:
        assert request.instance_id is not None
        old_member_id = group.static_members.get(request.instance_id)
        if old_member_id is None:
            return self._add(group, request, member_id, promise)
        if group.state is ClassicState.STABLE:
            return self._return_static(group, request, promise, old_member_id, member_id)
        member = self._replace_static(group, old_member_id, member_id)
        group.update(member, request)
        self._await_join(member, promise)
        self._renew_heartbeat(group, member)
        if group.state is ClassicState.COMPLETING:
            # The leader may already assign to the old id: the new one would get nothing.
            return self._prepare_rebalance(group)
        return self._maybe_complete_join(group)

    def _return_static(
        self,
        group: ClassicGroup,
        request: JoinRequest,
        promise: Promise[JoinResult],
        old_member_id: str,
        member_id: str,
    ) -> Decision:
        """A static member is back under a new id. Unless the protocol would change there is no rebalance: the
        group is written with the new id, and the old one is fenced."""
        old = group.members[old_member_id]
        old_protocols, old.protocols = old.protocols, request.protocols
        try:
            protocol = group.select_protocol() if group.candidates() else None
        finally:
            old.protocols = old_protocols
        if protocol != group.protocol:
            member = self._replace_static(group, old_member_id, member_id)
            group.update(member, request)
            self._await_join(member, promise)
            self._renew_heartbeat(group, member)
            return self._maybe_prepare_rebalance(group)

        current_leader = group.leader
        value = group.value()
        members = tuple(
            member._replace(
                member_id=member_id,
                client_id=request.client.client_id,
                client_host=request.client.host,
                rebalance_timeout_ms=request.rebalance_timeout_ms,
                session_timeout_ms=request.session_timeout_ms,
                subscription=dict(request.protocols)[group.protocol or ""],
            )
            if member.member_id == old_member_id
            else member
            for member in value.members
        )
        leader = member_id if value.leader == old_member_id else value.leader
        record = group_record(
            group.group_id, value._replace(members=members, leader=leader), self._context.now_ms()
        )

        def after() -> None:
            self._answer_waiting(old, ErrorCode.FENCED_INSTANCE_ID)
            self._context.cancel(_heartbeat_key(group.group_id, old_member_id))
            member = group.members[member_id]
            member.protocols = request.protocols
            self._renew_heartbeat(group, member)
            is_leader = group.leader == member_id
            skips = request.supports_skipping_assignment
            # Before v9 nobody can be told to skip the assignment, so the leader is told that it is another.
            result = JoinResult(
                ErrorCode.NONE,
                member_id,
                group.generation_id,
                group.protocol_type,
                group.protocol,
                (group.leader if skips else current_leader) or "",
                skips and is_leader,
                group.joined_members() if skips and is_leader else (),
            )
            self._context.complete(promise, result)

        def failed(error: KafkaError) -> None:
            self._context.complete(promise, JoinResult(error.code, UNKNOWN_MEMBER_ID))

        return Decision((record,), after, failed)

    def _replace_static(self, group: ClassicGroup, old_member_id: str, member_id: str) -> ClassicMember:
        """The same member under a new id, in the old one's place; whoever still waits under the old id is
        fenced."""
        old = group.members[old_member_id]
        self._answer_waiting(old, ErrorCode.FENCED_INSTANCE_ID)
        self._context.cancel(_heartbeat_key(group.group_id, old_member_id))
        member = ClassicMember(
            member_id,
            old.instance_id,
            old.client_id,
            old.client_host,
            old.rebalance_timeout_ms,
            old.session_timeout_ms,
            old.protocols,
            old.assignment,
        )
        group.members = {
            (member_id if id_ == old_member_id else id_): (member if id_ == old_member_id else other)
            for id_, other in group.members.items()
        }
        assert old.instance_id is not None
        group.static_members[old.instance_id] = member_id
        group.pending_sync.discard(old_member_id)
        if group.leader == old_member_id:
            group.leader = member_id
        return member

    def _join_known(
        self, group: ClassicGroup, request: JoinRequest, promise: Promise[JoinResult]
    ) -> Decision:
        member_id = request.member_id
        if member_id in group.pending and request.instance_id is None:
            return self._add(group, request, member_id, promise)
        try:
            member = group.check_member(member_id, request.instance_id)
        except KafkaError as error:
            return self._refuse(promise, request, error.code)
        if group.state is ClassicState.EMPTY:
            return self._refuse(promise, request, ErrorCode.UNKNOWN_MEMBER_ID)
        unchanged = member.protocols == request.protocols
        if (group.state is ClassicState.COMPLETING and unchanged) or (
            group.state is ClassicState.STABLE and unchanged and group.leader != member_id
        ):
            # Perhaps the answer to its last join was lost: the generation goes on. A leader that joins again
            # in a stable group wants a new one, for topics may have changed.
            self._context.complete(promise, self._joined(group, member))
            return NOTHING
        group.update(member, request)
        self._await_join(member, promise)
        return self._maybe_prepare_rebalance(group)

    def _add(
        self, group: ClassicGroup, request: JoinRequest, member_id: str, promise: Promise[JoinResult]
    ) -> Decision:
        member = ClassicMember(
            member_id,
            request.instance_id,
            request.client.client_id,
            request.client.host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocols,
            joining=promise,
            is_new=True,
        )
        if group.state is ClassicState.PREPARING and group.previous_state is ClassicState.EMPTY:
            group.new_member_added = True
        if not group.members:
            group.protocol_type = request.protocol_type
        group.add(member)
        # A new member cannot send heartbeats; a client that gave up would stay for as long as others join.
        self._watch_heartbeat(group.group_id, member_id, NEW_MEMBER_JOIN_TIMEOUT_MS)
        return self._maybe_prepare_rebalance(group)

    # The phases of a rebalance

    def _maybe_prepare_rebalance(self, group: ClassicGroup) -> Decision:
        return self._prepare_rebalance(group) if group.can_rebalance else self._maybe_complete_join(group)

    def _prepare_rebalance(self, group: ClassicGroup) -> Decision:
        if group.state is ClassicState.COMPLETING:
            self._propagate(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_sync.clear()
        self._context.cancel(_sync_key(group.group_id))
        is_initial = group.state is ClassicState.EMPTY
        group.transition(ClassicState.PREPARING, self._context.now_ms())
        if not is_initial:
            return self._complete_join_or_wait(group)
        group.new_member_added = False
        delay_ms = self._settings.initial_rebalance_delay_ms
        self._wait_initially(group.group_id, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        return NOTHING

    def _wait_initially(self, group_id: str, delay_ms: int, remaining_ms: int) -> None:
        """A new group gives its members time to arrive, and a little more whenever one does."""

        def expire() -> Decision:
            group = self._classic(group_id)
            if group is None or group.state is not ClassicState.PREPARING:
                return NOTHING
            if group.new_member_added and remaining_ms:
                group.new_member_added = False
                next_ms = min(self._settings.initial_rebalance_delay_ms, remaining_ms)
                self._wait_initially(group_id, next_ms, max(remaining_ms - delay_ms, 0))
                return NOTHING
            return self._complete_join(group)

        self._context.schedule(_join_key(group_id), delay_ms, expire)

    def _maybe_complete_join(self, group: ClassicGroup) -> Decision:
        if (
            group.state is ClassicState.PREPARING
            and group.previous_state is not ClassicState.EMPTY
            and group.has_all_members_joined
        ):
            return self._complete_join(group)
        return NOTHING

    def _complete_join_or_wait(self, group: ClassicGroup) -> Decision:
        if group.has_all_members_joined:
            return self._complete_join(group)
        self._wait_for_joins(group)
        return NOTHING

    def _wait_for_joins(self, group: ClassicGroup) -> None:
        group_id = group.group_id

        def expire() -> Decision:
            found = self._classic(group_id)
            if found is None or found.state is not ClassicState.PREPARING:
                return NOTHING
            return self._complete_join(found)

        self._context.schedule(_join_key(group_id), group.rebalance_timeout_ms, expire)

    def _complete_join(self, group: ClassicGroup) -> Decision:
        """Who has joined is in; a dynamic member that has not is out. Static ones stay until their session
        ends."""
        self._context.cancel(_join_key(group.group_id))
        for member in list(group.members.values()):
            if member.joining is None and member.instance_id is None:
                self._drop(group, member.member_id)
        if group.members and not group.elect_joined_leader():
            self._wait_for_joins(group)
            return NOTHING
        group.begin_generation(self._context.now_ms())
        if group.is_empty:
            return self._write_empty(group)
        for member in group.members.values():
            if member.joining is not None:
                self._context.complete(member.joining, self._joined(group, member))
                member.joining = None
            member.is_new = False
            self._renew_heartbeat(group, member)
            group.pending_sync.add(member.member_id)
        self._wait_for_syncs(group)
        return NOTHING

    def _write_empty(self, group: ClassicGroup) -> Decision:
        """A failure to write does no harm: nobody is in the group, and its last generation would time out
        again."""
        record = group_record(group.group_id, group.value(), self._context.now_ms())
        return Decision((record,), failed=lambda error: None)

    def _wait_for_syncs(self, group: ClassicGroup) -> None:
        group_id, generation_id = group.group_id, group.generation_id

        def expire() -> Decision:
            found = self._classic(group_id)
            if (
                found is None
                or found.generation_id != generation_id
                or found.state not in (ClassicState.COMPLETING, ClassicState.STABLE)
                or not found.pending_sync
            ):
                return NOTHING
            for member_id in list(found.pending_sync):
                self._drop(found, member_id)
            return self._prepare_rebalance(found)

        self._context.schedule(_sync_key(group_id), group.rebalance_timeout_ms, expire)

    def _propagate(self, group: ClassicGroup, error: ErrorCode = ErrorCode.NONE) -> None:
        """Answer every sync that waits: with the assignment, or with the reason why there is none."""
        for member in group.members.values():
            if error is not ErrorCode.NONE:
                member.assignment = b""
                result = SyncResult(error)
            else:
                result = SyncResult(error, group.protocol_type, group.protocol, member.assignment)
            if member.syncing is not None:
                self._context.complete(member.syncing, result)
                member.syncing = None
                self._renew_heartbeat(group, member)

    # Sync

    def sync(self, request: SyncRequest, promise: Promise[SyncResult]) -> Decision:
        group = self._classic(request.group_id)
        if group is None or group.is_empty:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"The group {request.group_id} has no members.")
        member = self._check_sync(group, request)
        if group.state is ClassicState.PREPARING:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS, "Members are joining.")
        group.pending_sync.discard(member.member_id)
        if not group.pending_sync:
            self._context.cancel(_sync_key(group.group_id))
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
            self._propagate(group, error.code)
            rebalance = self._maybe_prepare_rebalance(group)
            assert not rebalance.records, "nobody has joined yet"

        return Decision((record,), lambda: self._propagate(group), failed)

    # Heartbeat and leave

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        group = self._classic(request.group_id)
        if group is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"There is no group {request.group_id}.")
        member = group.check_member(request.member_id, request.instance_id)
        if request.generation_id != group.generation_id:
            raise _illegal_generation(group, request.generation_id)
        self._renew_heartbeat(group, member)
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state is ClassicState.PREPARING else ErrorCode.NONE

    def leave(self, group: ClassicGroup, leavers: tuple[Leaver, ...]) -> tuple[Decision, list[LeaveResult]]:
        results = [self._leave_one(group, leaver) for leaver in leavers]
        decision = NOTHING
        if any(result.error is ErrorCode.NONE for result in results):
            decision = self._after_removal(group)
        self.forget_if_nothing(group)
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
            self._drop(group, member_id)
        return LeaveResult(leaver.member_id, leaver.instance_id, error)

    def _after_removal(self, group: ClassicGroup) -> Decision:
        if group.state in (ClassicState.STABLE, ClassicState.COMPLETING):
            return self._prepare_rebalance(group)
        return self._maybe_complete_join(group)

    # Sessions

    def renew(self, group: ClassicGroup, member_id: str) -> None:
        """A commit is as good as a heartbeat."""
        member = group.members.get(member_id)
        if member is not None and group.state in (ClassicState.STABLE, ClassicState.PREPARING):
            self._renew_heartbeat(group, member)

    def on_loaded(self, group: ClassicGroup) -> Decision:
        """Members have a whole session to come back after a restart."""
        for member in group.members.values():
            self._renew_heartbeat(group, member)
        if len(group.members) > self._settings.classic_max_size:
            return self._prepare_rebalance(group)
        return NOTHING

    def on_unloaded(self, group: ClassicGroup, error: KafkaError) -> None:
        for member in group.members.values():
            if member.joining is not None:
                self._context.fail(member.joining, error)
            if member.syncing is not None:
                self._context.fail(member.syncing, error)

    def start_downgraded(self, group: ClassicGroup, *, rebalance: bool) -> Decision:
        """A group that was of the consumer protocol until now."""
        for member in group.members.values():
            self._renew_heartbeat(group, member)
        return self._prepare_rebalance(group) if rebalance else NOTHING

    def stop_upgraded(self, group: ClassicGroup) -> None:
        """The group goes over to the consumer protocol: those who wait have to join again there."""
        self._context.cancel(_join_key(group.group_id))
        self._context.cancel(_sync_key(group.group_id))
        for member in group.members.values():
            self._answer_waiting(member, ErrorCode.REBALANCE_IN_PROGRESS)
            self._context.cancel(_heartbeat_key(group.group_id, member.member_id))
        for member_id in group.pending:
            self._context.cancel(_heartbeat_key(group.group_id, member_id))

    def forget_if_nothing(self, group: ClassicGroup) -> None:
        """A group that was named once, and that nobody joined, leaves no trace."""
        if group.is_forgettable and self._groups.get(group.group_id) is group:
            self._context.cancel(_join_key(group.group_id))
            del self._groups[group.group_id]

    def _renew_heartbeat(self, group: ClassicGroup, member: ClassicMember) -> None:
        timeout_ms = NEW_MEMBER_JOIN_TIMEOUT_MS if member.is_new else member.session_timeout_ms
        self._watch_heartbeat(group.group_id, member.member_id, timeout_ms)

    def _watch_heartbeat(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        self._context.schedule(
            _heartbeat_key(group_id, member_id),
            timeout_ms,
            lambda: self._expire_heartbeat(group_id, member_id),
        )

    def _expire_heartbeat(self, group_id: str, member_id: str) -> Decision:
        group = self._classic(group_id)
        if group is None:
            return NOTHING
        member = group.members.get(member_id)
        if member is not None and member.is_alive_without_heartbeats:
            return NOTHING  # its timer starts anew when its request is answered
        if member is None and member_id not in group.pending:
            return NOTHING
        self._drop(group, member_id)
        decision = self._after_removal(group) if member is not None else self._maybe_complete_join(group)
        self.forget_if_nothing(group)
        return decision

    # Small steps

    def _classic(self, group_id: str) -> ClassicGroup | None:
        group = self._groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def _drop(self, group: ClassicGroup, member_id: str) -> None:
        member = group.remove(member_id)
        self._context.cancel(_heartbeat_key(group.group_id, member_id))
        if member is not None:
            self._answer_waiting(member, ErrorCode.UNKNOWN_MEMBER_ID)

    def _answer_waiting(self, member: ClassicMember, error: ErrorCode) -> None:
        if member.joining is not None:
            self._context.complete(member.joining, JoinResult(error, UNKNOWN_MEMBER_ID))
            member.joining = None
        if member.syncing is not None:
            self._context.complete(member.syncing, SyncResult(error))
            member.syncing = None

    def _await_join(self, member: ClassicMember, promise: Promise[JoinResult]) -> None:
        if member.joining is not None:  # of a connection that is gone: the member has joined again
            self._context.complete(
                member.joining, JoinResult(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
            )
        member.joining = promise

    def _joined(self, group: ClassicGroup, member: ClassicMember) -> JoinResult:
        return JoinResult(
            ErrorCode.NONE,
            member.member_id,
            group.generation_id,
            group.protocol_type,
            group.protocol,
            group.leader or "",
            False,
            group.joined_members() if group.leader == member.member_id else (),
        )

    def _refuse(self, promise: Promise[JoinResult], request: JoinRequest, error: ErrorCode) -> Decision:
        self._context.complete(promise, JoinResult(error, request.member_id))
        return NOTHING


def _illegal_generation(group: ClassicGroup, generation_id: int) -> KafkaError:
    return KafkaError(
        ErrorCode.ILLEGAL_GENERATION,
        f"The generation of {group.group_id} is {group.generation_id}, not {generation_id}.",
    )


def _heartbeat_key(group_id: str, member_id: str) -> tuple[str, str, str]:
    return ("heartbeat", group_id, member_id)


def _join_key(group_id: str) -> tuple[str, str]:
    return ("join", group_id)


def _sync_key(group_id: str) -> tuple[str, str]:
    return ("sync", group_id)
