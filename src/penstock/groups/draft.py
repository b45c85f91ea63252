"""A change of a consumer group while it is being decided: every record is noted and replayed on a copy, so
that each step sees the ones before it. The group itself changes when the records are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.groups.consumer_group import ConsumerGroup, Member
from penstock.groups.consumer_records import (
    Assignment,
    CurrentValue,
    MemberValue,
    Records,
    RegexValue,
    TopicValue,
)
from penstock.records.record import Record


class Draft:
    """`group` is the copy, `records` what leads to it."""

    def __init__(self, group: ConsumerGroup, now_ms: int) -> None:
        self.group = replace(
            group,
            topics=dict(group.topics),
            members=dict(group.members),
            static_members=dict(group.static_members),
            targets=dict(group.targets),
            regexes=dict(group.regexes),
            owners=dict(group.owners),
        )
        self.records: list[Record] = []
        self.now_ms = now_ms
        self._make = Records(group.group_id, now_ms)

    def put_member(self, member_id: str, metadata: MemberValue) -> None:
        self.records.append(self._make.member(member_id, metadata))
        self.group.replay_member(member_id, metadata)

    def put_current(self, member_id: str, value: CurrentValue) -> None:
        self.records.append(self._make.current(member_id, value))
        self.group.replay_current(member_id, value)

    def put_target(self, member_id: str, assignment: Assignment) -> None:
        self.records.append(self._make.target(member_id, assignment))
        self.group.replay_target(member_id, assignment)

    def put_epoch(self, epoch: int) -> None:
        self.records.append(self._make.epoch(epoch))
        self.group.epoch = epoch

    def put_target_epoch(self, epoch: int) -> None:
        self.records.append(self._make.target_epoch(epoch))
        self.group.target_epoch = epoch

    def put_topics(self, topics: Mapping[str, TopicValue]) -> None:
        self.records.append(self._make.topics(topics))
        self.group.topics = dict(topics)

    def put_regex(self, regex: str, value: RegexValue | None) -> None:
        self.records.append(self._make.regex(regex, value))
        self.group.replay_regex(regex, value)

    def remove_member(self, member_id: str) -> None:
        self.records += self._make.remove_member(member_id)
        self.group.replay_current(member_id, None)
        self.group.replay_target(member_id, None)
        self.group.replay_member(member_id, None)

    def replace_member(self, old: Member, member_id: str) -> Member:
        """A static member comes back under a new id: it takes over target and partitions, in epoch 0."""
        target = self.group.targets.get(old.member_id, {})
        self.remove_member(old.member_id)
        self.put_member(member_id, old.metadata)
        self.put_target(member_id, target)
        self.put_current(member_id, old.current._replace(member_epoch=0, previous_member_epoch=0))
        return self.group.members[member_id]

    def remove_group(self) -> None:
        """Tombstones of everything; that of the group itself comes last."""
        for member_id in self.group.members:
            self.records += self._make.remove_member(member_id)
        self.records += [self._make.regex(regex, None) for regex in self.group.regexes]
        self.records += [self._make.target_epoch(None), self._make.topics(None), self._make.epoch(None)]
