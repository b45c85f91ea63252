"""Streams groups (KIP-1071): described and deleted; their committed offsets read, set and deleted.

Offsets of such a group are those of a consumer group. Penstock's broker has no Streams groups, so that
`describe_streams_groups` fails there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from penstock.client.api.admin.asking import failure
from penstock.client.api.admin.groups import (
    DeleteConsumerGroupsResult,
    Groups,
    ListConsumerGroupOffsetsResult,
    PartitionsResult,
)
from penstock.client.api.admin.results import Keyed
from penstock.client.api.exceptions import KafkaException
from penstock.client.api.records import OffsetAndMetadata
from penstock.protocol.apis import Api
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.coordinators import Kind
from penstock.wire.deadline import Deadline

Tasks = tuple[tuple[str, tuple[int, ...]], ...]
"""Subtopologies, each with its partitions."""


class StreamsGroupMemberAssignment(NamedTuple):
    active_tasks: Tasks
    standby_tasks: Tasks
    warmup_tasks: Tasks


class StreamsGroupMemberDescription(NamedTuple):
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    topology_epoch: int
    process_id: str
    user_endpoint: tuple[str, int] | None
    client_tags: dict[str, str]
    assignment: StreamsGroupMemberAssignment
    target_assignment: StreamsGroupMemberAssignment
    is_classic: bool


class StreamsGroupSubtopologyDescription(NamedTuple):
    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: tuple[str, ...]
    repartition_source_topics: tuple[str, ...]


class StreamsGroupDescription(NamedTuple):
    group_id: str
    group_state: str
    group_epoch: int
    target_assignment_epoch: int
    topology_epoch: int | None
    subtopologies: tuple[StreamsGroupSubtopologyDescription, ...]
    members: tuple[StreamsGroupMemberDescription, ...]


class DescribeStreamsGroupsResult(Keyed[str, StreamsGroupDescription]):
    described_groups = Keyed.values


class StreamsGroups(Groups):
    def describe_streams_groups(
        self, group_ids: Collection[str], *, timeout: float | None = None
    ) -> DescribeStreamsGroupsResult:
        def work(deadline: Deadline) -> Mapping[str, Any]:
            return {each: self._described_streams(each, deadline) for each in group_ids}

        return self._each(DescribeStreamsGroupsResult(group_ids), "describe Streams groups", work, timeout)

    def delete_streams_groups(
        self, group_ids: Collection[str], *, timeout: float | None = None
    ) -> DeleteConsumerGroupsResult:
        return self.delete_consumer_groups(group_ids, timeout=timeout)

    def list_streams_group_offsets(
        self,
        group_ids: str | Mapping[str, Collection[TopicPartition] | None],
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> ListConsumerGroupOffsetsResult:
        return self.list_consumer_group_offsets(group_ids, require_stable=require_stable, timeout=timeout)

    def alter_streams_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout: float | None = None,
    ) -> PartitionsResult:
        return self.alter_consumer_group_offsets(group_id, offsets, timeout=timeout)

    def delete_streams_group_offsets(
        self, group_id: str, partitions: Collection[TopicPartition], *, timeout: float | None = None
    ) -> PartitionsResult:
        return self.delete_consumer_group_offsets(group_id, partitions, timeout=timeout)

    def _described_streams(
        self, group_id: str, deadline: Deadline
    ) -> StreamsGroupDescription | KafkaException:
        fields = {"group_ids": [group_id], "include_authorized_operations": False}
        answer = self._at_coordinator(
            *(Kind.GROUP, group_id, Api.STREAMS_GROUP_DESCRIBE, fields, (0, 0), deadline),
            code=lambda found: int(found.groups[0].error_code),
        )
        (part,) = answer.groups
        return failure(part, f"describe Streams group {group_id!r}") or _streams_group(part)


def _streams_group(part: Any) -> StreamsGroupDescription:
    topology = part.topology
    return StreamsGroupDescription(
        part.group_id,
        part.group_state,
        part.group_epoch,
        part.assignment_epoch,
        None if topology is None else topology.epoch,
        () if topology is None else tuple(map(_subtopology, topology.subtopologies or ())),
        tuple(map(_member, part.members)),
    )


def _subtopology(part: Any) -> StreamsGroupSubtopologyDescription:
    return StreamsGroupSubtopologyDescription(
        part.subtopology_id,
        tuple(part.source_topics),
        tuple(part.repartition_sink_topics),
        tuple(each.name for each in part.state_changelog_topics),
        tuple(each.name for each in part.repartition_source_topics),
    )


def _member(part: Any) -> StreamsGroupMemberDescription:
    endpoint = part.user_endpoint
    return StreamsGroupMemberDescription(
        part.member_id,
        part.member_epoch,
        part.instance_id,
        part.rack_id,
        part.client_id,
        part.client_host,
        part.topology_epoch,
        part.process_id,
        None if endpoint is None else (endpoint.host, endpoint.port),
        {each.key: each.value for each in part.client_tags},
        _assignment(part.assignment),
        _assignment(part.target_assignment),
        part.is_classic,
    )


def _assignment(part: Any) -> StreamsGroupMemberAssignment:
    return StreamsGroupMemberAssignment(
        _tasks(part.active_tasks), _tasks(part.standby_tasks), _tasks(part.warmup_tasks)
    )


def _tasks(parts: Any) -> Tasks:
    return tuple((each.subtopology_id, tuple(each.partitions)) for each in parts)
