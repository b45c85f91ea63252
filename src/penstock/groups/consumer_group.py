"""A group of the consumer protocol (KIP-848): members, what each should have, and what each has.

Everything in it comes from replay; `groups.consumer` decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Final, NamedTuple

from penstock.groups.consumer_records import (
    NO_PARTITIONS,
    Assignment,
    CurrentValue,
    MemberValue,
    Records,
    RegexValue,
    TopicValue,
)
from penstock.groups.embedded import CONSUMER
from penstock.groups.messages import (
    CommitIdentity,
    DescribedConsumer,
    DescribedConsumerGroup,
    GroupKind,
    ListedGroup,
)
from penstock.groups.offset_records import CommittedOffset
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.record import Record

LEAVE_EPOCH: Final = -1
LEAVE_STATIC_EPOCH: Final = -2  # a static member that will be back
FIRST_COMMIT_WITH_EPOCHS: Final = 9  # versions of OffsetCommit that carry a member epoch


class MemberState(IntEnum):
    """How far a member is on its way to its target; the numbers are those of the records."""

    STABLE = 0  # has its target, or is on its way to the next
    UNREVOKED = 1  # has to give up partitions first
    UNRELEASED = 2  # waits for partitions that others have to give up
    UNKNOWN = 127


class GroupState(Enum):
    """Kafka's names, as `ConsumerGroupDescribe` shows them."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


NOTHING_YET: Final = CurrentValue(0, -1, MemberState.STABLE, NO_PARTITIONS, NO_PARTITIONS)


class Member(NamedTuple):
    """A member: what it says of itself (`metadata`) and which partitions it has (`current`)."""

    member_id: str
    metadata: MemberValue
    current: CurrentValue = NOTHING_YET

    @property
    def epoch(self) -> int:
        return self.current.member_epoch

    @property
    def is_classic(self) -> bool:
        return self.metadata.classic is not None

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.current.state == MemberState.STABLE and self.epoch == epoch

    def check_epoch(self, epoch: int) -> None:
        """Of a commit or a fetch of offsets."""
        if epoch != self.epoch:
            code = ErrorCode.ILLEGAL_GENERATION if self.is_classic else ErrorCode.STALE_MEMBER_EPOCH
            raise KafkaError(code, f"The epoch of {self.member_id} is {self.epoch}, not {epoch}.")


NO_METADATA: Final = MemberValue(None, None, "", "", (), None, -1, None)


