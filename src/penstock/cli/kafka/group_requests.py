"""What a cluster says of consumer groups: their members, states, offsets and the ends of their partitions."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from penstock.cli.kafka.asking import Asker, Refused, check, refusal

Partition = tuple[str, int]
CONSUMER: Final = "consumer"


class Member(NamedTuple):
    member_id: str
    instance_id: str
    client_id: str
    host: str
    partitions: list[Partition]
    epoch: int | None
    """None in a classic group."""
    target: list[Partition] | None


class Group(NamedTuple):
    group_id: str
    state: str
    coordinator: str
    """As the command shows it: address and id."""
    assignor: str
    epoch: int | None
    target_epoch: int | None
    members: list[Member]


class Groups:
    """Asks about groups."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def listed(self, states: Iterable[str] = (), types: Iterable[str] = ()) -> list[tuple[str, str, str]]:
        """Id, type and state of every group of consumers that has one of the states and types."""
        return self.listed_of(CONSUMER, states, types)

    def listed_of(
        self, protocol_type: str, states: Iterable[str], types: Iterable[str]
    ) -> list[tuple[str, str, str]]:
        from penstock.protocol.apis import Api

        found = []
        fields = {"states_filter": list(states), "types_filter": list(types)}
        for node_id in self._asker.brokers():
            answer = self._asker.broker(node_id, Api.LIST_GROUPS, fields, (4, 5))
            check(answer)
            found += [
                (group.group_id, getattr(group, "group_type", "Classic").title(), group.group_state)
                for group in answer.groups
                if group.protocol_type in (protocol_type, "")
            ]
        return found

    def described(self, group_id: str) -> Group:
        """Raises `Refused` when there is no such group."""
        try:
            return self._consumer_group(group_id)
        except Refused as error:
            if error.name not in ("GROUP_ID_NOT_FOUND", "UNSUPPORTED_VERSION"):
                raise
        return self._classic_group(group_id)

    def _consumer_group(self, group_id: str) -> Group:
        from penstock.protocol.apis import Api

        fields = {"group_ids": [group_id], "include_authorized_operations": False}
        group = self.ask(group_id, Api.CONSUMER_GROUP_DESCRIBE, fields, (0, 1)).groups[0]
        check(group)
        members = [
            Member(
                member.member_id,
                member.instance_id or "",
                member.client_id,
                member.client_host,
                partitions_of(member.assignment),
                member.member_epoch,
                partitions_of(member.target_assignment),
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

    def _classic_group(self, group_id: str) -> Group:
        from penstock.protocol.apis import Api

        fields = {"groups": [group_id], "include_authorized_operations": False}
        group = self.ask(group_id, Api.DESCRIBE_GROUPS, fields, (5, 6)).groups[0]
        check(group)
        if group.group_state == "Dead":
            raise Refused("GROUP_ID_NOT_FOUND", f"Group {group_id} not found.")
        members = [
            Member(
                member.member_id,
                member.group_instance_id or "",
                member.client_id,
                member.client_host,
                assignment_of(bytes(member.member_assignment)),
                None,
                None,
            )
            for member in group.members
        ]
        where = self.coordinator(group_id)
        return Group(group_id, group.group_state, where, group.protocol_data, None, None, members)

    def committed(self, group_id: str) -> dict[Partition, int]:
        from penstock.protocol.apis import Api

        return self._offsets(Api.OFFSET_FETCH, group_id)

    def _offsets(self, api: Any, group_id: str) -> dict[Partition, int]:
        fields = {"groups": [{"group_id": group_id, "topics": None}], "require_stable": False}
        group = self.ask(group_id, api, fields, (8, 8)).groups[0]
        check(group)
        return {
            (topic.name, one.partition_index): one.committed_offset
            for topic in group.topics
            for one in topic.partitions
            if one.committed_offset >= 0
        }

    def commit(self, group_id: str, offsets: Mapping[Partition, int]) -> None:
        from penstock.protocol.apis import Api

        by_topic: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for (topic, index), offset in offsets.items():
            by_topic[topic].append(
                {
                    "partition_index": index,
                    "committed_offset": offset,
                    "committed_leader_epoch": -1,
                    "committed_metadata": "",
                }
            )
        fields = {
            "group_id": group_id,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"name": name, "partitions": parts} for name, parts in by_topic.items()],
        }
        for topic in self.ask(group_id, Api.OFFSET_COMMIT, fields, (5, 8)).topics:
            for one in topic.partitions:
                check(one)

    def remove_members(self, group_id: str, members: Iterable[Member]) -> None:
        """Makes members leave: static ones by their instance id, others by the id that they were given."""
        from penstock.protocol.apis import Api

        leaving = [
            {
                "member_id": "" if member.instance_id else member.member_id,
                "group_instance_id": member.instance_id or None,
                "reason": "the reset tool removed it",
            }
            for member in members
        ]
        answer = self.ask(group_id, Api.LEAVE_GROUP, {"group_id": group_id, "members": leaving}, (3, 5))
        check(answer)
        for member in answer.members:
            check(member)

    def delete(self, group_id: str) -> None:
        from penstock.protocol.apis import Api

        check(self.ask(group_id, Api.DELETE_GROUPS, {"groups_names": [group_id]}, (0, 2)).results[0])

    def delete_offsets(
        self, group_id: str, partitions: Iterable[Partition]
    ) -> tuple[Refused | None, dict[Partition, Refused | None]]:
        """The error of the whole request, and that of each partition."""
        from penstock.protocol.apis import Api

        by_topic: dict[str, list[dict[str, int]]] = defaultdict(list)
        wanted = list(partitions)
        for topic, index in wanted:
            by_topic[topic].append({"partition_index": index})
        fields = {
            "group_id": group_id,
            "topics": [{"name": name, "partitions": parts} for name, parts in by_topic.items()],
        }
        answer = self.ask(group_id, Api.OFFSET_DELETE, fields, (0, 0))
        whole = refusal(answer)
        if whole is not None:
            return whole, dict.fromkeys(wanted, whole)
        results = {
            (topic.name, one.partition_index): refusal(one)
            for topic in answer.topics
            for one in topic.partitions
        }
        return next((error for error in results.values() if error is not None), None), results

    def ask(self, group_id: str, api: Any, fields: Mapping[str, Any], versions: tuple[int, int]) -> Any:
        from penstock.wire.coordinators import Kind

        return self._asker.coordinator(Kind.GROUP, group_id, api, fields, versions)

    def coordinator(self, group_id: str) -> str:
        from penstock.protocol.apis import Api

        answer = self._asker.any(Api.FIND_COORDINATOR, {"key": group_id, "key_type": 0}, (1, 3))
        check(answer)
        return f"{answer.host}:{answer.port}  ({answer.node_id})"


def partitions_of(assignment: Any) -> list[Partition]:
    return [(topic.topic_name, index) for topic in assignment.topic_partitions for index in topic.partitions]


def assignment_of(data: bytes) -> list[Partition]:
    """The partitions in a member's assignment of the classic protocol."""
    if len(data) < 6:
        return []
    (topics,) = struct.unpack_from(">i", data, 2)
    position, found = 6, []
    for _ in range(topics):
        (size,) = struct.unpack_from(">h", data, position)
        name = data[position + 2 : position + 2 + size].decode()
        position += 2 + size
        (count,) = struct.unpack_from(">i", data, position)
        found += [(name, index) for index in struct.unpack_from(f">{count}i", data, position + 4)]
        position += 4 + 4 * count
    return found
