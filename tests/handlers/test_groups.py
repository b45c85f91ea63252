"""The requests of groups in every version that is announced: answered, with Kafka's codes, and understood."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.groups.embedded import encode_assignment
from penstock.handlers.reply import Outcome, Reply, Wait
from penstock.handlers.table import HANDLERS
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from tests.groups.stage import subscription
from tests.handlers.one_node import OneNode

GROUP_APIS = (
    Api.OFFSET_COMMIT,
    Api.OFFSET_FETCH,
    Api.FIND_COORDINATOR,
    Api.JOIN_GROUP,
    Api.HEARTBEAT,
    Api.LEAVE_GROUP,
    Api.SYNC_GROUP,
    Api.DESCRIBE_GROUPS,
    Api.LIST_GROUPS,
    Api.DELETE_GROUPS,
    Api.OFFSET_DELETE,
    Api.CONSUMER_GROUP_HEARTBEAT,
    Api.CONSUMER_GROUP_DESCRIBE,
)


def versions(api: Api) -> list[int]:
    low, high = HANDLERS[api].VERSIONS
    return list(range(low, high + 1))


class GroupNode(OneNode):
    """Time passes until the group's own timers answer."""

    def settle(self, outcome: Outcome) -> Reply:
        runtime = self.broker.groups.runtime
        while isinstance(outcome, Wait):
            deadline = runtime.next_deadline()
            assert deadline is not None, "nobody will ever answer"
            self.clock.ms = max(self.clock.ms, deadline * 1000)
            runtime.advance(self.clock.monotonic())
            outcome = outcome.resume(False)
        assert isinstance(outcome, Reply)
        return outcome


