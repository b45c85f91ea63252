"""A share group (KIP-932): members, and the partitions that each reads. Several members may read one.

Everything in it comes from replay; `groups.share` decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from penstock.groups.consumer_records import NO_PARTITIONS, Assignment
from penstock.groups.messages import (
    CommitIdentity,
    DescribedShareGroup,
    DescribedShareMember,
    GroupKind,
    ListedGroup,
)
from penstock.groups.offset_records import CommittedOffset
from penstock.groups.share_records import ShareCurrentValue, ShareMemberValue, ShareRecords, StateTopic
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.records.record import Record

ASSIGNOR: Final = "simple"
PROTOCOL_TYPE: Final = "share"

NOTHING_YET: Final = ShareCurrentValue(0, -1, NO_PARTITIONS)


class ShareMember(NamedTuple):
    member_id: str
    metadata: ShareMemberValue
    current: ShareCurrentValue = NOTHING_YET

    @property
    def epoch(self) -> int:
        return self.current.member_epoch


NO_METADATA: Final = ShareMemberValue(None, "", "", ())


@dataclass(slots=True)
class ShareGroup:
    """One group."""

    group_id: str
    epoch: int = 0
    target_epoch: int = 0
    members: dict[str, ShareMember] = field(default_factory=dict)
    targets: dict[str, Assignment] = field(default_factory=dict)
    state_topics: dict[bytes, StateTopic] = field(default_factory=dict)
    """By topic id: what the group has ever been assigned, and the share coordinator may know."""
    seen_topics: object = None
    """The version of all topics that the targets were made of."""

    # Replay

    def replay_member(self, member_id: str, metadata: ShareMemberValue | None) -> None:
        if metadata is None:
            self.members.pop(member_id, None)
            return
        present = self.members.get(member_id)
        current = NOTHING_YET if present is None else present.current
        self.members[member_id] = ShareMember(member_id, metadata, current)

    def replay_target(self, member_id: str, assignment: Assignment | None) -> None:
        if assignment is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = assignment

    def replay_current(self, member_id: str, value: ShareCurrentValue | None) -> None:
        present = self.members.get(member_id)
        if present is None:
            if value is None:
                return
            present = ShareMember(member_id, NO_METADATA)  # its metadata follows: compaction moved it behind
        self.members[member_id] = present._replace(current=NOTHING_YET if value is None else value)

    # Questions of the shard

    @property
    def kind(self) -> GroupKind:
        return GroupKind.SHARE

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def is_awaited(self) -> bool:
        return False

    @property
    def state(self) -> str:
        return "Stable" if self.members else "Empty"

    def listed(self) -> ListedGroup:
        return ListedGroup(self.group_id, PROTOCOL_TYPE, self.state, self.kind.value)

    def describe(self) -> DescribedShareGroup:
        """As ShareGroupDescribe shows it."""
        members = tuple(
            DescribedShareMember(
                member.member_id,
                member.metadata.rack_id,
                member.epoch,
                member.metadata.client_id,
                member.metadata.client_host,
                member.metadata.topic_names,
                member.current.assigned,
            )
            for member in self.members.values()
        )
        return DescribedShareGroup(
            self.group_id, self.state, self.epoch, self.target_epoch, ASSIGNOR, members
        )

    def tombstones(self, now_ms: int) -> list[Record]:
        make = ShareRecords(self.group_id, now_ms)
        return [make.state_topics(None), make.target_epoch(None), make.epoch(None)]

    def is_subscribed_to(self, topic: str) -> bool:
        return any(topic in member.metadata.topic_names for member in self.members.values())

    def member(self, member_id: str) -> ShareMember:
        found = self.members.get(member_id)
        if found is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}."
            )
        return found

    # Offsets are not committed in such a group

    def check_commit(self, identity: CommitIdentity, *, transactional: bool) -> None:
        raise self._no_offsets()

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        raise self._no_offsets()

    def check_offsets_deletable(self) -> None:
        raise self._no_offsets()

    def expires_since_ms(self, committed: CommittedOffset) -> int | None:
        return None

    def _no_offsets(self) -> KafkaError:
        return KafkaError(
            ErrorCode.GROUP_ID_NOT_FOUND, f"Group {self.group_id} is not a consumer group: it shares records."
        )
