"""The phases of a classic rebalance: wait for joins, hand out the generation, wait for syncs; and the
sessions of members.

`groups.classic_join` and `groups.classic` begin them on behalf of requests, timers carry them on.
"""

from __future__ import annotations

from typing import Final

from penstock.coordinator.decision import NOTHING, Context, Decision
from penstock.groups.classic_group import ClassicGroup, ClassicMember, ClassicState
from penstock.groups.group import Groups
from penstock.groups.group_records import group_record
from penstock.groups.messages import UNKNOWN_MEMBER_ID, JoinResult, SyncResult
from penstock.groups.settings import GroupSettings
from penstock.protocol.errors import ErrorCode

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000


class Rebalance:
    """Moves the classic groups of one shard from phase to phase."""

    def __init__(self, context: Context, groups: Groups, settings: GroupSettings) -> None:
        self._context = context
        self._groups = groups
        self._settings = settings

    def maybe_prepare(self, group: ClassicGroup) -> Decision:
        return self.prepare(group) if group.can_rebalance else self.maybe_complete_join(group)

    def prepare(self, group: ClassicGroup) -> Decision:
        if group.state is ClassicState.COMPLETING:
            self.propagate(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_sync.clear()
        self._context.cancel(sync_key(group.group_id))
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
            group = self.find(group_id)
            if group is None or group.state is not ClassicState.PREPARING:
                return NOTHING
            if group.new_member_added and remaining_ms:
                group.new_member_added = False
                next_ms = min(self._settings.initial_rebalance_delay_ms, remaining_ms)
                self._wait_initially(group_id, next_ms, max(remaining_ms - delay_ms, 0))
                return NOTHING
            return self._complete_join(group)

        self._context.schedule(join_key(group_id), delay_ms, expire)

    def maybe_complete_join(self, group: ClassicGroup) -> Decision:
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
            found = self.find(group_id)
            if found is None or found.state is not ClassicState.PREPARING:
                return NOTHING
            return self._complete_join(found)

        self._context.schedule(join_key(group_id), group.rebalance_timeout_ms, expire)

    def _complete_join(self, group: ClassicGroup) -> Decision:
        """Members that have joined are in, and dynamic members that have not are out. Static members stay
        until their session ends."""
        self._context.cancel(join_key(group.group_id))
        for member in list(group.members.values()):
            if member.joining is None and member.instance_id is None:
                self.drop(group, member.member_id)
        if group.members and not group.elect_joined_leader():
            self._wait_for_joins(group)
            return NOTHING
        group.begin_generation(self._context.now_ms())
        if group.is_empty:
            return self._write_empty(group)
        for member in group.members.values():
            if member.joining is not None:
                self._context.complete(member.joining, self.joined(group, member))
                member.joining = None
            member.is_new = False
            self.renew_heartbeat(group, member)
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
            found = self.find(group_id)
            if (
                found is None
                or found.generation_id != generation_id
                or found.state not in (ClassicState.COMPLETING, ClassicState.STABLE)
                or not found.pending_sync
            ):
                return NOTHING
            for member_id in list(found.pending_sync):
                self.drop(found, member_id)
            return self.prepare(found)

        self._context.schedule(sync_key(group_id), group.rebalance_timeout_ms, expire)

    def propagate(self, group: ClassicGroup, error: ErrorCode = ErrorCode.NONE) -> None:
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
                self.renew_heartbeat(group, member)

    def after_removal(self, group: ClassicGroup) -> Decision:
        if group.state in (ClassicState.STABLE, ClassicState.COMPLETING):
            return self.prepare(group)
        return self.maybe_complete_join(group)

    # Sessions

    def forget_if_nothing(self, group: ClassicGroup) -> None:
        """A group that was named once, and that no member joined, leaves no trace."""
        if group.is_forgettable and self._groups.get(group.group_id) is group:
            self._context.cancel(join_key(group.group_id))
            del self._groups[group.group_id]

    def renew_heartbeat(self, group: ClassicGroup, member: ClassicMember) -> None:
        timeout_ms = NEW_MEMBER_JOIN_TIMEOUT_MS if member.is_new else member.session_timeout_ms
        self.watch_heartbeat(group.group_id, member.member_id, timeout_ms)

    def watch_heartbeat(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        self._context.schedule(
            heartbeat_key(group_id, member_id),
            timeout_ms,
            lambda: self._expire_heartbeat(group_id, member_id),
        )

    def _expire_heartbeat(self, group_id: str, member_id: str) -> Decision:
        group = self.find(group_id)
        if group is None:
            return NOTHING
        member = group.members.get(member_id)
        if member is not None and member.is_alive_without_heartbeats:
            return NOTHING  # its timer starts anew when its request is answered
        if member is None and member_id not in group.pending:
            return NOTHING
        self.drop(group, member_id)
        decision = self.after_removal(group) if member is not None else self.maybe_complete_join(group)
        self.forget_if_nothing(group)
        return decision

    # Small steps

    def find(self, group_id: str) -> ClassicGroup | None:
        return self._groups.find(group_id, ClassicGroup)

    def drop(self, group: ClassicGroup, member_id: str) -> None:
        member = group.remove(member_id)
        self._context.cancel(heartbeat_key(group.group_id, member_id))
        if member is not None:
            self.answer_waiting(member, ErrorCode.UNKNOWN_MEMBER_ID)

    def answer_waiting(self, member: ClassicMember, error: ErrorCode) -> None:
        if member.joining is not None:
            self._context.complete(member.joining, JoinResult(error, UNKNOWN_MEMBER_ID))
            member.joining = None
        if member.syncing is not None:
            self._context.complete(member.syncing, SyncResult(error))
            member.syncing = None

    def joined(self, group: ClassicGroup, member: ClassicMember) -> JoinResult:
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


def heartbeat_key(group_id: str, member_id: str) -> tuple[str, str, str]:
    return ("heartbeat", group_id, member_id)


def join_key(group_id: str) -> tuple[str, str]:
    return ("join", group_id)


def sync_key(group_id: str) -> tuple[str, str]:
    return ("sync", group_id)
