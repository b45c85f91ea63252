"""What a cluster says of share groups: their members, and their places in partitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from penstock.cli.kafka.asking import Refused, check, refusal
from penstock.cli.kafka.group_requests import Group, Groups, Member, Partition, partitions_of

SHARE = "share"


class Place(NamedTuple):
    start_offset: int
    lag: int
    leader_epoch: int


class ShareGroups(Groups):
    """Asks about share groups."""

    def listed(self, states: Iterable[str] = (), types: Iterable[str] = ()) -> list[tuple[str, str, str]]:
        """Id, type and state."""
        return sorted(self.listed_of(SHARE, states, [SHARE]))

    def described(self, group_id: str) -> Group:
        from penstock.protocol.apis import Api

        fields = {"group_ids": [group_id], "include_authorized_operations": False}
        group = self.ask(group_id, Api.SHARE_GROUP_DESCRIBE, fields, (1, 1)).groups[0]
        check(group)
        members = [
            Member(
                member.member_id,
                "",
                member.client_id,
                member.client_host,
                partitions_of(member.assignment),
                member.member_epoch,
                None,
            )
            for member in group.members
        ]
        return Group(
            group_id,
            group.group_state,
            self.coordinator(group_id),
            group.assignor_name,
            group.group_epoch,
            group.assignment_epoch,
            members,
        )

    def places(self, group_id: str) -> dict[Partition, Place]:
        from penstock.protocol.apis import Api

        fields = {"groups": [{"group_id": group_id, "topics": None}]}
        group = self.ask(group_id, Api.DESCRIBE_SHARE_GROUP_OFFSETS, fields, (0, 1)).groups[0]
        check(group)
        return {
            (topic.topic_name, one.partition_index): Place(
                one.start_offset, getattr(one, "lag", -1), one.leader_epoch
            )
            for topic in group.topics
            for one in topic.partitions
        }

    def set_places(self, group_id: str, offsets: Mapping[Partition, int]) -> None:
        from penstock.protocol.apis import Api

        by_topic: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for (topic, index), offset in offsets.items():
            by_topic[topic].append({"partition_index": index, "start_offset": offset})
        topics = [{"topic_name": name, "partitions": parts} for name, parts in by_topic.items()]
        fields = {"group_id": group_id, "topics": topics}
        answer = self.ask(group_id, Api.ALTER_SHARE_GROUP_OFFSETS, fields, (0, 0))
        check(answer)
        for topic in answer.responses:
            for one in topic.partitions:
                check(one)

    def forget(
        self, group_id: str, topics: Iterable[str]
    ) -> tuple[Refused | None, dict[str, Refused | None]]:
        """The error of the whole request, and that of each topic."""
        from penstock.protocol.apis import Api

        fields = {"group_id": group_id, "topics": [{"topic_name": name} for name in topics]}
        answer = self.ask(group_id, Api.DELETE_SHARE_GROUP_OFFSETS, fields, (0, 0))
        return refusal(answer), {topic.topic_name: refusal(topic) for topic in answer.responses}
