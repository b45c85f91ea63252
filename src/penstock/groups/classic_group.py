"""A classic group: its members, its generation, and where it stands in a rebalance.

What a restart must remember (the last complete generation) comes from `replay` alone. The rest is the state
of a rebalance that is under way: a restart forgets it, and the members begin again. `groups.classic` decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from penstock.coordinator.promise import Promise
from penstock.groups.embedded import CONSUMER, decode_subscription
from penstock.groups.group_records import GroupValue, MemberValue, group_record
from penstock.groups.messages import (
    CommitIdentity,
    DescribedGroup,
    DescribedMember,
    GroupKind,
    JoinedMember,
    JoinRequest,
    JoinResult,
    ListedGroup,
    SyncResult,
)
from penstock.groups.offset_records import CommittedOffset
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.primitives import MalformedMessage
from penstock.records.record import Record


class ClassicState(Enum):
    """Kafka's names, as `DescribeGroups` shows them."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"  # waits for members to join
    COMPLETING = "CompletingRebalance"  # waits for the leader's assignment
    STABLE = "Stable"


@dataclass(slots=True)
class ClassicMember:
    """A member, and the requests of its that wait."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = b""
    joining: Promise[JoinResult] | None = None
    syncing: Promise[SyncResult] | None = None
    is_new: bool = False  # has not been part of a generation yet

    @property
    def is_alive_without_heartbeats(self) -> bool:
        """A member whose request waits here cannot send heartbeats; only a new one may be gone for good."""
        return not self.is_new and (self.joining is not None or self.syncing is not None)

    def metadata(self, protocol: str | None) -> bytes:
        return next((data for name, data in self.protocols if name == protocol), b"")

    def value(self, protocol: str | None, assignment: bytes) -> MemberValue:
        return MemberValue(
            self.member_id,
            self.instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.metadata(protocol),
            assignment,
        )


@dataclass(slots=True)
class ClassicGroup:
    """One group. `members` keeps the order of joining."""

    group_id: str
    state: ClassicState = ClassicState.EMPTY
    previous_state: ClassicState = ClassicState.EMPTY
    state_timestamp_ms: int = -1
    protocol_type: str | None = None  # None for a group that only ever committed offsets
    protocol: str | None = None
    generation_id: int = 0
    leader: str | None = None
    members: dict[str, ClassicMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)  # instance id → member id
    pending: set[str] = field(default_factory=set)  # ids given out to members that must join again with them
    pending_sync: set[str] = field(default_factory=set)  # members of this generation that did not sync yet
    new_member_added: bool = False  # during the initial delay, which is then prolonged
    subscribed_topics: frozenset[str] | None = None  # None: not known, so every topic may be
    persisted: bool = False

    # Replay

    def replay(self, value: GroupValue) -> None:
        """The generation that was written. Requests that wait stay with their members."""
        self.protocol_type = value.protocol_type
        self.protocol = value.protocol
        self.generation_id = value.generation_id
        self.leader = value.leader
        self.members = {member.member_id: self._replay_member(member) for member in value.members}
        self.static_members = {
            member.instance_id: member.member_id
            for member in self.members.values()
            if member.instance_id is not None
        }
        self.subscribed_topics = self.compute_subscribed_topics()
        self.persisted = True
        self.transition(ClassicState.STABLE if self.members else ClassicState.EMPTY, value.state_timestamp_ms)

    def _replay_member(self, value: MemberValue) -> ClassicMember:
        member = self.members.get(value.member_id)
        if member is None:
            protocols = ((self.protocol, value.subscription),) if self.protocol is not None else ()
            member = ClassicMember(*value[:6], protocols)
        member.assignment = value.assignment
        return member

    def value(self, assignments: dict[str, bytes] | None = None) -> GroupValue:
        """This generation as a record, with the members' own assignments unless others are given."""
        members = tuple(
            member.value(
                self.protocol,
                member.assignment if assignments is None else assignments.get(member.member_id, b""),
            )
            for member in self.members.values()
        )
        return GroupValue(
            self.protocol_type or "",
            self.generation_id,
            self.protocol,
            self.leader,
            self.state_timestamp_ms,
            members,
        )

    # Questions of the shard

    @property
    def kind(self) -> GroupKind:
        return GroupKind.CLASSIC

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicState.EMPTY

    @property
    def is_awaited(self) -> bool:
        return bool(self.pending or self.members)

    def listed(self) -> ListedGroup:
        return ListedGroup(self.group_id, self.protocol_type or "", self.state.value, self.kind.value)

    def describe(self) -> DescribedGroup:
        """As DescribeGroups shows it: what members said and were given only while the group is stable."""
        stable = self.state is ClassicState.STABLE
        members = tuple(
            DescribedMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.metadata(self.protocol) if stable else b"",
                member.assignment if stable else b"",
            )
            for member in self.members.values()
        )
        protocol = self.protocol if stable and self.protocol is not None else ""
        return DescribedGroup(self.group_id, self.state.value, self.protocol_type or "", protocol, members)

    def tombstones(self, now_ms: int) -> list[Record]:
        return [group_record(self.group_id, None, now_ms)]

    def check_commit(self, identity: CommitIdentity, *, transactional: bool) -> None:
        generation_id = identity.generation_or_epoch
        if generation_id < 0 and self.is_empty:
            return
        if generation_id >= 0 or identity.member_id or identity.instance_id is not None:
            self.check_member(identity.member_id, identity.instance_id)
            if generation_id != self.generation_id:
                raise KafkaError(
                    ErrorCode.ILLEGAL_GENERATION,
                    f"The generation of {self.group_id} is {self.generation_id}, not {generation_id}.",
                )
        elif not transactional:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"The group {self.group_id} has members.")
        if not transactional and self.state is ClassicState.COMPLETING:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS, "The assignment is not there yet.")

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Any client may fetch the offsets of a classic group."""

    def check_offsets_deletable(self) -> None:
        if not self.is_empty and not self.uses_consumer_protocol:
            raise KafkaError(
                ErrorCode.NON_EMPTY_GROUP, f"{self.group_id} has members that say nothing of topics."
            )

    def expires_since_ms(self, committed: CommittedOffset) -> int | None:
        if self.protocol_type is None:
            return committed.commit_timestamp_ms
        if self.is_empty:
            return self.state_timestamp_ms if self.state_timestamp_ms >= 0 else committed.commit_timestamp_ms
        if self.uses_consumer_protocol and self.subscribed_topics is not None:
            return committed.commit_timestamp_ms if self.state is ClassicState.STABLE else None
        return None

    # Questions of the protocol

    @property
    def is_forgettable(self) -> bool:
        """Nothing is here, and nothing was ever written."""
        return not self.persisted and not self.members and not self.pending

    @property
    def can_rebalance(self) -> bool:
        return self.state is not ClassicState.PREPARING

    @property
    def has_all_members_joined(self) -> bool:
        return not self.pending and all(member.joining is not None for member in self.members.values())

    @property
    def awaiting_join(self) -> int:
        return sum(member.joining is not None for member in self.members.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest that any member asks for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER

    def check_member(self, member_id: str, instance_id: str | None) -> ClassicMember:
        """The member, unless it is unknown or another one has taken its instance id."""
        if instance_id is not None:
            owner = self.static_members.get(instance_id)
            if owner is not None and owner != member_id:
                raise KafkaError(
                    ErrorCode.FENCED_INSTANCE_ID, f"The instance {instance_id} belongs to another member."
                )
            if owner is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Nobody has the instance id {instance_id}.")
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id!r} is not a member of {self.group_id}."
            )
        return member

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member that speaks these protocols can be in a group with the others."""
        if self.is_empty:
            return bool(protocol_type) and any(True for _ in names)
        return protocol_type == self.protocol_type and bool(self.candidates() & set(names))

    def candidates(self) -> set[str]:
        """Protocols that every member speaks."""
        if not self.members:
            return set()
        return set.intersection(*({name for name, _ in m.protocols} for m in self.members.values()))

    def select_protocol(self) -> str:
        """Each member votes for the first of its protocols that all speak; the most votes win, then the
        leader's taste."""
        candidates = self.candidates()
        votes = Counter(
            next(name for name, _ in member.protocols if name in candidates)
            for member in self.members.values()
        )
        leader = self.members.get(self.leader or "") or next(iter(self.members.values()))
        taste = [name for name, _ in leader.protocols]
        return max(votes, key=lambda name: (votes[name], -taste.index(name)))

    def compute_subscribed_topics(self) -> frozenset[str] | None:
        """All topics that consumers of this generation read; None when their bytes do not say."""
        if not self.uses_consumer_protocol or self.protocol is None:
            return frozenset() if self.uses_consumer_protocol and not self.members else None
        try:
            return frozenset(
                topic
                for member in self.members.values()
                for topic in decode_subscription(member.metadata(self.protocol)).topics
            )
        except MalformedMessage:
            return None

    def is_subscribed_to(self, topic: str) -> bool:
        if self.subscribed_topics is not None:
            return topic in self.subscribed_topics
        return self.uses_consumer_protocol

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """What the leader needs for its assignment."""
        return tuple(
            JoinedMember(member.member_id, member.instance_id, member.metadata(self.protocol))
            for member in self.members.values()
        )

    # Steps of a rebalance

    def transition(self, state: ClassicState, now_ms: int) -> None:
        self.previous_state, self.state = self.state, state
        self.state_timestamp_ms = now_ms

    def add(self, member: ClassicMember) -> None:
        if not self.members:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self.pending.discard(member.member_id)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def update(self, member: ClassicMember, request: JoinRequest) -> None:
        member.protocols = request.protocols
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.session_timeout_ms = request.session_timeout_ms

    def remove(self, member_id: str) -> ClassicMember | None:
        self.pending.discard(member_id)
        self.pending_sync.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is not None and member.instance_id is not None:
            self.static_members.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        return member

    def elect_joined_leader(self) -> bool:
        """Whether the leader has joined, or another member that has could take its place."""
        leader = self.members.get(self.leader or "")
        if leader is not None and leader.joining is not None:
            return True
        joined = next((id_ for id_, member in self.members.items() if member.joining is not None), None)
        if joined is None:
            return False
        self.leader = joined
        return True

    def begin_generation(self, now_ms: int) -> None:
        """The members that have joined are the next generation."""
        self.generation_id += 1
        self.pending_sync.clear()
        if self.members:
            self.protocol = self.select_protocol()
            self.subscribed_topics = self.compute_subscribed_topics()
            self.transition(ClassicState.COMPLETING, now_ms)
        else:
            self.protocol = None
            self.subscribed_topics = self.compute_subscribed_topics()
            self.transition(ClassicState.EMPTY, now_ms)