@pytest.fixture
def node() -> OneNode:
    node = GroupNode({"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "2"})
    node.create_topic("t")
    find(node, "g")
    return node


def find(node: OneNode, *groups: str, version: int = 6) -> list[tuple[int, int]]:
    """Code and node of each coordinator."""
    wanted = {"key": groups[0], "key_type": 0, "coordinator_keys": groups}
    answer = node.ask(Api.FIND_COORDINATOR, version, **wanted)
    found = answer.coordinators if version >= 4 else [answer]
    return [(int(one.error_code), one.node_id) for one in found]


def join(node: OneNode, member_id: str = "", version: int = 9, **changes: Any) -> Any:
    fields = {
        "group_id": "g",
        "session_timeout": 10_000,
        "rebalance_timeout": 10_000,
        "member_id": member_id,
        "group_instance_id": None,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": subscription(["t"])}],
        "reason": None,
        **changes,
    }
    return node.ask(Api.JOIN_GROUP, version, **fields)


def sync(node: OneNode, member_id: str, generation_id: int, version: int = 5, **changes: Any) -> Any:
    fields = {
        "group_id": "g",
        "generation_id": generation_id,
        "member_id": member_id,
        "group_instance_id": None,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [{"member_id": member_id, "assignment": encode_assignment({"t": (0,)}, 1)}],
        **changes,
    }
    return node.ask(Api.SYNC_GROUP, version, **fields)


def beat(node: OneNode, member_id: str, generation_id: int, version: int = 4, **changes: Any) -> ErrorCode:
    fields = {
        "group_id": "g",
        "generation_id": generation_id,
        "member_id": member_id,
        "group_instance_id": None,
        **changes,
    }
    return ErrorCode(int(node.ask(Api.HEARTBEAT, version, **fields).error_code))


def named(node: OneNode, topic: str) -> dict[str, Any]:
    """By name and by id; each version takes what it knows."""
    state = node.broker.controller.image.topics.get(topic)
    return {"name": topic, "topic_id": b"?" * 16 if state is None else state.topic_id}


def commit(
    node: OneNode, offset: int, member_id: str = "", generation_id: int = -1, version: int = 9, **changes: Any
) -> ErrorCode:
    partition = {
        "partition_index": 0,
        "committed_offset": offset,
        "committed_leader_epoch": 0,
        "committed_metadata": "note",
        **changes,
    }
    fields = {
        "group_id": "g",
        "generation_id_or_member_epoch": generation_id,
        "member_id": member_id,
        "group_instance_id": None,
        "retention_time": -1,
        "topics": [{**named(node, changes.get("topic", "t")), "partitions": [partition]}],
    }
    (topic,) = node.ask(Api.OFFSET_COMMIT, version, **fields).topics
    return ErrorCode(int(topic.partitions[0].error_code))


def fetch(node: OneNode, version: int = 9, *, everything: bool = False) -> Any:
    """The one partition of the one topic, as it is told."""
    topics = None if everything else [{**named(node, "t"), "partition_indexes": [0]}]
    group = {"group_id": "g", "member_id": None, "member_epoch": -1, "topics": topics}
    answer = node.ask(Api.OFFSET_FETCH, version, **group, groups=[group], require_stable=True)
    told = answer.groups[0] if version >= 8 else answer
    assert int(getattr(told, "error_code", 0)) == 0
    return told.topics[0].partitions[0]


def stable(node: OneNode) -> str:
    member_id = join(node).member_id
    assert join(node, member_id).error_code == 0
    assert sync(node, member_id, 1).error_code == 0
    return str(member_id)


@pytest.mark.parametrize("version", versions(Api.FIND_COORDINATOR))
def test_the_coordinator_is_found(node: OneNode, version: int) -> None:
    assert find(node, "g", version=version) == [(0, 1)]
    if version >= 4:
        assert find(node, "g", "h", version=version) == [(0, 1), (0, 1)]


@pytest.mark.parametrize("version", versions(Api.JOIN_GROUP))
def test_a_member_joins(node: OneNode, version: int) -> None:
    first = join(node, version=version)
    if version >= 4:
        assert int(first.error_code) == ErrorCode.MEMBER_ID_REQUIRED
        first = join(node, first.member_id, version=version)
    assert (int(first.error_code), first.generation_id, first.protocol_name) == (0, 1, "range")
    assert [member.member_id for member in first.members] == [first.leader] == [first.member_id]


@pytest.mark.parametrize("version", versions(Api.JOIN_GROUP))
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"session_timeout": 1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_a_join_that_must_not_be_is_refused(
    node: OneNode, version: int, changes: dict[str, Any], code: ErrorCode
) -> None:
    refused = join(node, version=version, **changes)
    assert int(refused.error_code) == code
    assert list_groups(node) == []


@pytest.mark.parametrize("version", versions(Api.SYNC_GROUP))
def test_a_member_syncs(node: OneNode, version: int) -> None:
    member_id = join(node).member_id
    join(node, member_id)
    answer = sync(node, member_id, 1, version=version)
    assert (int(answer.error_code), answer.assignment) == (0, encode_assignment({"t": (0,)}, 1))
    assert int(sync(node, member_id, 2, version=version).error_code) == ErrorCode.ILLEGAL_GENERATION
    assert int(sync(node, "stranger", 1, version=version).error_code) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_sync_of_the_newest_version_must_name_the_protocol(node: OneNode) -> None:
    member_id = stable(node)
    refused = sync(node, member_id, 1, protocol_name=None)
    assert int(refused.error_code) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("version", versions(Api.HEARTBEAT))
def test_a_member_beats(node: OneNode, version: int) -> None:
    member_id = stable(node)
    assert beat(node, member_id, 1, version) is ErrorCode.NONE
    assert beat(node, member_id, 2, version) is ErrorCode.ILLEGAL_GENERATION
    assert beat(node, "stranger", 1, version) is ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(node, member_id, 1, version, group_id="") is ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("version", versions(Api.LEAVE_GROUP))
def test_a_member_leaves(node: OneNode, version: int) -> None:
    member_id = stable(node)
    members = [{"member_id": member_id, "group_instance_id": None, "reason": None}]
    fields = {"group_id": "g", "member_id": member_id, "members": members}
    answer = node.ask(Api.LEAVE_GROUP, version, **fields)
    assert int(answer.error_code) == 0
    again = node.ask(Api.LEAVE_GROUP, version, **fields)
    code = again.error_code if version < 3 else again.members[0].error_code
    assert int(code) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", versions(Api.OFFSET_COMMIT))
def test_offsets_are_committed(node: OneNode, version: int) -> None:
    assert commit(node, 7, version=version) is ErrorCode.NONE
    assert fetch(node).committed_offset == 7
    missing = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
    node.ask(Api.DELETE_GROUPS, 2, groups_names=["g"])
    assert commit(node, 8, "m", 3, version=version) is missing
    absent = ErrorCode.UNKNOWN_TOPIC_ID if version >= 10 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(node, 8, topic="absent", version=version) is absent
    assert commit(node, 8, partition_index=1, version=version) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    large = "x" * 4097
    assert commit(node, 8, committed_metadata=large, version=version) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert fetch(node).committed_offset == -1


@pytest.mark.parametrize("version", versions(Api.OFFSET_FETCH))
def test_offsets_are_told(node: OneNode, version: int) -> None:
    nothing = fetch(node, version)
    assert (nothing.committed_offset, nothing.metadata, int(nothing.error_code)) == (-1, "", 0)
    commit(node, 7)
    told = fetch(node, version)
    assert (told.committed_offset, told.metadata) == (7, "note")
    if version >= 2:
        assert fetch(node, version, everything=True).committed_offset == 7


def test_an_id_that_no_topic_has_is_refused(node: OneNode) -> None:
    commit(node, 7)
    asked = [{"topic_id": b"?" * 16, "partition_indexes": [0, 3]}]
    group = {"group_id": "g", "member_id": None, "member_epoch": -1, "topics": asked}
    (told,) = node.ask(Api.OFFSET_FETCH, 10, groups=[group], require_stable=True).groups
    codes = [(part.partition_index, int(part.error_code)) for part in told.topics[0].partitions]
    assert codes == [(0, ErrorCode.UNKNOWN_TOPIC_ID), (3, ErrorCode.UNKNOWN_TOPIC_ID)]
    assert told.topics[0].topic_id.bytes == b"?" * 16


def test_offsets_are_deleted(node: OneNode) -> None:
    def delete(name: str, index: int = 0) -> tuple[int, list[int]]:
        topics = [{"name": name, "partitions": [{"partition_index": index}]}]
        answer = node.ask(Api.OFFSET_DELETE, 0, group_id="g", topics=topics)
        codes = [int(part.error_code) for topic in answer.topics for part in topic.partitions]
        return int(answer.error_code), codes

    assert delete("t") == (ErrorCode.GROUP_ID_NOT_FOUND, [])
    commit(node, 7)
    assert delete("absent") == (0, [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
    assert delete("t") == (0, [0])
    assert fetch(node).committed_offset == -1


def list_groups(node: OneNode, version: int = 5, **filters: Any) -> list[Any]:
    wanted = {"states_filter": (), "types_filter": (), **filters}
    answer = node.ask(Api.LIST_GROUPS, version, **wanted)
    assert int(answer.error_code) == 0
    return list(answer.groups)


@pytest.mark.parametrize("version", versions(Api.LIST_GROUPS))
def test_groups_are_listed(node: OneNode, version: int) -> None:
    assert list_groups(node, version) == []
    stable(node)
    (group,) = list_groups(node, version)
    assert (group.group_id, group.protocol_type) == ("g", "consumer")
    if version >= 4:
        assert group.group_state == "Stable"
        assert list_groups(node, version, states_filter=["empty"]) == []
        assert len(list_groups(node, version, states_filter=["stable"])) == 1
    if version >= 5:
        assert group.group_type == "classic"
        assert list_groups(node, version, types_filter=["Consumer"]) == []


@pytest.mark.parametrize("version", versions(Api.DESCRIBE_GROUPS))
def test_classic_groups_are_described(node: OneNode, version: int) -> None:
    member_id = stable(node)
    answer = node.ask(
        Api.DESCRIBE_GROUPS, version, groups=["g", "absent"], include_authorized_operations=True
    )
    found, absent = answer.groups
    assert (found.group_state, found.protocol_type, found.protocol_data) == ("Stable", "consumer", "range")
    assert [member.member_id for member in found.members] == [member_id]
    assert absent.group_state == "Dead"
    assert int(absent.error_code) == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0)
    if version >= 3:
        assert found.authorized_operations == 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11


@pytest.mark.parametrize("version", versions(Api.DELETE_GROUPS))
def test_groups_are_deleted(node: OneNode, version: int) -> None:
    stable(node)
    commit(node, 7, group_id="h")

    def delete() -> list[int]:
        answer = node.ask(Api.DELETE_GROUPS, version, groups_names=["g", "absent"])
        return [int(result.error_code) for result in answer.results]

    assert delete() == [ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND]


def consume(node: OneNode, epoch: int, version: int = 1, **changes: Any) -> Any:
    fields = {
        "group_id": "c",
        "member_id": "m",
        "member_epoch": epoch,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout": 10_000,
        "subscribed_topic_names": ["t"],
        "subscribed_topic_regex": None,
        "server_assignor": None,
        "topic_partitions": [],
        **changes,
    }
    return node.ask(Api.CONSUMER_GROUP_HEARTBEAT, version, **fields)


@pytest.mark.parametrize("version", versions(Api.CONSUMER_GROUP_HEARTBEAT))
def test_a_member_of_the_consumer_protocol_joins_stays_and_leaves(node: OneNode, version: int) -> None:
    joined = consume(node, 0, version)
    assert (int(joined.error_code), joined.member_id, joined.member_epoch) == (0, "m", 1)
    assert [topic.partitions for topic in joined.assignment.topic_partitions] == [(0,)]
    stays = consume(
        node, 1, version, subscribed_topic_names=None, rebalance_timeout=-1, topic_partitions=None
    )
    assert (int(stays.error_code), stays.assignment) == (0, None)
    stale = consume(node, 9, version)
    assert int(stale.error_code) == ErrorCode.FENCED_MEMBER_EPOCH
    assert "greater member epoch" in stale.error_message
    unknown = consume(node, 1, version, member_id="stranger")
    assert int(unknown.error_code) == ErrorCode.UNKNOWN_MEMBER_ID
    assert consume(node, -1, version).member_epoch == -1


@pytest.mark.parametrize("version", versions(Api.CONSUMER_GROUP_DESCRIBE))
def test_groups_of_the_consumer_protocol_are_described(node: OneNode, version: int) -> None:
    consume(node, 0)
    answer = node.ask(
        Api.CONSUMER_GROUP_DESCRIBE, version, group_ids=["c", "absent"], include_authorized_operations=True
    )
    found, absent = answer.groups
    assert (found.group_state, found.group_epoch, found.assignor_name) == ("Stable", 1, "uniform")
    (member,) = found.members
    (part,) = member.assignment.topic_partitions
    assert (member.member_id, part.topic_name, part.partitions) == ("m", "t", (0,))
    assert int(absent.error_code) == ErrorCode.GROUP_ID_NOT_FOUND
    if version >= 1:
        assert member.member_type == 1


def test_a_broker_without_the_offsets_topic_sends_clients_to_look_for_the_coordinator() -> None:
    node = OneNode()
    assert int(join(node).error_code) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert beat(node, "m", 1) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_every_request_of_groups_is_here() -> None:
    assert set(GROUP_APIS) <= HANDLERS.keys()
