"""Share groups (KIP-932): described and deleted; their places in partitions read, set and forgotten."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from penstock.client.api.admin.asking import by_topic, check, failure
from penstock.client.api.admin.groups import (
    DeleteConsumerGroupsResult,
    Groups,
    MemberDescription,
    PartitionsResult,
)
from penstock.client.api.admin.results import Keyed
from penstock.client.api.exceptions import KafkaException
from penstock.protocol.apis import Api
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.coordinators import Coordinator, Kind
from penstock.wire.deadline import Deadline

_UNKNOWN: Final = -1


class ShareGroupDescription(NamedTuple):
    group_id: str
    group_state: str
    members: tuple[MemberDescription, ...]
    group_epoch: int
    target_assignment_epoch: int
    coordinator: int
    """The id of the broker."""


class SharePartitionOffsetInfo(NamedTuple):
    start_offset: int
    leader_epoch: int | None
    lag: int | None
    """Records before the group; None where the broker does not know it."""


ShareOffsets = dict[TopicPartition, SharePartitionOffsetInfo]


class DescribeShareGroupsResult(Keyed[str, ShareGroupDescription]):
    described_groups = Keyed.values


class ListShareGroupOffsetsResult(Keyed[str, ShareOffsets]):
    def partitions_to_offset_info(self, group_id: str | None = None) -> Future[ShareOffsets]:
        return self._values[next(iter(self._values)) if group_id is None else group_id]


class DeleteShareGroupOffsetsResult(Keyed[str, None]):
    def topic_result(self, topic: str) -> Future[None]:
        return self._values[topic]


class ShareGroups(Groups):
    def describe_share_groups(
        self, group_ids: Collection[str], *, timeout: float | None = None
    ) -> DescribeShareGroupsResult:
        def work(deadline: Deadline) -> Mapping[str, Any]:
            return {each: self._described_share(each, deadline) for each in group_ids}

        return self._each(DescribeShareGroupsResult(group_ids), "describe share groups", work, timeout)

    def delete_share_groups(
        self, group_ids: Collection[str], *, timeout: float | None = None
    ) -> DeleteConsumerGroupsResult:
        """Groups without members."""
        return self.delete_consumer_groups(group_ids, timeout=timeout)

    def list_share_group_offsets(
        self,
        group_ids: str | Mapping[str, Collection[TopicPartition] | None],
        *,
        timeout: float | None = None,
    ) -> ListShareGroupOffsetsResult:
        """All partitions that a group has read, or these. One without a place is left out."""
        asked = {group_ids: None} if isinstance(group_ids, str) else dict(group_ids)

        def work(deadline: Deadline) -> Mapping[str, Any]:
            return {each: self._share_offsets(each, of, deadline) for each, of in asked.items()}

        return self._each(ListShareGroupOffsetsResult(asked), "read offsets of share groups", work, timeout)

    def alter_share_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> PartitionsResult:
        """For a group without members: it goes on there."""
        wanted = {TopicPartition(*at): offset for at, offset in offsets.items()}
        doing = f"set the offsets of share group {group_id!r}"

        def work(deadline: Deadline) -> Mapping[TopicPartition, Any]:
            topics = [
                {
                    "topic_name": name,
                    "partitions": [
                        {"partition_index": index, "start_offset": wanted[TopicPartition(name, index)]}
                        for index in which
                    ],
                }
                for name, which in by_topic(wanted).items()
            ]
            answer = self._of_share_group(Api.ALTER_SHARE_GROUP_OFFSETS, group_id, topics, deadline)
            check(answer, doing)
            return {
                TopicPartition(topic.topic_name, each.partition_index): failure(each, doing)
                for topic in answer.responses
                for each in topic.partitions
            }

        return self._each(PartitionsResult(wanted), doing, work, timeout)

    def delete_share_group_offsets(
        self, group_id: str, topics: Collection[str], *, timeout: float | None = None
    ) -> DeleteShareGroupOffsetsResult:
        """For a group without members: it forgets these topics."""
        doing = f"delete offsets of share group {group_id!r}"

        def work(deadline: Deadline) -> Mapping[str, Any]:
            named = [{"topic_name": topic} for topic in topics]
            answer = self._of_share_group(Api.DELETE_SHARE_GROUP_OFFSETS, group_id, named, deadline)
            check(answer, doing)
            return {each.topic_name: failure(each, doing) for each in answer.responses}

        return self._each(DeleteShareGroupOffsetsResult(topics), doing, work, timeout)

    # One group

    def _of_share_group(self, api: Api, group_id: str, topics: Any, deadline: Deadline) -> Any:
        return self._at_coordinator(
            *(Kind.GROUP, group_id, api, {"group_id": group_id, "topics": topics}, (0, 0), deadline),
            code=lambda found: int(found.error_code),
        )

    def _described_share(self, group_id: str, deadline: Deadline) -> ShareGroupDescription | KafkaException:
        fields = {"group_ids": [group_id], "include_authorized_operations": False}
        coordinator = Coordinator(self._cluster, Kind.GROUP, group_id)
        doing = f"describe share group {group_id!r}"
        answer = self._ask_coordinator(
            *(coordinator, doing, Api.SHARE_GROUP_DESCRIBE, fields, (1, 1), deadline),
            code=lambda found: int(found.groups[0].error_code),
        )
        (part,) = answer.groups
        return failure(part, doing) or _share_group(part, coordinator.node_id)

    def _share_offsets(
        self, group_id: str, of: Collection[TopicPartition] | None, deadline: Deadline
    ) -> ShareOffsets | KafkaException:
        topics = None
        if of is not None:
            topics = [{"topic_name": name, "partitions": which} for name, which in by_topic(of).items()]
        fields = {"groups": [{"group_id": group_id, "topics": topics}]}
        answer = self._at_coordinator(
            *(Kind.GROUP, group_id, Api.DESCRIBE_SHARE_GROUP_OFFSETS, fields, (0, 1), deadline),
            code=lambda found: int(found.groups[0].error_code),
        )
        (part,) = answer.groups
        error = failure(part, f"read the offsets of share group {group_id!r}")
        return error or {
            TopicPartition(topic.topic_name, each.partition_index): SharePartitionOffsetInfo(
                each.start_offset, _known(each.leader_epoch), _known(getattr(each, "lag", _UNKNOWN))
            )
            for topic in part.topics
            for each in topic.partitions
            if not each.error_code and each.start_offset != _UNKNOWN
        }


def _known(number: int) -> int | None:
    return None if number < 0 else number


def _share_group(part: Any, coordinator: int) -> ShareGroupDescription:
    members = tuple(
        MemberDescription(
            each.member_id,
            None,
            each.client_id,
            each.client_host,
            tuple(
                TopicPartition(topic.topic_name, index)
                for topic in each.assignment.topic_partitions
                for index in topic.partitions
            ),
            member_epoch=each.member_epoch,
        )
        for each in part.members
    )
    return ShareGroupDescription(
        part.group_id, part.group_state, members, part.group_epoch, part.assignment_epoch, coordinator
    )
