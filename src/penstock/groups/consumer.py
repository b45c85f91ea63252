"""The consumer protocol (KIP-848): one heartbeat carries everything, the server assigns.

Pure: a heartbeat or a timer in, a decision and an answer out. Each is decided on a draft of the group.
Classic members of such groups are served by `groups.mixed`, changes of the protocol by `groups.migration`.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.coordinator.decision import NOTHING, Context, Decision
from penstock.coordinator.regexes import matching
from penstock.groups.assignor import AssignedMember, Partition, Spec
from penstock.groups.assignors import resolve
from penstock.groups.classic import ClassicProtocol
from penstock.groups.classic_group import ClassicGroup
from penstock.groups.consumer_group import (
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    NO_METADATA,
    ConsumerGroup,
    Member,
    MemberState,
)
from penstock.groups.consumer_records import NO_PARTITIONS, Assignment, MemberValue, RegexValue, TopicValue
from penstock.groups.draft import Draft
from penstock.groups.group import Groups
from penstock.groups.messages import ConsumerHeartbeat, ConsumerHeartbeatResult
from penstock.groups.migration import Migration
from penstock.groups.reconcile import reconcile
from penstock.groups.settings import GroupSettings
from penstock.groups.topics import Topics
from penstock.protocol.errors import ErrorCode, KafkaError

Followed = tuple[Decision, ConsumerHeartbeatResult]


class ConsumerProtocol:
    """Decides for the groups of one shard that speak the consumer protocol."""

    def __init__(
        self,
        context: Context,
        groups: Groups,
        settings: GroupSettings,
        topics: Topics,
        new_id: Callable[[], str],
        classic: ClassicProtocol,
    ) -> None:
        self._context = context
        self._groups = groups
        self._settings = settings
        self._topics = topics
        self._new_id = new_id
        self._assignors = resolve(settings.consumer_assignors)
        self.migration = Migration(context, groups, settings, topics, classic)

    @property
    def default_assignor(self) -> str:
        return next(iter(self._assignors))

    # Heartbeats

    def heartbeat(self, request: ConsumerHeartbeat) -> Followed:
        self._check_request(request)
        if request.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
            return self._leave(request)
        draft, converted = self._draft(request.group_id, create=request.member_epoch == 0)
        self.check_size(draft.group, request.member_id)
        member = self._subscribe(draft, request, request.member_id or self._new_id())
        before = member
        changed = self.update_member(draft, member, _updated(member.metadata, request))
        self.advance(draft, changed)
        member = self.step(draft, member.member_id, request.owned)
        result = self._answer(request, before, member)
        return Decision(tuple(draft.records), self._after(draft, before, member, converted)), result

    def _check_request(self, request: ConsumerHeartbeat) -> None:
        if not request.group_id:
            raise _invalid("GroupId can't be empty.")
        if request.instance_id == "":
            raise _invalid("InstanceId can't be empty.")
        if request.rack_id == "":
            raise _invalid("RackId can't be empty.")
        if not request.member_id and (request.requires_member_id or request.member_epoch != 0):
            raise _invalid("MemberId can't be empty.")
        if request.member_epoch == 0:
            if request.rebalance_timeout_ms == -1:
                raise _invalid("RebalanceTimeoutMs must be provided in first request.")
            if request.owned is None or request.owned:
                raise _invalid("TopicPartitions must be empty when (re-)joining.")
            if request.topic_names is None and request.topic_regex is None:
                raise _invalid(
                    "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
                )
        elif request.member_epoch == LEAVE_STATIC_EPOCH:
            if request.instance_id is None:
                raise _invalid("InstanceId can't be null.")
        elif request.member_epoch < LEAVE_STATIC_EPOCH:
            raise _invalid("MemberEpoch is invalid.")
        if request.server_assignor is not None and request.server_assignor not in self._assignors:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_ASSIGNOR,
                f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: "
                f"{', '.join(self._assignors)}.",
            )

    def _draft(self, group_id: str, *, create: bool) -> tuple[Draft, ClassicGroup | None]:
        """The group to be changed. A new member makes one where there is none, and takes a classic one over:
        an empty one always, another when it can be."""
        now_ms = self._context.now_ms()
        group = self._consumer(group_id)
        if group is not None:
            return Draft(group, now_ms), None
        if not create:
            raise _no_group(group_id)
        present = self._groups.get(group_id)
        if present is not None and not isinstance(present, ClassicGroup):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        draft = Draft(ConsumerGroup(group_id), now_ms)
        classic = self._groups.find(group_id, ClassicGroup)
        if classic is None:
            return draft, None
        if classic.members:
            self.migration.upgrade(classic, draft)
        else:
            draft.records += classic.tombstones(now_ms)
        return draft, classic

    def check_size(self, group: ConsumerGroup, member_id: str) -> None:
        if len(group.members) >= self._settings.consumer_max_size and member_id not in group.members:
            raise KafkaError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {self._settings.consumer_max_size} "
                "members.",
            )

    def _subscribe(self, draft: Draft, request: ConsumerHeartbeat, member_id: str) -> Member:
        """The member as it was until now."""
        group, joins = draft.group, request.member_epoch == 0
        if request.instance_id is None:
            present = group.members.get(member_id)
            if present is None and joins:
                return Member(member_id, NO_METADATA)
            member = group.member(member_id)
        else:
            static = group.static_member(request.instance_id)
            if joins and (static is None or static.member_id != member_id):
                return self._join_static(draft, static, request.instance_id, member_id)
            member = check_static(static, request.instance_id, member_id)
        if not joins:
            _check_epoch(member, request.member_epoch, request.owned)
        return member

    def _join_static(self, draft: Draft, present: Member | None, instance_id: str, member_id: str) -> Member:
        if present is None:
            return Member(member_id, NO_METADATA)
        if not present.is_classic and present.epoch != LEAVE_STATIC_EPOCH:
            raise KafkaError(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} cannot join the group because the "
                f"instance id is owned by {present.member_id} member.",
            )
        self._cancel_timers(draft.group.group_id, present.member_id)
        return draft.replace_member(present, member_id)

    def _answer(self, request: ConsumerHeartbeat, before: Member, member: Member) -> ConsumerHeartbeatResult:
        """The assignment goes along when it is new, or when the member said everything: then it may have
        missed an answer."""
        is_full = request.member_epoch == 0 or (
            request.rebalance_timeout_ms != -1
            and (request.topic_names is not None or request.topic_regex is not None)
            and request.owned is not None
        )
        is_new = before.current.assigned != member.current.assigned
        config = self._topics.group_config(request.group_id)
        return ConsumerHeartbeatResult(
            member.member_id,
            member.epoch,
            self._settings.heartbeat_interval_ms(config),
            member.current.assigned if is_full or is_new else None,
        )

    def _after(
        self, draft: Draft, before: Member, member: Member, converted: ClassicGroup | None
    ) -> Callable[[], None]:
        group_id = draft.group.group_id
        version = draft.group.seen_topics

        def after() -> None:
            self.note_topics(group_id, version)
            if converted is not None:
                self.migration.after_upgrade(converted)
                self.watch_classic_members(group_id, converted)
            self.watch_session(group_id, member.member_id)
            if member.current != before.current:  # heartbeats alone do not prolong the time it has
                self.watch_rebalance(group_id, member)

        return after

    # Steps that a classic member of the group takes too

    def update_member(self, draft: Draft, member: Member, metadata: MemberValue) -> bool:
        """Note what the member says of itself; whether what it reads has changed."""
        is_new = member.member_id not in draft.group.members
        if is_new or metadata != member.metadata:
            draft.put_member(member.member_id, metadata)
        return (
            is_new
            or metadata.topic_names != member.metadata.topic_names
            or metadata.topic_regex != member.metadata.topic_regex
        )

    def advance(self, draft: Draft, changed: bool) -> None:
        """A new epoch when subscriptions or topics have changed, and a new target for a new epoch."""
        group = draft.group
        if changed or group.seen_topics is not self._topics.version:
            self._look_at_topics(draft, changed)
        if group.epoch > group.target_epoch:
            self._assign(draft)

    def _look_at_topics(self, draft: Draft, changed: bool) -> None:
        group = draft.group
        version = self._topics.version
        self._resolve_regexes(draft)
        topics = {}
        for name in group.subscribed_names(group.members.values()):
            topic = self._topics.find(name)
            if topic is not None:
                topics[name] = TopicValue(topic.topic_id, name, topic.partitions)
        if topics != group.topics:
            draft.put_topics(topics)
            changed = True
        if changed:
            draft.put_epoch(group.epoch + 1)
        group.seen_topics = version

    def _resolve_regexes(self, draft: Draft) -> None:
        group = draft.group
        wanted = {
            member.metadata.topic_regex for member in group.members.values() if member.metadata.topic_regex
        }
        for regex in group.regexes.keys() - wanted:
            draft.put_regex(regex, None)
        for regex in sorted(wanted):
            names = matching(regex, self._topics.names())
            present = group.regexes.get(regex)
            if present is None or present.topics != names:
                draft.put_regex(regex, RegexValue(names, 0, draft.now_ms))

    def _assign(self, draft: Draft) -> None:
        group = draft.group
        name = group.preferred_assignor(group.members.values())
        assign = self._assignors.get(name or "") or self._assignors[self.default_assignor]
        for member_id, target in assign(self._spec(group)).items():
            if group.targets.get(member_id) != target:
                draft.put_target(member_id, target)
        draft.put_target_epoch(group.epoch)

    def _spec(self, group: ConsumerGroup) -> Spec:
        ids = {topic.name: topic.topic_id for topic in group.topics.values()}
        members = {
            member_id: AssignedMember(
                member.metadata.instance_id,
                member.metadata.rack_id,
                frozenset(ids[name] for name in group.names_of(member.metadata) if name in ids),
                group.targets.get(member_id, NO_PARTITIONS),
            )
            for member_id, member in group.members.items()
        }
        sizes = {topic.topic_id: topic.partitions for topic in group.topics.values()}
        has_racks = any(member.rack_id is not None for member in members.values())
        return Spec(members, sizes, self._racks(group) if has_racks else {})

    def _racks(self, group: ConsumerGroup) -> dict[Partition, frozenset[str]]:
        found = {}
        for name in group.topics:
            topic = self._topics.find(name)
            if topic is not None:
                found.update({(topic.topic_id, index): racks for index, racks in enumerate(topic.racks)})
        return found

    def step(self, draft: Draft, member_id: str, owned: Assignment | None) -> Member:
        """Bring the member closer to its target."""
        group = draft.group
        member = group.members[member_id]
        if member.is_reconciled_to(group.target_epoch):
            return member

        def held_by_other(topic_id: bytes, index: int) -> bool:
            return group.owners.get((topic_id, index), member_id) != member_id

        target = group.targets.get(member_id, NO_PARTITIONS)
        value = reconcile(member, group.target_epoch, target, held_by_other, owned)
        if value != member.current:
            draft.put_current(member_id, value)
        return group.members[member_id]

    # Leaving

    def _leave(self, request: ConsumerHeartbeat) -> Followed:
        group = self._consumer(request.group_id)
        if group is None:
            raise _no_group(request.group_id)
        result = ConsumerHeartbeatResult(request.member_id, request.member_epoch)
        if request.instance_id is None:
            return self.fence(group, [group.member(request.member_id)]), result
        member = check_static(
            group.static_member(request.instance_id), request.instance_id, request.member_id
        )
        if request.member_epoch == LEAVE_EPOCH:
            return self.fence(group, [member]), result
        draft = Draft(group, self._context.now_ms())
        value = member.current._replace(
            member_epoch=LEAVE_STATIC_EPOCH, pending_revocation=NO_PARTITIONS, state=MemberState.STABLE
        )
        draft.put_current(member.member_id, value)
        return Decision(tuple(draft.records)), result

    def fence(self, group: ConsumerGroup, leavers: list[Member]) -> Decision:
        """Members leave, by request or by timeout. The others share their partitions in the next epoch. A
        group that has only classic members left becomes a classic one."""
        draft = Draft(group, self._context.now_ms())
        for member in leavers:
            draft.remove_member(member.member_id)
        gone = [member.member_id for member in leavers]
        if self.migration.may_downgrade(draft.group):
            follow = self.migration.downgrade(draft, rebalance=True)
        else:
            self._look_at_topics(draft, True)
            version = draft.group.seen_topics

            def follow() -> None:
                self.note_topics(group.group_id, version)

        def after() -> None:
            for member_id in gone:
                self._cancel_timers(group.group_id, member_id)
            follow()

        return Decision(tuple(draft.records), after)

    # Timers

    def watch_session(self, group_id: str, member_id: str, timeout_ms: int | None = None) -> None:
        if timeout_ms is None:
            timeout_ms = self._settings.session_timeout_ms(self._topics.group_config(group_id))
        self._context.schedule(
            ("session", group_id, member_id), timeout_ms, lambda: self.fence_by_timer(group_id, member_id)
        )

    def watch_rebalance(self, group_id: str, member: Member) -> None:
        """A member that has to give up partitions has its own rebalance timeout for it."""
        key = ("rebalance", group_id, member.member_id)
        if member.is_classic or member.current.state != MemberState.UNREVOKED:
            self._context.cancel(key)
            return
        epoch = member.epoch

        def expire() -> Decision:
            group = self._consumer(group_id)
            present = None if group is None else group.members.get(member.member_id)
            if group is None or present is None or present.epoch != epoch:
                return NOTHING
            return self.fence(group, [present])

        self._context.schedule(key, member.metadata.rebalance_timeout_ms, expire)

    def fence_by_timer(self, group_id: str, member_id: str) -> Decision:
        group = self._consumer(group_id)
        member = None if group is None else group.members.get(member_id)
        return NOTHING if group is None or member is None else self.fence(group, [member])

    def watch_classic_members(self, group_id: str, converted: ClassicGroup) -> None:
        for member in converted.members.values():
            self.watch_session(group_id, member.member_id, member.session_timeout_ms)

    def on_loaded(self, group: ConsumerGroup) -> None:
        for member in group.members.values():
            classic = member.metadata.classic
            self.watch_session(
                group.group_id, member.member_id, None if classic is None else classic.session_timeout_ms
            )
            self.watch_rebalance(group.group_id, member)

    def _cancel_timers(self, group_id: str, member_id: str) -> None:
        for kind in ("session", "rebalance", "classic-join", "classic-sync"):
            self._context.cancel((kind, group_id, member_id))

    # Small steps

    def note_topics(self, group_id: str, version: object) -> None:
        """The group has seen this version of all topics."""
        group = self._consumer(group_id)
        if group is not None:
            group.seen_topics = version

    def _consumer(self, group_id: str) -> ConsumerGroup | None:
        return self._groups.find(group_id, ConsumerGroup)


def check_static(member: Member | None, instance_id: str, member_id: str) -> Member:
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise KafkaError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member "
            f"{member.member_id}.",
        )
    return member


def _check_epoch(member: Member, epoch: int, owned: Assignment | None) -> None:
    """The present epoch, or the one before when the answer with the present one may have been lost."""
    if epoch == member.epoch:
        return
    lost = epoch < member.epoch and epoch == member.current.previous_member_epoch
    if lost and _is_subset(owned, member.current.assigned):
        return
    relation = "greater" if epoch > member.epoch else "smaller"
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {relation} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _is_subset(owned: Assignment | None, assigned: Assignment) -> bool:
    return owned is not None and all(
        indexes <= assigned.get(topic_id, frozenset()) for topic_id, indexes in owned.items()
    )


def _updated(metadata: MemberValue, request: ConsumerHeartbeat) -> MemberValue:
    """What the member said before, with what it says now."""
    names, timeout_ms = request.topic_names, request.rebalance_timeout_ms
    return MemberValue(
        metadata.instance_id if request.instance_id is None else request.instance_id,
        metadata.rack_id if request.rack_id is None else request.rack_id,
        request.client.client_id,
        request.client.host,
        metadata.topic_names if names is None else tuple(sorted(set(names))),
        metadata.topic_regex if request.topic_regex is None else request.topic_regex,
        metadata.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        metadata.server_assignor if request.server_assignor is None else request.server_assignor,
        None,
    )


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)


def _no_group(group_id: str) -> KafkaError:
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
