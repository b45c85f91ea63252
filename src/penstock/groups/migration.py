"""From the classic to the consumer protocol and back, with members of both kinds meanwhile. One batch of
records each: a group is of one protocol or of the other, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.coordinator.decision import Context
from penstock.groups.classic import ClassicProtocol
from penstock.groups.classic_group import ClassicGroup, ClassicMember
from penstock.groups.consumer_group import ConsumerGroup, Member, MemberState
from penstock.groups.consumer_records import (
    NO_PARTITIONS,
    Assignment,
    ClassicMetadata,
    CurrentValue,
    MemberValue,
)
from penstock.groups.draft import Draft
from penstock.groups.embedded import (
    CONSUMER,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from penstock.groups.group import Groups
from penstock.groups.group_records import GroupValue, group_record
from penstock.groups.settings import GroupSettings
from penstock.groups.topics import Topics
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.primitives import MalformedMessage


class Migration:
    """Turns groups of one protocol into groups of the other."""

    def __init__(
        self,
        context: Context,
        groups: Groups,
        settings: GroupSettings,
        topics: Topics,
        classic: ClassicProtocol,
    ) -> None:
        self._context = context
        self._groups = groups
        self._settings = settings
        self._topics = topics
        self._classic = classic

    # To the consumer protocol

    def upgrade(self, group: ClassicGroup, draft: Draft) -> None:
        """A member of the consumer protocol joins a classic group: the draft becomes that group. Everybody
        keeps what it has; KafkaError when it cannot be."""
        if (
            not self._settings.may_upgrade
            or not group.uses_consumer_protocol
            or len(group.members) > self._settings.consumer_max_size
        ):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group.group_id} is not a consumer group.")
        draft.records.append(group_record(group.group_id, None, draft.now_ms))
        try:
            for member in group.members.values():
                self._upgrade_member(group, member, draft)
        except MalformedMessage:
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND,
                f"Cannot upgrade the classic group {group.group_id} to consumer group because the embedded "
                "consumer protocol is malformed.",
            ) from None
        draft.put_target_epoch(group.generation_id)
        draft.put_epoch(group.generation_id)

    def _upgrade_member(self, group: ClassicGroup, member: ClassicMember, draft: Draft) -> None:
        protocol = group.protocol or member.protocols[0][0]
        subscription = decode_subscription(member.metadata(protocol))
        assigned = self.by_id(decode_assignment(member.assignment))
        metadata = MemberValue(
            member.instance_id,
            subscription.rack_id,
            member.client_id,
            member.client_host,
            tuple(sorted(set(subscription.topics))),
            None,
            member.rebalance_timeout_ms,
            None,
            ClassicMetadata(member.session_timeout_ms, member.protocols),
        )
        epoch = group.generation_id
        draft.put_member(member.member_id, metadata)
        draft.put_target(member.member_id, assigned)
        draft.put_current(
            member.member_id, CurrentValue(epoch, epoch, MemberState.STABLE, assigned, NO_PARTITIONS)
        )

    def after_upgrade(self, group: ClassicGroup) -> None:
        self._classic.stop_upgraded(group)

    # To the classic protocol

    def may_downgrade(self, group: ConsumerGroup) -> bool:
        """Whether only classic members are left, and they may be on their own."""
        return (
            bool(group.members)
            and all(member.is_classic for member in group.members.values())
            and self._settings.may_downgrade
            and len(group.members) <= self._settings.classic_max_size
        )

    def downgrade(self, draft: Draft, *, rebalance: bool) -> Callable[[], None]:
        """The draft becomes a classic group of the members it has now, each with its target. What is returned
        follows when the records are written."""
        group = draft.group
        value, members = self._classic_value(group, draft.now_ms)
        draft.remove_group()
        draft.records.append(group_record(group.group_id, value, draft.now_ms))

        def follow() -> None:
            classic = self._groups.find(group.group_id, ClassicGroup)
            assert classic is not None, "its record was replayed"
            for member_id, member in classic.members.items():
                member.protocols = members[member_id].protocols
                for kind in ("session", "rebalance", "classic-join", "classic-sync"):
                    self._context.cancel((kind, group.group_id, member_id))
            decision = self._classic.start_downgraded(classic, rebalance=rebalance)
            assert not decision.records, "nobody has joined yet"

        return follow

    def _classic_value(
        self, group: ConsumerGroup, now_ms: int
    ) -> tuple[GroupValue, Mapping[str, ClassicMetadata]]:
        metadata = {
            member_id: member.metadata.classic
            for member_id, member in group.members.items()
            if member.metadata.classic is not None
        }
        classic = ClassicGroup(group.group_id, protocol_type=CONSUMER, generation_id=group.epoch)
        for member_id, member in group.members.items():
            classic.add(_classic_member(member, metadata[member_id]))
        classic.protocol = classic.select_protocol()
        classic.state_timestamp_ms = now_ms
        for member_id, classic_member in classic.members.items():
            version = decode_subscription(classic_member.metadata(classic.protocol)).version
            target = group.targets.get(member_id, NO_PARTITIONS)
            classic_member.assignment = encode_assignment(self.by_name(target), version)
        return classic.value(), metadata

    # Names and ids of topics

    def by_id(self, partitions: Mapping[str, tuple[int, ...]]) -> Assignment:
        found = {}
        for name, indexes in partitions.items():
            topic = self._topics.find(name)
            if topic is not None and indexes:
                found[topic.topic_id] = frozenset(indexes)
        return found

    def by_name(self, assignment: Assignment) -> dict[str, tuple[int, ...]]:
        found = {}
        for topic_id, indexes in assignment.items():
            name = self._topics.name_of(topic_id)
            if name is not None:
                found[name] = tuple(sorted(indexes))
        return found


def _classic_member(member: Member, classic: ClassicMetadata) -> ClassicMember:
    metadata = member.metadata
    return ClassicMember(
        member.member_id,
        metadata.instance_id,
        metadata.client_id,
        metadata.client_host,
        metadata.rebalance_timeout_ms,
        classic.session_timeout_ms,
        classic.protocols,
    )