@dataclass(slots=True)
class ConsumerGroup:
    """One group."""

    group_id: str
    epoch: int = 0
    epoch_timestamp_ms: int = -1  # when the epoch was last raised
    target_epoch: int = 0
    topics: dict[str, TopicValue] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)  # instance id → member id
    targets: dict[str, Assignment] = field(default_factory=dict)
    regexes: dict[str, RegexValue] = field(default_factory=dict)
    owners: dict[tuple[bytes, int], str] = field(
        default_factory=dict
    )  # the member that has, or still holds, a partition
    seen_topics: object = None  # the version of all topics that `topics` was last compared with

    # Replay

    def replay_member(self, member_id: str, metadata: MemberValue | None) -> None:
        present = self.members.get(member_id)
        if metadata is None:
            if present is not None:
                self._forget(present)
            return
        self.members[member_id] = Member(
            member_id, metadata, NOTHING_YET if present is None else present.current
        )
        if metadata.instance_id is not None:
            self.static_members[metadata.instance_id] = member_id

    def _forget(self, member: Member) -> None:
        del self.members[member.member_id]
        instance_id = member.metadata.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member.member_id:
            del self.static_members[instance_id]
        self._release(member)

    def replay_target(self, member_id: str, assignment: Assignment | None) -> None:
        if assignment is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = assignment

    def replay_current(self, member_id: str, value: CurrentValue | None) -> None:
        present = self.members.get(member_id)
        if present is None:
            if value is None:
                return
            present = Member(member_id, NO_METADATA)  # its metadata follows: compaction moved it behind
        self._release(present)
        changed = present._replace(current=NOTHING_YET if value is None else value)
        self.members[member_id] = changed
        for part in _partitions(changed):
            self.owners[part] = member_id

    def _release(self, member: Member) -> None:
        for part in _partitions(member):
            if self.owners.get(part) == member.member_id:
                del self.owners[part]

    def replay_regex(self, regex: str, value: RegexValue | None) -> None:
        if value is None:
            self.regexes.pop(regex, None)
        else:
            self.regexes[regex] = value

    # Questions of the shard

    @property
    def kind(self) -> GroupKind:
        return GroupKind.CONSUMER

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def is_awaited(self) -> bool:
        """Members of this protocol join with their first heartbeat; no id is given out before."""
        return False

    def listed(self) -> ListedGroup:
        return ListedGroup(self.group_id, CONSUMER, self.state.value, self.kind.value)

    def describe(self, default_assignor: str) -> DescribedConsumerGroup:
        """As ConsumerGroupDescribe shows it."""
        assignor = self.preferred_assignor(self.members.values()) or default_assignor
        members = tuple(self._describe_member(member) for member in self.members.values())
        return DescribedConsumerGroup(
            self.group_id, self.state.value, self.epoch, self.target_epoch, assignor, members
        )

    def _describe_member(self, member: Member) -> DescribedConsumer:
        return DescribedConsumer(
            member.member_id,
            member.metadata.instance_id,
            member.metadata.rack_id,
            member.epoch,
            member.metadata.client_id,
            member.metadata.client_host,
            member.metadata.topic_names,
            member.metadata.topic_regex or None,
            member.current.assigned,
            self.targets.get(member.member_id, {}),
            member.is_classic,
        )

    def tombstones(self, now_ms: int) -> list[Record]:
        make = Records(self.group_id, now_ms)
        regexes = [make.regex(regex, None) for regex in self.regexes]
        return [*regexes, make.target_epoch(None), make.topics(None), make.epoch(None)]

    def expires_since_ms(self, committed: CommittedOffset) -> int | None:
        # The last member's leaving has raised the epoch. A group that only read and had nothing to commit was
        # not idle until then.
        return max(committed.commit_timestamp_ms, self.epoch_timestamp_ms if self.is_empty else -1)

    # Questions of the protocol

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        if all(member.is_reconciled_to(self.target_epoch) for member in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    def member(self, member_id: str) -> Member:
        found = self.members.get(member_id)
        if found is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}."
            )
        return found

    def static_member(self, instance_id: str) -> Member | None:
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def is_held(self, topic_id: bytes, index: int) -> bool:
        """Whether a member has the partition, or has not given it up yet."""
        return (topic_id, index) in self.owners

    def subscribed_names(self, members: Iterable[Member]) -> dict[str, None]:
        """All topics that these members read, by name and by regular expression."""
        names: dict[str, None] = {}
        for member in members:
            names.update(dict.fromkeys(self.names_of(member.metadata)))
        return names

    def names_of(self, metadata: MemberValue) -> tuple[str, ...]:
        if not metadata.topic_regex:
            return metadata.topic_names
        resolved = self.regexes.get(metadata.topic_regex)
        return metadata.topic_names if resolved is None else (*metadata.topic_names, *resolved.topics)

    def is_subscribed_to(self, topic: str) -> bool:
        return any(topic in self.names_of(member.metadata) for member in self.members.values())

    def preferred_assignor(self, members: Iterable[Member]) -> str | None:
        """The one that most members ask for."""
        wishes = Counter(
            member.metadata.server_assignor
            for member in members
            if member.metadata.server_assignor is not None
        )
        return max(wishes, key=lambda name: (wishes[name], name)) if wishes else None

    def supports_classic(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member that speaks these classic protocols can be in a group with the other classic
        ones."""
        if protocol_type != CONSUMER:
            return False
        classic = [
            dict(m.metadata.classic.protocols)
            for m in self.members.values()
            if m.metadata.classic is not None
        ]
        return any(all(name in protocols for protocols in classic) for name in names)

    def waits_for_unreleased(self, member: Member) -> bool:
        """Whether a partition of its target is still held by another."""
        if member.current.state != MemberState.UNRELEASED:
            return False
        return any(
            index not in member.current.assigned.get(topic_id, ()) and self.is_held(topic_id, index)
            for topic_id, indexes in self.targets.get(member.member_id, NO_PARTITIONS).items()
            for index in indexes
        )

    def check_commit(self, identity: CommitIdentity, *, transactional: bool) -> None:
        if identity.generation_or_epoch < 0 and not self.members:
            return
        member = self.member(identity.member_id)
        if not transactional and not member.is_classic and identity.api_version < FIRST_COMMIT_WITH_EPOCHS:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                "OffsetCommit version 9 or above must be used by members using the modern group protocol",
            )
        try:
            member.check_epoch(identity.generation_or_epoch)
        except KafkaError as error:
            if transactional and error.code is ErrorCode.STALE_MEMBER_EPOCH:
                raise KafkaError(ErrorCode.ILLEGAL_GENERATION, error.message) from None
            raise

    def check_offsets_deletable(self) -> None:
        """Always: each member says which topics it reads."""

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        if member_id is None and member_epoch < 0:
            return
        self.member(member_id or "").check_epoch(member_epoch)


def _partitions(member: Member) -> Iterable[tuple[bytes, int]]:
    for assignment in (member.current.assigned, member.current.pending_revocation):
        yield from flatten(assignment)


def flatten(assignment: Assignment) -> Iterable[tuple[bytes, int]]:
    for topic_id, indexes in assignment.items():
        for index in indexes:
            yield topic_id, index


def nested(partitions: Iterable[tuple[bytes, int]]) -> Assignment:
    """The inverse of `flatten`."""
    found: dict[bytes, set[int]] = {}
    for topic_id, index in partitions:
        found.setdefault(topic_id, set()).add(index)
    return {topic_id: frozenset(indexes) for topic_id, indexes in found.items()}
