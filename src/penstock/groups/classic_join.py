"""Joining a classic group: new members, known ones, and static ones that come back."""

from __future__ import annotations

from collections.abc import Callable

from penstock.coordinator.decision import NOTHING, Context, Decision
from penstock.coordinator.promise import Promise
from penstock.groups.classic_group import ClassicGroup, ClassicMember, ClassicState
from penstock.groups.classic_rebalance import NEW_MEMBER_JOIN_TIMEOUT_MS, Rebalance, heartbeat_key
from penstock.groups.group import Groups
from penstock.groups.group_records import group_record
from penstock.groups.messages import UNKNOWN_MEMBER_ID, JoinRequest, JoinResult
from penstock.groups.settings import GroupSettings
from penstock.protocol.errors import ErrorCode, KafkaError


class Joining:
    """Decides about joins to the classic groups of one shard."""

    def __init__(
        self,
        context: Context,
        groups: Groups,
        settings: GroupSettings,
        phases: Rebalance,
        new_id: Callable[[], str],
    ) -> None:
        self._context = context
        self._groups = groups
        self._settings = settings
        self._phases = phases
        self._new_id = new_id

    def join(self, request: JoinRequest, promise: Promise[JoinResult]) -> Decision:
        """Join a group that is classic, or that is not there yet."""
        group = self._phases.find(request.group_id)
        is_unknown = request.member_id == UNKNOWN_MEMBER_ID
        if group is None:
            if not is_unknown:
                return self._refuse(promise, request, ErrorCode.UNKNOWN_MEMBER_ID)
            assert request.group_id not in self._groups, "a group of another kind"
            group = self._groups[request.group_id] = ClassicGroup(request.group_id)
        decision = self._join(group, request, promise, is_unknown)
        self._phases.forget_if_nothing(group)
        return decision

    def _join(
        self, group: ClassicGroup, request: JoinRequest, promise: Promise[JoinResult], is_unknown: bool
    ) -> Decision:
        if not self._accepts(group, request.member_id):
            self._phases.drop(group, request.member_id)
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
        """Whether there is room. While members join, only those that have joined count: the last of too many
        are refused."""
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
        self._phases.watch_heartbeat(group.group_id, member_id, request.session_timeout_ms)
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
        self._phases.renew_heartbeat(group, member)
        if group.state is ClassicState.COMPLETING:
            # The leader may already assign to the old id: the new one would get nothing.
            return self._phases.prepare(group)
        return self._phases.maybe_complete_join(group)

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
            self._phases.renew_heartbeat(group, member)
            return self._phases.maybe_prepare(group)

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
            self._phases.answer_waiting(old, ErrorCode.FENCED_INSTANCE_ID)
            self._context.cancel(heartbeat_key(group.group_id, old_member_id))
            member = group.members[member_id]
            member.protocols = request.protocols
            self._phases.renew_heartbeat(group, member)
            is_leader = group.leader == member_id
            skips = request.supports_skipping_assignment
            # Before v9 a leader cannot be asked to skip the assignment, so the answer names another leader.
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
        """The same member under a new id, in the place of the old one. A request that waits under the old id
        is fenced."""
        old = group.members[old_member_id]
        self._phases.answer_waiting(old, ErrorCode.FENCED_INSTANCE_ID)
        self._context.cancel(heartbeat_key(group.group_id, old_member_id))
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
            self._context.complete(promise, self._phases.joined(group, member))
            return NOTHING
        group.update(member, request)
        self._await_join(member, promise)
        return self._phases.maybe_prepare(group)

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
        self._phases.watch_heartbeat(group.group_id, member_id, NEW_MEMBER_JOIN_TIMEOUT_MS)
        return self._phases.maybe_prepare(group)

    def _await_join(self, member: ClassicMember, promise: Promise[JoinResult]) -> None:
        if member.joining is not None:  # of a connection that is gone: the member has joined again
            self._context.complete(
                member.joining, JoinResult(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
            )
        member.joining = promise

    def _refuse(self, promise: Promise[JoinResult], request: JoinRequest, error: ErrorCode) -> Decision:
        self._context.complete(promise, JoinResult(error, request.member_id))
        return NOTHING
