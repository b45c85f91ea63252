"""Classic members of a group of the consumer protocol: they join, sync, send heartbeats and leave as in a
classic group, while the coordinator assigns the partitions."""

from __future__ import annotations

from collections.abc import Callable

from penstock.coordinator.decision import NOTHING, Context, Decision
from penstock.coordinator.promise import Promise
from penstock.groups.classic import ClassicProtocol
from penstock.groups.consumer import ConsumerProtocol, check_static
from penstock.groups.consumer_group import NO_METADATA, ConsumerGroup, Member, MemberState
from penstock.groups.consumer_records import ClassicMetadata, MemberValue
from penstock.groups.draft import Draft
from penstock.groups.embedded import CONSUMER, Subscription, decode_subscription, encode_assignment
from penstock.groups.group import Groups
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
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.primitives import MalformedMessage


class MixedProtocol:
    """Serves the consumer groups of one shard to classic members."""

    def __init__(
        self,
        context: Context,
        groups: Groups,
        consumer: ConsumerProtocol,
        classic: ClassicProtocol,
        new_id: Callable[[], str],
    ) -> None:
        self._context = context
        self._groups = groups
        self._consumer = consumer
        self._classic = classic
        self._new_id = new_id

    def _group(self, group_id: str) -> ConsumerGroup:
        group = self._groups.find(group_id, ConsumerGroup)
        assert group is not None, f"{group_id} is no consumer group"
        return group

    # Join

    def join(self, request: JoinRequest, promise: Promise[JoinResult]) -> Decision:
        group = self._group(request.group_id)
        if not group.is_empty:
            return self._join(group, request, promise)
        if request.member_id != UNKNOWN_MEMBER_ID:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"The group {request.group_id} has no members.")

        def after() -> None:
            decision = self._classic.join(request, promise)
            assert not decision.records, "a group begins with waiting"

        return Decision(tuple(group.tombstones(self._context.now_ms())), after)

    def _join(self, group: ConsumerGroup, request: JoinRequest, promise: Promise[JoinResult]) -> Decision:
        is_unknown = request.member_id == UNKNOWN_MEMBER_ID
        member_id = request.member_id or self._new_id()
        self._consumer.check_size(group, member_id)
        if not group.supports_classic(request.protocol_type, [name for name, _ in request.protocols]):
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"Member {member_id}'s protocols are not supported."
            )
        subscription = _subscription(request)
        if is_unknown and request.requires_known_member_id and request.instance_id is None:
            self._context.complete(promise, JoinResult(ErrorCode.MEMBER_ID_REQUIRED, member_id))
            return NOTHING
        draft = Draft(group, self._context.now_ms())
        member, replaced = self._subscribe(draft, request, member_id, is_unknown)
        changed = self._consumer.update_member(draft, member, _new_metadata(member, request, subscription))
        self._consumer.advance(draft, changed)
        owned = self._consumer.migration.by_id(subscription.owned)
        member = self._consumer.step(draft, member.member_id, owned)
        if replaced and self._consumer.migration.may_downgrade(draft.group):
            follow = self._consumer.migration.downgrade(draft, rebalance=False)
        else:
            follow = self._watching(draft, member, request)
        result = JoinResult(ErrorCode.NONE, member.member_id, member.epoch, CONSUMER, request.protocols[0][0])

        def after() -> None:
            follow()
            self._context.complete(promise, result)

        def failed(error: KafkaError) -> None:
            self._context.complete(promise, JoinResult(error.code, request.member_id))

        return Decision(tuple(draft.records), after, failed)

    def _subscribe(
        self, draft: Draft, request: JoinRequest, member_id: str, is_unknown: bool
    ) -> tuple[Member, bool]:
        """The member as it was until now, and whether it takes the place of another."""
        group = draft.group
        if request.instance_id is None:
            present = group.members.get(member_id)
            return (Member(member_id, NO_METADATA) if present is None else present), False
        static = group.static_member(request.instance_id)
        if not is_unknown:
            return check_static(static, request.instance_id, member_id), False
        if static is None:
            return Member(member_id, NO_METADATA), False
        return draft.replace_member(static, member_id), True

    def _watching(self, draft: Draft, member: Member, request: JoinRequest) -> Callable[[], None]:
        group_id, version = draft.group.group_id, draft.group.seen_topics

        def follow() -> None:
            self._consumer.note_topics(group_id, version)
            self._context.cancel(("classic-join", group_id, member.member_id))
            self._consumer.watch_session(group_id, member.member_id, request.session_timeout_ms)
            self._context.schedule(
                ("classic-sync", group_id, member.member_id),
                request.rebalance_timeout_ms,
                lambda: self._consumer.fence_by_timer(group_id, member.member_id),
            )

        return follow

    # Sync, heartbeat, leave

    def sync(self, request: SyncRequest, promise: Promise[SyncResult]) -> Decision:
        group = self._group(request.group_id)
        member, classic = self._check(group, request.member_id, request.instance_id, request.generation_id)
        protocol, metadata = classic.protocols[0]
        if request.protocol_type not in (None, CONSUMER) or request.protocol_name not in (None, protocol):
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "The member has joined with another protocol."
            )
        if group.epoch > member.epoch and member.current.state != MemberState.UNREVOKED:
            self._expect_join(group, member)
            raise KafkaError(
                ErrorCode.REBALANCE_IN_PROGRESS,
                f"A new rebalance is triggered in group {group.group_id} and member {member.member_id} "
                "should rejoin to catch up.",
            )
        self._context.cancel(("classic-sync", group.group_id, member.member_id))
        self._consumer.watch_session(group.group_id, member.member_id, classic.session_timeout_ms)
        partitions = self._consumer.migration.by_name(member.current.assigned)
        assignment = encode_assignment(partitions, decode_subscription(metadata).version)
        self._context.complete(
            promise, SyncResult(ErrorCode.NONE, request.protocol_type, request.protocol_name, assignment)
        )
        return NOTHING

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        """A member has to join again when there is a new epoch, when it has to give something up, and when
        what it waits for is free."""
        group = self._group(request.group_id)
        member, classic = self._check(group, request.member_id, request.instance_id, request.generation_id)
        self._consumer.watch_session(group.group_id, member.member_id, classic.session_timeout_ms)
        state = member.current.state
        if (
            member.epoch < group.epoch
            or state == MemberState.UNREVOKED
            or (state == MemberState.UNRELEASED and not group.waits_for_unreleased(member))
        ):
            self._expect_join(group, member)
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def leave(self, group_id: str, leavers: tuple[Leaver, ...]) -> tuple[Decision, list[LeaveResult]]:
        group = self._group(group_id)
        results, going = [], []
        for leaver in leavers:
            try:
                member = self._find(group, leaver)
                going.append(member)
                results.append(LeaveResult(leaver.member_id, leaver.instance_id, ErrorCode.NONE))
            except KafkaError as error:
                results.append(LeaveResult(leaver.member_id, leaver.instance_id, error.code))
        return (self._consumer.fence(group, going) if going else NOTHING), results

    def renew(self, group_id: str, member_id: str) -> None:
        """A commit does not count as a heartbeat here."""

    def on_loaded(self, group_id: str) -> None:
        self._consumer.on_loaded(self._group(group_id))

    def on_unloaded(self, group_id: str, error: KafkaError) -> None:
        """No request waits here: each is answered when its records are committed."""

    def _find(self, group: ConsumerGroup, leaver: Leaver) -> Member:
        if leaver.instance_id is None:
            member = group.member(leaver.member_id)
        else:
            static = group.static_member(leaver.instance_id)
            # An administrator removes an instance without knowing its member id.
            expected = leaver.member_id or (static.member_id if static is not None else "")
            member = check_static(static, leaver.instance_id, expected)
        _classic_of(member)
        return member

    def _check(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
    ) -> tuple[Member, ClassicMetadata]:
        if instance_id is None:
            member = group.member(member_id)
        else:
            member = check_static(group.static_member(instance_id), instance_id, member_id)
        classic = _classic_of(member)
        if generation_id != member.epoch:
            raise KafkaError(
                ErrorCode.ILLEGAL_GENERATION,
                f"The request generation id {generation_id} is not equal to the member epoch {member.epoch} "
                f"of member {member.member_id}.",
            )
        return member, classic

    def _expect_join(self, group: ConsumerGroup, member: Member) -> None:
        self._context.schedule_if_absent(
            ("classic-join", group.group_id, member.member_id),
            member.metadata.rebalance_timeout_ms,
            lambda: self._consumer.fence_by_timer(group.group_id, member.member_id),
        )


def _classic_of(member: Member) -> ClassicMetadata:
    if member.metadata.classic is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member.member_id} does not use the classic protocol."
        )
    return member.metadata.classic


def _subscription(request: JoinRequest) -> Subscription:
    try:
        return decode_subscription(request.protocols[0][1])
    except MalformedMessage:
        raise KafkaError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "The embedded consumer protocol is malformed."
        ) from None


def _new_metadata(member: Member, request: JoinRequest, subscription: Subscription) -> MemberValue:
    return MemberValue(
        member.metadata.instance_id if request.instance_id is None else request.instance_id,
        subscription.rack_id,
        request.client.client_id,
        request.client.host,
        tuple(sorted(set(subscription.topics))),
        None,
        request.rebalance_timeout_ms,
        member.metadata.server_assignor,
        ClassicMetadata(request.session_timeout_ms, request.protocols),
    )
