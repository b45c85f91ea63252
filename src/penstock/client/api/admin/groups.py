"""Groups of consumers: listed, described, deleted; their members removed, their offsets read and set."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from penstock.client.api.admin.asking import Asking, by_topic, check, failure
from penstock.client.api.admin.results import Keyed
from penstock.client.api.broker_errors import GroupIdNotFoundException
from penstock.client.api.exceptions import KafkaException, UnsupportedVersionException
from penstock.client.api.records import OffsetAndMetadata
from penstock.protocol.apis import Api
from penstock.protocol.topic_partition import TopicPartition
from penstock.wire.coordinators import Kind
from penstock.wire.deadline import Deadline
from penstock.wire.errors import Unsupported

_NOT_COMMITTED: Final = -1
Offsets = dict[TopicPartition, OffsetAndMetadata]


class GroupListing(NamedTuple):
    group_id: str
    protocol: str
    group_state: str | None
    type: str | None

    @property
    def is_simple_consumer_group(self) -> bool:
        """Offsets were committed by a consumer that never joined."""
        return not self.protocol


class MemberDescription(NamedTuple):
    consumer_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    target_assignment: tuple[TopicPartition, ...] | None = None
    """Where the group is on its way to; None in the classic protocol."""
    member_epoch: int | None = None


class ConsumerGroupDescription(NamedTuple):
    group_id: str
    group_state: str
    type: str
    """`Classic` or `Consumer`."""
    partition_assignor: str
    members: tuple[MemberDescription, ...]

    @property
    def is_simple_consumer_group(self) -> bool:
        return self.type == "Classic" and not self.partition_assignor and self.group_state == "Empty"


class MemberToRemove(NamedTuple):
    group_instance_id: str


class ListGroupsResult:
    def __init__(self, found: Future[list[GroupListing]]) -> None:
        self._found = found

    def all(self) -> Future[list[GroupListing]]:
        return self._found

    def valid(self) -> Future[list[GroupListing]]:
        return self._found


class DescribeConsumerGroupsResult(Keyed[str, ConsumerGroupDescription]):
    described_groups = Keyed.values


class DeleteConsumerGroupsResult(Keyed[str, None]):
    deleted_groups = Keyed.values


class ListConsumerGroupOffsetsResult(Keyed[str, Offsets]):
    def partitions_to_offset_and_metadata(self, group_id: str | None = None) -> Future[Offsets]:
        return self._values[next(iter(self._values)) if group_id is None else group_id]


class PartitionsResult(Keyed[TopicPartition, None]):
    def partition_result(self, partition: TopicPartition) -> Future[None]:
        return self._values[TopicPartition(*partition)]


class RemoveMembersFromConsumerGroupResult(Keyed[MemberToRemove, None]):
    def member_result(self, member: MemberToRemove) -> Future[None]:
        return self._values[member]


class Groups(Asking):
    def list_groups(
        self,
        *,
        group_states: Collection[str] = (),
        types: Collection[str] = (),
        protocol_types: Collection[str] = (),
        timeout: float | None = None,
    ) -> ListGroupsResult:
        """Of all brokers; of these states and types, where some are named."""

        def work(deadline: Deadline) -> list[GroupListing]:
            found: list[GroupListing] = []
            fields = {"states_filter": list(group_states), "types_filter": list(types)}
            oldest = 5 if types else 4 if group_states else 0
            for answer in self._of_all_brokers(Api.LIST_GROUPS, fields, (oldest, 5), deadline).values():
                check(answer, "list groups")
                found += [
                    GroupListing(
                        each.group_id,
                        each.protocol_type,
                        getattr(each, "group_state", None),
                        getattr(each, "group_type", None),
                    )
                    for each in answer.groups
                ]
            wanted = set(protocol_types)
            return sorted(each for each in found if not wanted or each.protocol in wanted)

        return ListGroupsResult(self._one("list groups", work, timeout))

    def list_consumer_groups(
        self,
        *,
        states: Collection[str] = (),
        types: Collection[str] = (),
        timeout: float | None = None,
    ) -> ListGroupsResult:
        return self.list_groups(
            group_states=states, types=types, protocol_types=("consumer", ""), timeout=timeout
        )

    def describe_consumer_groups(
        self, group_ids: Collection[str], *, timeout: float | None = None
    ) -> DescribeConsumerGroupsResult:
        def work(deadline: Deadline) -> Mapping[str, Any]:
            return {each: self._described(each, deadline) for each in group_ids}

        return self._each(DescribeConsumerGroupsResult(group_ids), "describe groups", work, timeout)

    def describe_classic_groups(
        self, group_ids: Collection[str], *, timeout: float | None = None
    ) -> DescribeConsumerGroupsResult:
        def work(deadline: Deadline) -> Mapping[str, Any]:
            return {each: self._described_classic(each, deadline) for each in group_ids}

        return self._each(DescribeConsumerGroupsResult(group_ids), "describe groups", work, timeout)

    def delete_consumer_groups(
        self, group_ids: Collection[str], *, timeout: float | None = None
    ) -> DeleteConsumerGroupsResult:
        def work(deadline: Deadline) -> Mapping[str, Any]:
            return {each: self._deleted(each, deadline) for each in group_ids}

        return self._each(DeleteConsumerGroupsResult(group_ids), "delete groups", work, timeout)

    def list_consumer_group_offsets(
        self,
        group_ids: str | Mapping[str, Collection[TopicPartition] | None],
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> ListConsumerGroupOffsetsResult:
        """All that a group has committed, or these partitions; one without an offset is left out."""
        asked = {group_ids: None} if isinstance(group_ids, str) else dict(group_ids)

        def work(deadline: Deadline) -> Mapping[str, Any]:
            return {each: self._offsets(each, of, require_stable, deadline) for each, of in asked.items()}

        return self._each(ListConsumerGroupOffsetsResult(asked), "read committed offsets", work, timeout)

    def alter_consumer_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout: float | None = None,
    ) -> PartitionsResult:
        """For a group without members."""
        wanted = {
            TopicPartition(*at): each if isinstance(each, OffsetAndMetadata) else OffsetAndMetadata(each)
            for at, each in offsets.items()
        }

        def work(deadline: Deadline) -> Mapping[TopicPartition, Any]:
            fields = {
                "group_id": group_id,
                "generation_id_or_member_epoch": -1,
                "member_id": "",
                "group_instance_id": None,
                "retention_time_ms": -1,
                "topics": [
                    {
                        "name": name,
                        "partitions": [
                            _commit(index, wanted[TopicPartition(name, index)]) for index in which
                        ],
                    }
                    for name, which in by_topic(wanted).items()
                ],
            }
            answer = self._at_coordinator(
                *(Kind.GROUP, group_id, Api.OFFSET_COMMIT, fields, (2, 9), deadline),
                code=_first_code,
            )
            return _partition_results(answer, f"set the offsets of group {group_id!r}")

        return self._each(PartitionsResult(wanted), "alter offsets", work, timeout)

    def delete_consumer_group_offsets(
        self, group_id: str, partitions: Collection[TopicPartition], *, timeout: float | None = None
    ) -> PartitionsResult:
        wanted = [TopicPartition(*each) for each in partitions]

        def work(deadline: Deadline) -> Mapping[TopicPartition, Any]:
            fields = {
                "group_id": group_id,
                "topics": [
                    {"name": name, "partitions": [{"partition_index": index} for index in which]}
                    for name, which in by_topic(wanted).items()
                ],
            }
            answer = self._at_coordinator(
                *(Kind.GROUP, group_id, Api.OFFSET_DELETE, fields, (0, 0), deadline),
                code=lambda found: int(found.error_code),
            )
            check(answer, f"delete offsets of group {group_id!r}")
            return _partition_results(answer, f"delete offsets of group {group_id!r}")

        return self._each(PartitionsResult(wanted), "delete offsets", work, timeout)

    def remove_members_from_consumer_group(
        self,
        group_id: str,
        members: Iterable[MemberToRemove] | None = None,
        *,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> RemoveMembersFromConsumerGroupResult:
        """These static members; all members, static or not, where none are named."""
        named = None if members is None else [MemberToRemove(*each) for each in members]

        def work(deadline: Deadline) -> Mapping[MemberToRemove, Any]:
            identities = (
                self._everybody(group_id, deadline)
                if named is None
                else [{"member_id": "", "group_instance_id": each.group_instance_id} for each in named]
            )
            if not identities:
                return {}
            fields = {"group_id": group_id, "members": [{**each, "reason": reason} for each in identities]}
            answer = self._at_coordinator(
                *(Kind.GROUP, group_id, Api.LEAVE_GROUP, fields, (3, 5), deadline),
                code=lambda found: int(found.error_code),
            )
            doing = f"remove a member of group {group_id!r}"
            check(answer, doing)
            if named is None:
                for each in answer.members:
                    check(each, doing)
            return {
                MemberToRemove(each.group_instance_id): failure(each, doing)
                for each in answer.members
                if each.group_instance_id is not None
            }

        return self._each(RemoveMembersFromConsumerGroupResult(named or ()), "remove members", work, timeout)

    # One group

    def _described(self, group_id: str, deadline: Deadline) -> ConsumerGroupDescription | KafkaException:
        """As Java does it: the newer protocol is asked first, then the classic one."""
        fields = {"group_ids": [group_id], "include_authorized_operations": False}
        try:
            answer = self._at_coordinator(
                *(Kind.GROUP, group_id, Api.CONSUMER_GROUP_DESCRIBE, fields, (0, 1), deadline),
                code=lambda found: int(found.groups[0].error_code),
            )
        except Unsupported:
            return self._described_classic(group_id, deadline)
        (part,) = answer.groups
        error = failure(part, f"describe group {group_id!r}")
        if isinstance(error, GroupIdNotFoundException | UnsupportedVersionException):
            return self._described_classic(group_id, deadline)
        return error or _consumer_group(part)

    def _described_classic(
        self, group_id: str, deadline: Deadline
    ) -> ConsumerGroupDescription | KafkaException:
        fields = {"groups": [group_id], "include_authorized_operations": False}
        answer = self._at_coordinator(
            *(Kind.GROUP, group_id, Api.DESCRIBE_GROUPS, fields, (0, 6), deadline),
            code=lambda found: int(found.groups[0].error_code),
        )
        (part,) = answer.groups
        return failure(part, f"describe group {group_id!r}") or _classic_group(part)

    def _deleted(self, group_id: str, deadline: Deadline) -> KafkaException | None:
        answer = self._at_coordinator(
            *(Kind.GROUP, group_id, Api.DELETE_GROUPS, {"groups_names": [group_id]}, (0, 2), deadline),
            code=lambda found: int(found.results[0].error_code),
        )
        return failure(answer.results[0], f"delete group {group_id!r}")

    def _offsets(
        self, group_id: str, of: Collection[TopicPartition] | None, stable: bool, deadline: Deadline
    ) -> Offsets | KafkaException:
        topics = None
        if of is not None:
            topics = [{"name": name, "partition_indexes": indexes} for name, indexes in by_topic(of).items()]
        group = {"group_id": group_id, "member_id": None, "member_epoch": -1, "topics": topics}
        fields = {"groups": [group], "require_stable": stable, "group_id": group_id, "topics": topics}
        answer = self._at_coordinator(
            *(Kind.GROUP, group_id, Api.OFFSET_FETCH, fields, (7 if stable else 2, 9), deadline),
            code=lambda found: int(_group_part(found).error_code),
        )
        part = _group_part(answer)
        error = failure(part, f"read the offsets of group {group_id!r}")
        return error or {
            TopicPartition(topic.name, each.partition_index): OffsetAndMetadata(
                each.committed_offset, each.metadata or "", _epoch(each)
            )
            for topic in part.topics
            for each in topic.partitions
            if each.committed_offset != _NOT_COMMITTED
        }

    def _everybody(self, group_id: str, deadline: Deadline) -> list[dict[str, Any]]:
        found = self._described(group_id, deadline)
        if isinstance(found, Exception):
            raise found
        return [
            {"member_id": each.consumer_id, "group_instance_id": each.group_instance_id}
            for each in found.members
        ]


def _group_part(answer: Any) -> Any:
    """From version 8 on an answer is about several groups."""
    return answer.groups[0] if hasattr(answer, "groups") else answer


def _epoch(part: Any) -> int | None:
    epoch = getattr(part, "committed_leader_epoch", -1)
    return epoch if epoch >= 0 else None


def _commit(index: int, offset: OffsetAndMetadata) -> dict[str, Any]:
    return {
        "partition_index": index,
        "committed_offset": offset.offset,
        "committed_leader_epoch": -1 if offset.leader_epoch is None else offset.leader_epoch,
        "committed_metadata": offset.metadata,
    }


def _first_code(answer: Any) -> int:
    codes = [each.error_code for topic in answer.topics for each in topic.partitions]
    return int(next((code for code in codes if code), 0))


def _partition_results(answer: Any, doing: str) -> dict[TopicPartition, KafkaException | None]:
    return {
        TopicPartition(topic.name, each.partition_index): failure(each, doing)
        for topic in answer.topics
        for each in topic.partitions
    }


def _consumer_group(part: Any) -> ConsumerGroupDescription:
    return ConsumerGroupDescription(
        part.group_id,
        part.group_state,
        "Consumer",
        part.assignor_name,
        tuple(
            MemberDescription(
                each.member_id,
                each.instance_id,
                each.client_id,
                each.client_host,
                _named(each.assignment),
                _named(each.target_assignment),
                each.member_epoch,
            )
            for each in part.members
        ),
    )


def _named(assignment: Any) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic.topic_name, index)
        for topic in assignment.topic_partitions
        for index in topic.partitions
    )


def _classic_group(part: Any) -> ConsumerGroupDescription:
    return ConsumerGroupDescription(
        part.group_id,
        part.group_state,
        "Classic",
        part.protocol_data,
        tuple(
            MemberDescription(
                each.member_id,
                getattr(each, "group_instance_id", None),
                each.client_id,
                each.client_host,
                _assigned(bytes(each.member_assignment)) if part.protocol_type == "consumer" else (),
            )
            for each in part.members
        ),
    )


def _assigned(data: bytes) -> tuple[TopicPartition, ...]:
    """A member's assignment in the form of Kafka's own consumers; empty while the group rebalances."""
    if not data:
        return ()
    found: list[TopicPartition] = []
    try:
        (count,) = struct.unpack_from(">i", data, 2)
        place = 6
        for _ in range(count):
            (size,) = struct.unpack_from(">h", data, place)
            name = data[place + 2 : place + 2 + size].decode()
            (partitions,) = struct.unpack_from(">i", data, place + 2 + size)
            place += 6 + size
            indexes = struct.unpack_from(f">{partitions}i", data, place)
            found += [TopicPartition(name, index) for index in indexes]
            place += 4 * partitions
    except (struct.error, UnicodeDecodeError):
        return ()  # of a client with a form of its own
    return tuple(sorted(found))
